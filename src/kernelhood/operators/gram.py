"""Frobenius products and traces of base kernels, alone and under a relation between tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse

from kernelhood._typing import Array, Indices
from kernelhood.operators.low_rank import LowRankKernels
from kernelhood.relations.matrices import (
    TaskMatrices,
    TaskMatrix,
    Written,
    as_task_matrices,
    entrywise,
)

Places = Indices | slice
StackOf = Callable[[Places, Places], Array]

_ENTRIES_AT_ONCE = 2**19
_POINTS_TOGETHER = 256


def frobenius_gram(Ks: Array, sample_weight: Array) -> tuple[Array, Array]:
    """Return G with G[m, l] = <K^m, K^l>_F, and the traces d with d[m] = tr K^m.

    A sample of weight 2 counts as two equal samples, in the sums over rows and over columns.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices.
    sample_weight : ndarray of shape (n_samples,)
        Positive weights; all 1 for the plain sums.
    """
    d = np.einsum("mii,i->m", Ks, sample_weight)
    if not np.all(sample_weight == 1.0):
        Ks = Ks * np.sqrt(np.outer(sample_weight, sample_weight))
    flat = Ks.reshape(len(Ks), -1)
    return flat @ flat.T, d


def as_slice(places: Indices) -> Places:
    """Return ascending places as a slice if they follow each other: it copies nothing."""
    if len(places) == 0 or places[-1] - places[0] >= len(places):
        return places
    return slice(int(places[0]), int(places[-1]) + 1)


def task_grams(stack_of: StackOf, counts: Array) -> Array:
    """Return the Frobenius products G_t on the samples of each task.

    Parameters
    ----------
    stack_of : callable
        Returns every kernel between some points and others, both arrays of numbers or slices.
    counts : ndarray of shape (n_tasks, n_points)
        The weight of the samples that each task has at each point.

    Returns
    -------
    ndarray of shape (n_tasks, n_kernels, n_kernels)
    """
    places = [np.flatnonzero(own) for own in counts]
    ends = np.cumsum([len(own) for own in places])
    found = []
    # Several small tasks at a time: their points are few, and a call costs more than they do.
    for batch in np.unique(ends // _POINTS_TOGETHER):
        tasks = np.flatnonzero(ends // _POINTS_TOGETHER == batch)
        points = np.unique(np.concatenate([places[t] for t in tasks]))
        Ks = stack_of(as_slice(points), as_slice(points))
        for t in tasks:
            own = as_slice(np.searchsorted(points, places[t]))
            found.append(frobenius_gram(Ks[:, own][:, :, own], counts[t, places[t]])[0])
    return np.array(found)


def joint_gram(
    stack_of: StackOf, G: Array, counts: Array, matrices: TaskMatrices, separate: bool
) -> Array:
    """Return A, the Frobenius products of the kernels of all weights of a relation.

    The weights are in the order [theta_1; ...; theta_R; lambda_1; ...; lambda_T]: kernel m under
    matrix B_r is ``B_r[s, t] k_m`` between the samples of all tasks, a specific one the block of
    its task. What is within tasks is known already. Of the rest every product of two matrices is
    needed once, however many pairs of matrices have it.

    Parameters
    ----------
    stack_of : callable
        Returns every kernel between some points and others, both slices.
    G : ndarray of shape (n_tasks, n_kernels, n_kernels)
        The Frobenius products on the samples of each task.
    counts : ndarray of shape (n_tasks, n_points)
        The weight of the samples that each task has at each point.
    matrices : TaskMatrices
        The relation.
    separate : bool
        Whether every task has weights of its own.

    Returns
    -------
    ndarray of shape (n_weights, n_weights)
    """

    def between(factors: list[TaskMatrix]) -> list[Array]:
        return _products_of_points(stack_of, G.shape[1], counts, factors)

    return assembled_gram(between, G, matrices, separate)


def assembled_gram(
    between: Callable[[list[TaskMatrix]], list[Array]],
    G: Array,
    matrices: TaskMatrices,
    separate: bool,
) -> Array:
    """Return A from what is within tasks, and from products under factors between tasks.

    Parameters
    ----------
    between : callable
        Returns ``sum_ij f[i, j] K^m_ij K^l_ij`` for each of some factors f between tasks.
    G, matrices, separate
        As `joint_gram` takes them.
    """
    matrices = as_task_matrices(matrices)
    n_matrices, n_own, n_kernels = len(matrices), len(G) if separate else 0, G.shape[1]
    size = n_matrices + n_own
    A = np.zeros((size, n_kernels, size, n_kernels))
    places, factors = _distinct_products(matrices)
    found = [np.tensordot(factor.diagonal, G, axes=1) for factor in factors]
    apart = [k for k, factor in enumerate(factors) if not factor.is_diagonal]
    if apart:
        for k, total in zip(apart, between([factors[k] for k in apart]), strict=True):
            found[k] = total
    for (r, s), k in places.items():
        A[r, :, s] = found[k]
        A[s, :, r] = found[k].T
    diagonals = matrices.diagonals
    for t in range(n_own):
        own = n_matrices + t
        A[own, :, own] = G[t]
        for r in range(n_matrices):
            A[r, :, own] = A[own, :, r] = diagonals[r, t] * G[t]
    return A.reshape(size * n_kernels, size * n_kernels)


def _distinct_products(
    matrices: TaskMatrices,
) -> tuple[dict[tuple[int, int], int], list[TaskMatrix]]:
    """Return the entrywise products of two matrices, and the number of each pair's one."""
    known: dict[bytes, int] = {}
    places: dict[tuple[int, int], int] = {}
    factors: list[TaskMatrix] = []
    for r in range(len(matrices)):
        for s in range(r + 1):
            both = entrywise(matrices[r], matrices[s])
            number = known.setdefault(both.key, len(known))
            places[r, s] = number
            if number == len(factors):
                factors.append(both)
    return places, factors


