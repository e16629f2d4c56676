"""The closed form of the neighborhood-defining matrix, and the Gram matrix it needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelhood._typing import Array, Indices

_RELATIVE_RANK = 1e-12
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


def joint_gram(rows_of: Callable[[slice], Array], n_kernels: int, counts: Array) -> Array:
    """Return A, the Frobenius products of kernels that tasks share and of those specific to them.

    The weights are in the order [mu; lambda_1; ...; lambda_T]: a shared kernel is the matrix
    between the samples of all tasks, a specific one the block of its task.

    Parameters
    ----------
    rows_of : callable
        Returns every kernel between a slice of the points and all of them, an array of shape
        (n_kernels, n_rows, n_points).
    n_kernels : int
        The number of base kernels.
    counts : ndarray of shape (n_tasks, n_points)
        The weight of the samples that each task has at each point.

    Returns
    -------
    ndarray of shape (n_kernels * (1 + n_tasks), n_kernels * (1 + n_tasks))
    """
    n_tasks, n_points = counts.shape
    every = np.vstack([counts.sum(axis=0), counts])
    G = np.zeros((1 + n_tasks, n_kernels, n_kernels))
    step = max(1, _ENTRIES_AT_ONCE // (n_kernels * n_points))
    for begin in range(0, n_points, step):
        rows = slice(begin, min(begin + step, n_points))
        Ks = rows_of(rows)
        for number, count in enumerate(every):
            G[number] += _weighted_products(Ks, count[rows], count)
    A = np.zeros((1 + n_tasks, n_kernels, 1 + n_tasks, n_kernels))
    for t in range(1 + n_tasks):
        A[0, :, t] = A[t, :, 0] = A[t, :, t] = G[t]
    size = n_kernels * (1 + n_tasks)
    return A.reshape(size, size)


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


def _span(G: Array) -> tuple[Array, Array, Array]:
    """Return the scale of every kernel and the eigenpairs of the scaled G above rounding level.

    Wide Gaussians are nearly the same matrix, so G may have a condition number beyond 1e30. Every
    kernel is scaled to unit norm first, so that large kernels do not hide small ones.
    """
    size = np.sqrt(np.maximum(np.diag(G), 0.0))
    unit = np.where(size > 0.0, 1.0 / np.where(size > 0.0, size, 1.0), 0.0)
    values, vectors = np.linalg.eigh(G * unit[:, None] * unit)
    keep = values > _RELATIVE_RANK * values[-1]
    return unit, values[keep], vectors[:, keep]


def identity_projection(G: Array, d: Array) -> Array:
    """Return gamma, with sum_m gamma^m K^m the projection of I onto the span of the kernels.

    It is a least-squares solution of G gamma = d.
    """
    unit, values, vectors = _span(G)
    return np.asarray(unit * (vectors @ ((vectors.T @ (unit * d)) / values)))


def span_rank(G: Array) -> int:
    """Return the dimension of the span of the kernels."""
    return len(_span(G)[1])


def neighborhood_weights(weights: Array, gamma: Array, s: float, r: float) -> Array:
    """Return kappa = s theta - r gamma, the coefficients of Khat on the base kernels."""
    return s * weights - r * gamma
