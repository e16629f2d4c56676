"""A combination of kernels whose rows are computed when they are first needed.

A warm-started SVM touches few samples, so most rows of the combined matrix are never formed, and
kernels of weight 0 are never read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.operators.cells import Cells


class Combined(NamedTuple):
    """``sum_m w_m[s, t] K^m + ridge I`` between samples of cells s and t, row by row.

    The weights are those that all cells have in common, those within a cell on top of them, and
    those of each other matrix between cells: ``w[s, t] = far + [s = t] near_s + sum_r joins_r[s, t]
    between_r``.

    Attributes
    ----------
    Ks : ndarray of shape (n_kernels, n_points, n_points)
        Base kernel matrices; none where rows are filled from outside.
    far : ndarray of shape (n_kernels,)
        Weights between all samples.
    active : ndarray of int
        The kernels whose far weight is not 0.
    near : ndarray of shape (n_cells, n_kernels)
        Weights within each cell.
    between : ndarray of shape (n_joins, n_kernels)
        Weights of the other matrices.
    joins : ndarray of shape (n_joins, n_cells, n_cells)
        These matrices.
    cells : Cells
        Where the samples stand.
    ridge : float
        Added to the diagonal.
    rows : ndarray of shape (n_slots, n_samples)
        The rows that are there.
    slot : ndarray of int, shape (n_samples,)
        Which of them is a sample's, or -1.
    diagonal : ndarray of shape (n_samples,)
        The diagonal.
    stacked : ndarray of shape (n_kernels * n_points, n_points)
        The base kernel matrices one above the other.
    turn : ndarray of int, shape (1,)
        How many rows have been written, where the oldest ones make room for others.
    """

    Ks: Array
    far: Array
    active: Indices
    near: Array
    between: Array
    joins: Array
    cells: Cells
    ridge: float
    rows: Array
    slot: Indices
    diagonal: Array
    stacked: Array
    turn: Indices


@compiled
def add_rows(
    total: Array, coefficients: Array, where: Indices, rows: Array, first: int, stride: int
) -> None:
    """Add ``coefficients[k]`` times row ``first + k * stride`` for all k in `where`.

    Four rows at a time: several streams hide the memory's latency, and `total` is written less.
    """
    n_full = where.shape[0] - where.shape[0] % 4
    for start in range(0, n_full, 4):
        i, j, k, m = where[start], where[start + 1], where[start + 2], where[start + 3]
        row_i, row_j = rows[first + i * stride], rows[first + j * stride]
        row_k, row_m = rows[first + k * stride], rows[first + m * stride]
        a, b, c, d = coefficients[i], coefficients[j], coefficients[k], coefficients[m]
        for x in range(total.shape[0]):
            total[x] += a * row_i[x] + b * row_j[x] + c * row_k[x] + d * row_m[x]
    for start in range(n_full, where.shape[0]):
        a, row_i = coefficients[where[start]], rows[first + where[start] * stride]
        for x in range(total.shape[0]):
            total[x] += a * row_i[x]


@compiled
def _add_all(kernel: Combined, weights: Array, active: Indices, p: int, row: Array) -> None:
    """Add the weighted kernels between a point and all samples."""
    cells = kernel.cells
    if cells.plain:
        add_rows(row, weights, active, kernel.stacked, p, kernel.Ks.shape[1])
    else:
        for m in active:
            source, weight = kernel.Ks[m, p], weights[m]
            for j in range(row.shape[0]):
                row[j] += weight * source[cells.point[j]]


@compiled
def _add_cell(kernel: Combined, weights: Array, p: int, cell: int, row: Array) -> None:
    """Add the weighted kernels between a point and the samples of one cell."""
    point, starts = kernel.cells.point, kernel.cells.starts
    for m in range(weights.shape[0]):
        if weights[m] != 0.0:
            source, weight = kernel.Ks[m, p], weights[m]
            for j in range(starts[cell], starts[cell + 1]):
                row[j] += weight * source[point[j]]


@compiled
def fill_row(kernel: Combined, i: int) -> None:
    """Compute row i into the slot of the same number."""
    cells, row = kernel.cells, kernel.rows[i]
    own, p = cells.cell[i], cells.point[i]
    row[:] = 0.0
    _add_all(kernel, kernel.far, kernel.active, p, row)
    if kernel.near.shape[0] > 0:
        _add_cell(kernel, kernel.near[own], p, own, row)
    for r in range(kernel.joins.shape[0]):
        active = np.flatnonzero(kernel.between[r])
        if active.shape[0] > 0:
            part, factor = np.zeros_like(row), kernel.joins[r, own]
            _add_all(kernel, kernel.between[r], active, p, part)
            for j in range(row.shape[0]):
                row[j] += factor[cells.cell[j]] * part[j]
    row[i] += kernel.ridge
    kernel.slot[i] = i


@compiled
def combined_row(kernel: Combined, i: int) -> Array:
    """Return row i, computing it where it is not there yet."""
    if kernel.slot[i] < 0:
        fill_row(kernel, i)
    return kernel.rows[kernel.slot[i]]


@compiled
def combined_matrix(kernel: Combined) -> Array:
    """Return the whole matrix of kernels that are in memory."""
    for i in range(kernel.slot.shape[0]):
        combined_row(kernel, i)
    return kernel.rows


@compiled
def combined_block(kernel: Combined, where: Indices) -> Array:
    """Return some rows and the same columns, from the rows that an SVM has left."""
    size = where.shape[0]
    K = np.empty((size, size))
    for a in range(size):
        source, target = combined_row(kernel, where[a]), K[a]
        for b in range(size):
            target[b] = source[where[b]]
    return K


@compiled
def gather_rows(rows: Array, slot: Indices, where: Indices, K: Array) -> None:
    """Write those of some rows that are there, and the same columns, into K."""
    for a in range(where.shape[0]):
        if slot[where[a]] >= 0:
            source, target = rows[slot[where[a]]], K[a]
            for b in range(where.shape[0]):
                target[b] = source[where[b]]
