"""The Cholesky factor of a kernel matrix with a ridge, and what follows from it.

With A the matrix and E the indicators of the groups that have an intercept, the problem

    max over v with E'v = 0  of   right'v - 1/2 v'Av

is solved by ``v = Z right``, ``Z = A^-1 - A^-1 E (E'A^-1 E)^-1 E'A^-1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags, Indices
from kernelhood.losses import BoxLoss
from kernelhood.operators import KernelOperator, LowRankKernels
from kernelhood.operators.base import Combined
from kernelhood.solvers.low_rank_system import LowRankSystem


@dataclass(frozen=True)
class Factor:
    """A = LL', with the groups of the intercepts.

    Attributes
    ----------
    L : ndarray of shape (n_samples, n_samples)
        The lower triangle, in Fortran's order; what is above it has no meaning.
    group_starts : ndarray of int, shape (n_groups + 1,)
        Where each group starts.
    """

    L: Array
    group_starts: Indices

    @classmethod
    def of(cls, A: Array, group_starts: Indices) -> Factor | None:
        """Factorise a symmetric matrix in its own memory; None if it is not definite."""
        potrf = lapack.spotrf if A.dtype == np.float32 else lapack.dpotrf
        L, info = potrf(A.T, lower=1, clean=0, overwrite_a=1)
        return cls(L, group_starts) if info == 0 else None

    def half(self, right: Array) -> Array:
        """Return ``L^-1 right``, of shape (n_samples, n_columns)."""
        trtrs = lapack.strtrs if self.L.dtype == np.float32 else lapack.dtrtrs
        return np.asarray(trtrs(self.L, right, lower=1)[0], dtype=np.float64)

    @cached_property
    def basis(self) -> tuple[Array, Array]:
        """The orthonormal and the triangular factor of ``L^-1 E``."""
        sizes = np.diff(self.group_starts)
        E = np.zeros((len(self.L), len(sizes)), order="F")
        E[np.arange(len(E)), np.repeat(np.arange(len(sizes)), sizes)] = 1.0
        Q, R = np.linalg.qr(self.half(E))
        return np.asarray(Q), np.asarray(R)

    @property
    def _groups(self) -> Array:
        """An orthonormal basis of the columns of ``L^-1 E``."""
        return self.basis[0]

    def without_intercepts(self, right: Array) -> Array:
        """Return W with ``W'W = right' Z right``, of shape (n_samples, n_columns)."""
        found = self.half(right)
        return found - self._groups @ (self._groups.T @ found)

    def form(self, right: Array) -> Array:
        """Return ``right' Z right``."""
        half = self.without_intercepts(right)
        return np.asarray(half.T @ half)

    def solve(self, right: Array) -> Array:
        """Return ``Z right`` for one vector of shape (n_samples,)."""
        return np.asarray(self.back(self.without_intercepts(right[:, None]))[:, 0])

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of A on the vectors that sum to zero over each group.

        With orthonormal columns N that span them it is that of ``N'AN``.
        """
        own = np.log(np.abs(np.diagonal(self.basis[1]))).sum()
        sizes = np.log(np.diff(self.group_starts)).sum()
        whole = np.log(np.diagonal(self.L).astype(np.float64)).sum()
        return float(2.0 * (whole + own) - sizes)

    def back(self, right: Array) -> Array:
        """Return ``L'^-1 right``, of shape (n_samples, n_columns)."""
        trtrs = lapack.strtrs if self.L.dtype == np.float32 else lapack.dtrtrs
        return np.asarray(trtrs(self.L, right, lower=1, trans=1)[0], dtype=np.float64)

    def inverse(self) -> Array:
        """Return Z, of shape (n_samples, n_samples); all of it, as a matrix in C's order."""
        potri = lapack.spotri if self.L.dtype == np.float32 else lapack.dpotri
        found = np.asarray(potri(self.L, lower=1)[0], dtype=np.float64).T
        found = np.triu(found)
        found += np.triu(found, 1).T
        outer = self.back(self._groups)
        return np.asarray(found - outer @ outer.T)


