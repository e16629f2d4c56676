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
    """

    Ks: Array
    shared: Array
    specific: Array
    layout: Layout
    ridge: float
    rows: Array
    ready: Flags
    diagonal: Array


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
    return with_room(Ks, weights, np.zeros((1, len(weights))), one_task(n), ridge, rows)


def with_room(
    Ks: Array,
    shared: Array,
    specific: Array,
    layout: Layout,
    ridge: float,
    rows: Array | None = None,
) -> CombinedKernel:
    """Return a combination with no row computed yet; see `CombinedKernel`."""
    n = len(layout.point)
    room = np.empty((n, n)) if rows is None else rows
    diagonal = _diagonal(Ks, shared, specific, layout, ridge)
    ready = np.zeros(n, dtype=np.bool_)
    return CombinedKernel(Ks, shared, specific, layout, ridge, room, ready, diagonal)


@compiled
def _diagonal(Ks: Array, shared: Array, specific: Array, layout: Layout, ridge: float) -> Array:
    diagonal = np.full(layout.point.shape[0], ridge)
    for i in range(diagonal.shape[0]):
        p, task = layout.point[i], layout.task[layout.cell[i]]
        for m in range(shared.shape[0]):
            diagonal[i] += (shared[m] + specific[task, m]) * Ks[m, p, p]
    return diagonal


@compiled
def _add_row(weight: float, source: Array, layout: Layout, first: int, last: int, row: Array):  # type: ignore[no-untyped-def]
    """Add the weighted values at the points of some samples to their places in the row."""
    if layout.plain:
        for j in range(first, last):
            row[j] += weight * source[j]
    else:
        for j in range(first, last):
            row[j] += weight * source[layout.point[j]]


@compiled
def kernel_row(kernel: CombinedKernel, i: int) -> Array:
    """Return row i, computing it where it is not there yet."""
    row = kernel.rows[i]
    if not kernel.ready[i]:
        layout = kernel.layout
        row[:] = 0.0
        p, cell = layout.point[i], layout.cell[i]
        for m in range(kernel.shared.shape[0]):
            if kernel.shared[m] != 0.0:
                first, last = layout.reach[cell]
                _add_row(kernel.shared[m], kernel.Ks[m, p], layout, first, last, row)
            own = kernel.specific[layout.task[cell], m]
            if own != 0.0:
                first, last = layout.starts[cell], layout.starts[cell + 1]
                _add_row(own, kernel.Ks[m, p], layout, first, last, row)
        row[i] += kernel.ridge
        kernel.ready[i] = True
    return row


@compiled
def kernel_matrix(kernel: CombinedKernel) -> Array:
    """Return the whole matrix."""
    for i in range(kernel.rows.shape[0]):
        kernel_row(kernel, i)
    return kernel.rows


@compiled
def combined_block(
    Ks: Array, shared: Array, specific: Array, layout: Layout, where: Indices
) -> Array:
    """Return the combination on some samples, in ascending order, and themselves."""
    size = where.shape[0]
    points = layout.point[where]
    K = np.zeros((size, size))
    for m in range(Ks.shape[0]):
        for a in range(size):
            cell, source, target = layout.cell[where[a]], Ks[m, points[a]], K[a]
            if shared[m] != 0.0:
                first, last = np.searchsorted(where, layout.reach[cell])
                for b in range(first, last):
                    target[b] += shared[m] * source[points[b]]
            own = specific[layout.task[cell], m]
            if own != 0.0:
                first, last = np.searchsorted(where, layout.starts[cell : cell + 2])
                for b in range(first, last):
                    target[b] += own * source[points[b]]
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
