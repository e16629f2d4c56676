"""A combination of kernels whose rows are computed when they are first needed.

A warm-started SVM touches few samples, so most rows of the combined matrix are never formed, and
kernels of weight 0 are never read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags, Indices
from kernelhood.solvers.layout import Layout, one_task


class CombinedKernel(NamedTuple):
    """``sum_m (shared_m + [same cell] specific_tm) K^m + ridge I``, row by row.

    Attributes
    ----------
    Ks : ndarray of shape (n_kernels, n_points, n_points)
        Base kernel matrices; none where rows are filled from outside.
    shared : ndarray of shape (n_kernels,)
        Weights between all samples of a component.
    specific : ndarray of shape (n_tasks, n_kernels)
        Weights between samples of a cell on top of these, by the cell's task.
    layout : Layout
        Where the samples stand.
    ridge : float
        Added to the diagonal.
    rows : ndarray of shape (n_samples, n_samples)
        Room for the rows.
    ready : ndarray of bool, shape (n_samples,)
        Which rows are there.
    diagonal : ndarray of shape (n_samples,)
        The diagonal.
    stacked : ndarray of shape (n_kernels * n_points, n_points)
        The base kernel matrices one above the other.
    active : ndarray of int
        The kernels whose shared weight is not 0.
    """

    Ks: Array
    shared: Array
    specific: Array
    layout: Layout
    ridge: float
    rows: Array
    ready: Flags
    diagonal: Array
    stacked: Array
    active: Indices


def combined_kernel(
    Ks: Array, weights: Array, ridge: float = 0.0, rows: Array | None = None
) -> CombinedKernel:
    """Return a combination for one task with no row computed yet.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices.
    weights : ndarray of shape (n_kernels,)
        Their weights.
    ridge : float
        Added to the diagonal.
    rows : ndarray of shape (n_samples, n_samples), optional
        Room to write the rows to.
    """
    n = Ks.shape[1]
    diagonal = ridge + weights @ np.einsum("mii->mi", Ks)
    return with_room(Ks, weights, np.zeros((1, len(weights))), one_task(n), ridge, diagonal, rows)


def with_room(
    Ks: Array,
    shared: Array,
    specific: Array,
    layout: Layout,
    ridge: float,
    diagonal: Array,
    rows: Array | None = None,
) -> CombinedKernel:
    """Return a combination with no row computed yet; see `CombinedKernel`."""
    n = len(layout.point)
    return CombinedKernel(
        Ks,
        shared,
        specific,
        layout,
        ridge,
        np.empty((n, n)) if rows is None else rows,
        np.zeros(n, dtype=np.bool_),
        diagonal,
        Ks.reshape(-1, Ks.shape[-1]),
        np.flatnonzero(shared),
    )


@compiled
def _add_rows(
    total: Array,
    coefficients: Array,
    where: Indices,
    rows: Array,
    first: int,
    stride: int,
    begin: int,
) -> None:
    """Add ``coefficients[k]`` times row ``first + k * stride``, from `begin`, for all k in `where`.

    Four rows at a time: several streams hide the memory's latency, and `total` is written less.
    """
    end = begin + total.shape[0]
    n_full = where.shape[0] - where.shape[0] % 4
    for start in range(0, n_full, 4):
        i, j, k, m = where[start], where[start + 1], where[start + 2], where[start + 3]
        row_i, row_j = rows[first + i * stride, begin:end], rows[first + j * stride, begin:end]
        row_k, row_m = rows[first + k * stride, begin:end], rows[first + m * stride, begin:end]
        a, b, c, d = coefficients[i], coefficients[j], coefficients[k], coefficients[m]
        for x in range(total.shape[0]):
            total[x] += a * row_i[x] + b * row_j[x] + c * row_k[x] + d * row_m[x]
    for start in range(n_full, where.shape[0]):
        a, row_i = coefficients[where[start]], rows[first + where[start] * stride, begin:end]
        for x in range(total.shape[0]):
            total[x] += a * row_i[x]


@compiled
def _add_gathered(
    row: Array, weight: float, source: Array, point: Indices, first: int, last: int
) -> None:
    """Add the weighted values at the points of the samples from first to last."""
    for j in range(first, last):
        row[j] += weight * source[point[j]]


@compiled
def kernel_row(kernel: CombinedKernel, i: int) -> Array:
    """Return row i, computing it where it is not there yet."""
    if not kernel.ready[i]:
        fill_row(kernel, i)
    return kernel.rows[i]


@compiled
def fill_row(kernel: CombinedKernel, i: int) -> None:
    """Compute row i."""
    layout, row = kernel.layout, kernel.rows[i]
    cell, p = layout.cell[i], layout.point[i]
    row[:] = 0.0
    first, last = layout.reach[cell, 0], layout.reach[cell, 1]
    if layout.plain:
        _add_rows(
            row[first:last],
            kernel.shared,
            kernel.active,
            kernel.stacked,
            i,
            kernel.Ks.shape[1],
            first,
        )
    else:
        for m in kernel.active:
            _add_gathered(row, kernel.shared[m], kernel.Ks[m, p], layout.point, first, last)
    own = kernel.specific[layout.task[cell]]
    first, last = layout.starts[cell], layout.starts[cell + 1]
    for m in range(own.shape[0]):
        if own[m] != 0.0:
            _add_gathered(row, own[m], kernel.Ks[m, p], layout.point, first, last)
    row[i] += kernel.ridge
    kernel.ready[i] = True


@compiled
def kernel_matrix(kernel: CombinedKernel) -> Array:
    """Return the whole matrix."""
    for i in range(kernel.rows.shape[0]):
        kernel_row(kernel, i)
    return kernel.rows


@compiled
def kernel_block(kernel: CombinedKernel, where: Indices) -> Array:
    """Return some rows and the same columns, from the rows that an SVM has left."""
    size = where.shape[0]
    K = np.empty((size, size))
    for a in range(size):
        source, target = kernel_row(kernel, where[a]), K[a]
        for b in range(size):
            target[b] = source[where[b]]
    return K


def add_products(Ks: Array, change: Array, products: Array) -> None:
    """Add ``K^m change`` to row m of `products`, reading only rows where the change is not 0."""
    _add_products(Ks.reshape(-1, len(change)), change, np.flatnonzero(change), products)


@compiled
def _add_products(stacked: Array, change: Array, where: Indices, products: Array) -> None:
    for m in range(products.shape[0]):
        _add_rows(products[m], change, where, stacked, m * change.shape[0], 1, 0)