_LEAST_SECANT = 0.01
_LARGE, _FEW = 300, 64
_WIDEST_PIVOTS = 100.0
_RIDGES = (1e-14, 1e-11, 1e-8)
_SINGULAR = 1e-10
_WRITTEN_OUT = 200
_MOST_NUMBERS = 2**24


def value_hessian(
    operator: KernelOperator,
    kernel: Combined,
    v: Array,
    products: Array,
    loss: BoxLoss,
    kept: Flags | None = None,
) -> Array:
    """Return the Hessian of the SVM's value with respect to the weights.

    With F the free support vectors, U = [(K^m v)_F]_m and Z the inverse of K_FF after the
    intercepts are eliminated, it is U'ZU. One intercept is eliminated by one more right side,
    those of many groups by turning their samples (`reflect`).

    Parameters
    ----------
    operator : KernelOperator
        Base kernels.
    kernel : Combined
        The SVM's kernel, with the rows that it has needed.
    v : ndarray of shape (n_samples,)
        Solution of the SVM.
    products : ndarray
        The operator's products with v.
    loss : BoxLoss
        Box of the dual.
    kept : ndarray of bool, shape (n_weights,), optional
        The weights that are wanted; all by default.
    """
    one_intercept = len(loss.group_starts) == 2
    free = np.flatnonzero(free_entries(v, loss))
    few = one_intercept and kept is None and 2 <= len(free) <= _FEW
    if few and operator.plain and operator.fill is None:
        U = np.ones((len(products) + 1, len(free)))
        U[:-1] = products[:, free]
        found = _with_few_free(operator.block(kernel, free), U)
        if found is not None:
            return found
    n_weights = operator.n_weights if kept is None else int(np.count_nonzero(kept))
    if len(free) < 2 or not np.any(kernel.diagonal[free]):
        return np.zeros((n_weights, n_weights))
    U, K = operator.columns(products, free, kept), operator.block(kernel, free)
    if one_intercept:
        Z = _solve(K, np.concatenate([U, np.ones((len(free), 1))], axis=1), float(np.trace(K)))
        ZU, ZE = Z[:, :-1], Z[:, -1:]
        return np.asarray(U.T @ (ZU - ZE * (ZU.sum(axis=0) / ZE.sum())))
    groups = np.searchsorted(loss.group_starts, free, side="right")
    starts = np.flatnonzero(np.diff(groups, prepend=0, append=-1))
    if len(free) == len(starts) - 1:
        return np.zeros((n_weights, n_weights))
    U, size = np.ascontiguousarray(U), float(np.trace(K))
    reflect(U, starts)
    reflect_both(K, starts)
    rest = np.delete(np.arange(len(free)), starts[:-1])
    compress(K, rest)
    U, K = U[rest], K[: len(rest), : len(rest)]
    return np.asarray(U.T @ _solve(K, U, size))


def free_entries(v: Array, loss: BoxLoss) -> Flags:
    """Return which entries of a dual vector are neither at a bound nor zero."""
    return np.asarray((v > loss.lower) & (v < loss.upper) & (v != 0.0))


class Slopes(NamedTuple):
    """How the solution of an SVM changes with the weights, up to the next bound.

    Attributes
    ----------
    free : ndarray of int
        The entries of v that change.
    by_weight : ndarray of shape (n_free, n_kept)
        Their derivatives.
    """

    free: Indices
    by_weight: Array