def _products_of_points(
    stack_of: StackOf, n_kernels: int, counts: Array, factors: list[TaskMatrix]
) -> list[Array]:
    """Return ``sum_ij f[i, j] K^m_ij K^l_ij`` for each factor f between tasks."""
    n_points = counts.shape[1]
    written = [None if factor.is_ones else factor.written() for factor in factors]
    by_point = sparse.csr_matrix(counts.T)
    weight = counts.sum(axis=0)
    totals = [np.zeros((n_kernels, n_kernels)) for _ in factors]
    begin = 0
    while begin < n_points:
        # By symmetry the columns before the rows have been seen.
        step = max(1, _ENTRIES_AT_ONCE // (n_kernels * (n_points - begin)))
        rows, columns = slice(begin, min(begin + step, n_points)), slice(begin, n_points)
        twice = np.where(np.arange(n_points - begin) < step, 1.0, 2.0)
        flat = stack_of(rows, columns).reshape(n_kernels, -1)
        for total, factor in zip(totals, written, strict=True):
            if factor is None:
                share = np.outer(weight[rows], weight[columns] * twice)
            else:
                share = (by_point[columns] @ (by_point[rows] @ factor).T).T * twice
            total += (flat * share.ravel()) @ flat.T
        begin += step
    return totals


# Frobenius products of kernels of low rank, which follow from sums over samples.
#
# ``<K^m, K^l>`` is the squared norm of ``Phi_m'Phi_l``. Under a factor F between tasks it is the
# sum
# over the eigenvectors u of F of the same with every sample counted by u at its task.


_NO_SIZE = 1e-12
_ROWS_AT_ONCE = 4096


def feature_task_grams(operator: LowRankKernels, counts: Array) -> Array:
    """Return the Frobenius products G_t on the samples of each task.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels, with a cell for each task.
    counts : ndarray of shape (n_samples,)
        How often each sample counts.

    Returns
    -------
    ndarray of shape (n_tasks, n_kernels, n_kernels)
    """
    starts, n_kernels = operator.cells.starts, operator.n_kernels
    found = np.empty((len(starts) - 1, n_kernels, n_kernels))
    for t in range(len(found)):
        rows = slice(int(starts[t]), int(starts[t + 1]))
        if rows.stop - rows.start > operator.n_features:
            every = np.arange(rows.start, rows.stop)
            found[t] = _squared_norms(operator, _moments(operator, counts, every))
            continue
        Phi = operator.features.rows(operator.cells.point[rows], slice(None))
        Phi, size = _counted(Phi, counts[rows]), rows.stop - rows.start
        flat = np.empty((n_kernels, size * size))
        for K, (a, b) in zip(flat, pairwise(operator.features.starts), strict=True):
            np.matmul(Phi[:, a:b], Phi[:, a:b].T, out=K.reshape(size, size))
        found[t] = flat @ flat.T
    return found


def _counted(Phi: Array, counts: Array) -> Array:
    """Return features with which products are those of samples that count so often."""
    return Phi if np.all(counts == 1.0) else Phi * np.sqrt(counts)[:, None]


def feature_gram(
    operator: LowRankKernels, counts: Array, G: Array, matrices: TaskMatrices, separate: bool
) -> Array:
    """Return A, the Frobenius products of the kernels of all weights of a relation.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels, with a cell for each task.
    counts : ndarray of shape (n_samples,)
        How often each sample counts.
    G : ndarray of shape (n_tasks, n_kernels, n_kernels)
        The Frobenius products on the samples of each task.
    matrices : TaskMatrices
        The relation.
    separate : bool
        Whether every task has weights of its own.

    Returns
    -------
    ndarray of shape (n_weights, n_weights)
    """
    task, whole = operator.cells.cell, np.arange(operator.n_samples)

    def between(factor: TaskMatrix) -> Array:
        total = np.zeros((operator.n_kernels, operator.n_kernels))
        for value, u in _directions(factor):
            rows = whole if factor.is_ones else np.flatnonzero(u[task])
            moments = _moments(operator, counts * u[task], rows)
            total += value * _squared_norms(operator, moments)
        return total

    return assembled_gram(lambda factors: list(map(between, factors)), G, matrices, separate)


def _directions(factor: TaskMatrix) -> Iterator[tuple[float, Array]]:
    """Yield numbers c and vectors u between tasks with ``sum c u u'`` the matrix."""
    if not isinstance(factor, Written):
        for u in factor.root().T:
            yield 1.0, u
        return
    values, vectors = np.linalg.eigh(factor.B)
    for value, u in zip(values, vectors.T, strict=True):
        if abs(value) > _NO_SIZE * float(np.abs(values).max()):
            yield float(value), u


def _moments(operator: LowRankKernels, weights: Array, rows: Indices) -> Array:
    """Return ``sum_i weights_i phi_i phi_i'`` over some samples, of features by features."""
    total = np.zeros((operator.n_features, operator.n_features))
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[begin : begin + _ROWS_AT_ONCE]
        Phi = operator.features.rows(operator.cells.point[some], slice(None))
        if np.all(weights[some] >= 0.0):  # a matrix with its own transpose takes half the time
            Phi = _counted(Phi, weights[some])
            total += Phi.T @ Phi
        else:
            total += Phi.T @ (Phi * weights[some, None])
    return total


def _squared_norms(operator: LowRankKernels, moments: Array) -> Array:
    """Return the squared norm of the block of each pair of kernels."""
    starts = operator.features.starts
    filled = np.flatnonzero(np.diff(starts))
    found = np.zeros((operator.n_kernels, operator.n_kernels))
    by_row = np.add.reduceat(moments**2, starts[filled], axis=0)
    found[np.ix_(filled, filled)] = np.add.reduceat(by_row, starts[filled], axis=1)
    return found
