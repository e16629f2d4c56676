"""A combination of kernels whose rows are computed when they are first needed.

A warm-started SVM touches few samples, so most rows of the combined matrix are never formed, and
kernels of weight 0 are never read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags, Indices


class CombinedKernel(NamedTuple):
    """``sum_m weights_m K^m + ridge I``, row by row.

    Attributes
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices.
    weights : ndarray of shape (n_kernels,)
        Their weights.
    ridge : float
        Added to the diagonal.
    rows : ndarray of shape (n_samples, n_samples)
        Room for the rows.
    ready : ndarray of bool, shape (n_samples,)
        Which rows are there.
    """

    Ks: Array
    weights: Array
    ridge: float
    rows: Array
    ready: Flags


def combined_kernel(
    Ks: Array, weights: Array, ridge: float = 0.0, rows: Array | None = None
) -> CombinedKernel:
    """Return a combination with no row computed yet; `rows` is room to write them to."""
    n = Ks.shape[1]
    room = np.empty((n, n)) if rows is None else rows
    return CombinedKernel(Ks, weights, ridge, room, np.zeros(n, dtype=np.bool_))


@compiled
def kernel_row(kernel: CombinedKernel, i: int) -> Array:
    """Return row i, computing it where it is not there yet."""
    row = kernel.rows[i]
    if not kernel.ready[i]:
        row[:] = 0.0
        for m in range(kernel.weights.shape[0]):
            weight = kernel.weights[m]
            if weight != 0.0:
                source = kernel.Ks[m, i]
                for j in range(row.shape[0]):
                    row[j] += weight * source[j]
        row[i] += kernel.ridge
        kernel.ready[i] = True
    return row


@compiled
def kernel_diagonal(kernel: CombinedKernel) -> Array:
    """Return the diagonal without computing rows."""
    diagonal = np.empty(kernel.rows.shape[0])
    for i in range(diagonal.shape[0]):
        diagonal[i] = kernel.ridge
        for m in range(kernel.weights.shape[0]):
            diagonal[i] += kernel.weights[m] * kernel.Ks[m, i, i]
    return diagonal


@compiled
def kernel_matrix(kernel: CombinedKernel) -> Array:
    """Return the whole matrix."""
    for i in range(kernel.rows.shape[0]):
        kernel_row(kernel, i)
    return kernel.rows


@compiled
def combined_block(Ks: Array, weights: Array, where: Indices) -> Array:
    """Return ``sum_m weights_m K^m`` on some rows and the same columns."""
    size = where.shape[0]
    K = np.zeros((size, size))
    for m in range(weights.shape[0]):
        if weights[m] != 0.0:
            for a in range(size):
                source, target = Ks[m, where[a]], K[a]
                for b in range(size):
                    target[b] += weights[m] * source[where[b]]
    return K


@compiled
def add_products(Ks: Array, change: Array, products: Array) -> None:
    """Add ``K^m change`` to row m of `products`, reading only rows where the change is not 0."""
    for m in range(Ks.shape[0]):
        total = products[m]
        for i in range(change.shape[0]):
            if change[i] != 0.0:
                coefficient, row = change[i], Ks[m, i]
                for j in range(row.shape[0]):
                    total[j] += coefficient * row[j]