def low_rank_hessian(
    operator: LowRankKernels,
    weights: Array,
    ridge: float,
    v: Array,
    products: Array,
    loss: BoxLoss,
    kept: Flags | None = None,
) -> tuple[Array, Slopes | None]:
    """Return the Hessian of the SVM's value, and the slopes of its solution if there are many.

    See `value_hessian`.

    Parameters
    ----------
    operator, weights, ridge
        The kernel.
    v : ndarray of shape (n_samples,)
        Solution of the SVM.
    products : ndarray
        The operator's products with v.
    loss : BoxLoss
        Box of the dual.
    kept : ndarray of bool, shape (n_weights,), optional
        The weights that are wanted; all by default.
    """
    free = np.flatnonzero(free_entries(v, loss))
    n_weights = operator.n_weights if kept is None else int(np.count_nonzero(kept))
    if len(free) < 2:
        return np.zeros((n_weights, n_weights)), None
    some = operator.restricted(free)
    starts = loss.group_starts if len(loss.group_starts) == 2 else some.cells.starts
    system = LowRankSystem(some, weights, starts)
    mean = system.trace() / len(free)
    if mean == 0.0:
        return np.zeros((n_weights, n_weights)), None
    ridge, U = max(ridge, _SINGULAR * mean), operator.columns(products, free, kept)
    if len(free) <= _WRITTEN_OUT:  # Written out, the matrix loses fewer digits.
        kernel = some.combined(weights, ridge, some.row_buffer())
        groups = starts if len(starts) > 2 else np.array([0, len(free)])
        factor = Factor.of(some.block(kernel, np.arange(len(free))), groups)
        if factor is not None:
            return factor.form(U), None
    system.factorise(np.full(len(free), ridge))
    n_groups = 1 if len(loss.group_starts) == 2 else len(starts) - 1
    ZU, _ = system.solve_with_sums(U, np.zeros((n_groups, U.shape[1])))
    H = U.T @ ZU
    slopes = Slopes(free, -ZU) if ZU.size <= _MOST_NUMBERS else None
    return np.asarray(0.5 * (H + H.T)), slopes


@compiled
def _with_few_free(K: Array, U: Array) -> Array | None:
    """Return the Hessian of one task's SVM; None if K_FF is not definite.

    If vectors are few, what a call costs matters more than what it computes.
    """
    n_weights, size = U.shape[0] - 1, U.shape[1]
    for ridge in _RIDGES:
        Z, factor = U.copy(), K.copy()
        for a in range(size):
            factor[a, a] += ridge * np.trace(K)
        if _factorise(factor):
            _solve_factorised(factor, Z)
            level = np.sum(Z[:n_weights], axis=1) / np.sum(Z[n_weights])
            for m in range(n_weights):
                for a in range(size):
                    Z[m, a] -= level[m] * Z[n_weights, a]
            return U[:n_weights] @ Z[:n_weights].T
    return None


@compiled
def _factorise(A: Array) -> bool:
    """Replace the upper part of A by R with ``R'R = A``; return whether A is positive definite."""
    n = A.shape[0]
    for i in range(n):
        if not A[i, i] > 0.0:
            return False
        pivot = np.sqrt(A[i, i])
        for j in range(i, n):
            A[i, j] /= pivot
        for k in range(i + 1, n):
            share, row, other = A[i, k], A[k], A[i]
            for j in range(k, n):
                row[j] -= share * other[j]
    return True


@compiled
def _solve_factorised(R: Array, B: Array) -> None:
    """Replace every row b of B by the solution of ``R'R y = b``."""
    n = R.shape[0]
    for b in B:
        for i in range(n):
            row, value = R[i], b[i] / R[i, i]
            b[i] = value
            for j in range(i + 1, n):
                b[j] -= value * row[j]
        for i in range(n - 1, -1, -1):
            row, total = R[i], b[i]
            for j in range(i + 1, n):
                total -= row[j] * b[j]
            b[i] = total / row[i]


@compiled
def reflect(U: Array, starts: Indices) -> None:
    """Turn the rows of every group so that its first one is their mean, up to its length.

    A Householder reflection: what is orthogonal to all indicators of groups is then in the rows
    that are not the first of a group, and intercepts are eliminated by leaving these out.

    Parameters
    ----------
    U : ndarray of shape (n, any)
        Changed in place.
    starts : ndarray of int, shape (n_groups + 1,)
        Where each group starts.
    """
    total = np.empty(U.shape[1])
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        first, size = 1.0 + np.sqrt(end - begin), 1.0 * (end - begin)
        factor = 2.0 / (size - 1.0 + first * first)
        for j in range(U.shape[1]):
            total[j] = first * U[begin, j]
        for i in range(begin + 1, end):
            for j in range(U.shape[1]):
                total[j] += U[i, j]
        for j in range(U.shape[1]):
            total[j] *= factor
            U[begin, j] -= first * total[j]
        for i in range(begin + 1, end):
            for j in range(U.shape[1]):
                U[i, j] -= total[j]


