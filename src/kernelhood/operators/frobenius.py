"""Frobenius products and traces of base kernels, alone and under a relation between tasks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelhood._typing import Array, Indices

_ENTRIES_AT_ONCE = 2**22


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


def joint_gram(
    rows_of: Callable[[slice], Array],
    n_kernels: int,
    counts: Array,
    matrices: Array,
    separate: bool,
) -> Array:
    """Return A, the Frobenius products of the kernels of all weights of a relation.

    The weights are in the order [theta_1; ...; theta_R; lambda_1; ...; lambda_T]: kernel m under
    matrix B_r is ``B_r[s, t] k_m`` between the samples of all tasks, a specific one the block of
    its task.

    Parameters
    ----------
    rows_of : callable
        Returns every kernel between a slice of the points and all of them, an array of shape
        (n_kernels, n_rows, n_points).
    n_kernels : int
        The number of base kernels.
    counts : ndarray of shape (n_tasks, n_points)
        The weight of the samples that each task has at each point.
    matrices : ndarray of shape (n_matrices, n_tasks, n_tasks)
        The relation.
    separate : bool
        Whether every task has weights of its own.

    Returns
    -------
    ndarray of shape (n_weights, n_weights)
    """
    n_tasks, n_points = counts.shape
    n_matrices, n_own = len(matrices), n_tasks if separate else 0
    size = n_matrices + n_own
    A = np.zeros((size, n_kernels, size, n_kernels))
    step = max(1, _ENTRIES_AT_ONCE // (n_kernels * n_points))
    pairs = [(r, s) for r in range(n_matrices) for s in range(r + 1)]
    for begin in range(0, n_points, step):
        rows = slice(begin, min(begin + step, n_points))
        Ks = rows_of(rows)
        for r, s in pairs:
            both = matrices[r] * matrices[s]
            if np.all(both == 1.0):
                every = counts.sum(axis=0)
                A[r, :, s] += _weighted_products(Ks, every[rows], every)
            else:
                A[r, :, s] += _joined_products(Ks, counts[:, rows].T @ both @ counts)
        for t in range(n_own):
            own = n_matrices + t
            A[own, :, own] += _weighted_products(Ks, counts[t, rows], counts[t])
    for r, s in pairs:
        A[s, :, r] = A[r, :, s].T
    for t in range(n_own):
        own = n_matrices + t
        for r in range(n_matrices):
            A[r, :, own] = A[own, :, r] = matrices[r, t, t] * A[own, :, own]
    return A.reshape(size * n_kernels, size * n_kernels)


def _joined_products(Ks: Array, factor: Array) -> Array:
    """Return ``sum_ij factor_ij K^m_ij K^l_ij`` for all m and l."""
    flat = Ks.reshape(len(Ks), -1)
    return np.asarray((flat * factor.ravel()) @ flat.T)


def _weighted_products(Ks: Array, left: Array, right: Array) -> Array:
    """Return ``sum_ij left_i right_j K^m_ij K^l_ij`` for all m and l."""
    rows, columns = _where_positive(left), _where_positive(right)
    some = Ks[:, rows][:, :, columns]
    flat = some.reshape(len(Ks), -1)
    if np.all(left[rows] == 1.0) and np.all(right[columns] == 1.0):
        return np.asarray(flat @ flat.T)
    weighted = some * np.outer(left[rows], right[columns])
    return np.asarray(weighted.reshape(len(Ks), -1) @ flat.T)


def _where_positive(counts: Array) -> Indices | slice:
    """Return the places of positive counts, as a slice where they are side by side."""
    places = np.flatnonzero(counts)
    if len(places) and places[-1] - places[0] + 1 == len(places):
        return slice(int(places[0]), int(places[-1]) + 1)
    return places
