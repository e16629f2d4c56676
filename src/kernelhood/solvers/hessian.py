"""The Hessian of an SVM's value with respect to the kernel weights."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kernelhood._typing import Array, Flags, Indices
from kernelhood.losses import BoxLoss
from kernelhood.operators import KernelOperator
from kernelhood.operators.combined import Combined

_LEAST_SECANT = 0.01
_LARGE = 300
_WIDEST_PIVOTS = 100.0
_RIDGES = (1e-14, 1e-11, 1e-8)


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
    intercepts are eliminated, it is U'ZU.

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
    free = np.flatnonzero((v > loss.lower) & (v < loss.upper) & (v != 0.0))
    n_weights = operator.n_weights if kept is None else int(np.count_nonzero(kept))
    if len(free) < 2 or not np.any(kernel.diagonal[free]):
        return np.zeros((n_weights, n_weights))
    U, E = operator.columns(products, free, kept), _indicators(free, loss)
    Z = _solve(operator.block(kernel, free), np.concatenate([U, E], axis=1))
    ZU, ZE = Z[:, : U.shape[1]], Z[:, U.shape[1] :]
    if E.shape[1] == 1:
        ZU -= ZE * (ZU.sum(axis=0) / ZE.sum())
    else:
        ZU -= ZE @ np.linalg.solve(E.T @ ZE, E.T @ ZU)
    return np.asarray(U.T @ ZU)


def _indicators(free: Indices, loss: BoxLoss) -> Array:
    """Return a column of zeros and ones for each group with free support vectors."""
    if len(loss.group_starts) == 2:
        return np.ones((len(free), 1))
    groups = np.searchsorted(loss.group_starts, free, side="right")
    _, which = np.unique(groups, return_inverse=True)
    return np.asarray(np.eye(which.max() + 1)[which])


def secant_hessian(hessian: Array, step: Array, fall: Array) -> Array | None:
    """Return the Hessian changed as little as explains the last step (the BFGS formula).

    None where the step tells too little: then a fresh Hessian has to be computed.

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


def _solve(K: Array, B: Array) -> Array:
    """Return ``K^-1 B`` for a positive semidefinite K, with a ridge that makes it definite.

    Where K is large and its condition allows it, single precision takes half the time, and is
    more than the model of a step needs.
    """
    if len(K) >= _LARGE:
        factor, info = lapack.spotrf(K.astype(np.float32).T, lower=1, overwrite_a=1)
        pivots = np.diagonal(factor)
        if info == 0 and pivots.max() < _WIDEST_PIVOTS * pivots.min():
            return np.asarray(lapack.spotrs(factor, B, lower=1)[0], dtype=np.float64)
    for ridge in _RIDGES:
        stiff = K.copy()
        stiff.flat[:: len(K) + 1] += ridge * np.trace(K)
        _, solution, info = lapack.dposv(stiff.T, B, lower=1, overwrite_a=1)
        if info == 0:
            return np.asarray(solution)
    raise ValueError(
        "kernels holds one that is not positive semidefinite: its matrix at the support vectors "
        "has a negative eigenvalue; use kernels that are, for example by clipping eigenvalues."
    )