@compiled
def reflect_both(K: Array, starts: Indices) -> None:
    """Turn the rows and the columns of a matrix."""
    reflect(K, starts)
    for i in range(K.shape[0]):
        row = K[i]
        for g in range(starts.shape[0] - 1):
            begin, end = starts[g], starts[g + 1]
            first, size = 1.0 + np.sqrt(end - begin), 1.0 * (end - begin)
            total = first * row[begin]
            for j in range(begin + 1, end):
                total += row[j]
            total *= 2.0 / (size - 1.0 + first * first)
            row[begin] -= first * total
            for j in range(begin + 1, end):
                row[j] -= total


@compiled
def compress(K: Array, rest: Indices) -> None:
    """Move some rows and the same columns, in ascending order, to the front of a matrix."""
    for a in range(rest.shape[0]):
        source, target = K[rest[a]], K[a]
        for b in range(rest.shape[0]):
            target[b] = source[rest[b]]


def secant_hessian(hessian: Array, step: Array, fall: Array) -> Array | None:
    """Return the Hessian changed as little as explains the last step (the BFGS formula).

    None if the step tells too little: then a fresh Hessian has to be computed.

    Parameters
    ----------
    hessian : ndarray of shape (n_weights, n_weights)
        Hessian before the step.
    step, fall : ndarray of shape (n_weights,)
        Change of the weights, and by how much q fell.
    """
    along = hessian @ step
    expected, found = float(step @ along), float(step @ fall)
    if expected <= 0.0 or found <= _LEAST_SECANT * expected:
        return None
    return np.asarray(hessian + np.outer(fall, fall) / found - np.outer(along, along) / expected)


def bounded_hessian(H: Array, x: Array, q: Array) -> Array:
    """Return the Hessian with no entry beyond what a value that falls in every weight allows.

    S is at most ``sum_m q_m x_m^2 / new_m`` plus a constant, with equality at x, so that its
    curvature along a positive weight is at most ``2 q_m / x_m``. If the kernel matrix is
    singular to rounding, more may come out.
    """
    found = H.diagonal() * x
    if (found <= 2.0 * q).all():
        return H
    allowed = 2.0 * np.maximum(q, 0.0)
    above = found > allowed
    shrink = np.sqrt(np.where(above, allowed / np.where(above, found, 1.0), 1.0))
    return H * shrink * shrink[:, None]


def _solve(K: Array, B: Array, size: float) -> Array:
    """Return ``K^-1 B`` for a positive semidefinite K, with a ridge that makes it definite.

    If K is large and its condition allows it, single precision takes half the time, and is
    more than the model of a step needs.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix, after the intercepts are eliminated.
    B : ndarray of shape (n, n_sides)
        The right sides.
    size : float
        Trace of the matrix before that. Rounding errors are of its size: if samples of a group are
        equal, they are all that is left of K.
    """
    if len(K) >= _LARGE:
        factor, info = lapack.spotrf(K.astype(np.float32).T, lower=1, overwrite_a=1)
        pivots = np.diagonal(factor)
        if info == 0 and pivots.max() < _WIDEST_PIVOTS * pivots.min():
            return np.asarray(lapack.spotrs(factor, B, lower=1)[0], dtype=np.float64)
    for ridge in _RIDGES:
        stiff = K.copy()
        stiff.flat[:: len(K) + 1] += ridge * size
        _, solution, info = lapack.dposv(stiff.T, B, lower=1, overwrite_a=1)
        if info == 0:
            return np.asarray(solution)
    raise ValueError(
        "kernels holds one that is not positive semidefinite: its matrix at the support vectors "
        "has a negative eigenvalue; use kernels that are, for example by clipping eigenvalues."
    )
