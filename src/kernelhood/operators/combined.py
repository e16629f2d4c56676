"""A combination of kernels whose rows are computed when they are first needed.

A warm-started SVM touches few samples, so most rows of the combined matrix are never formed, and
kernels of weight 0 are never read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import Array, Indices
from kernelhood.operators.cells import Cells


class Combined(NamedTuple):
    """``sum_m w_m[s, t] K^m + ridge I`` between samples of cells s and t, row by row.

    The weights are those that all cells have in common, those within a cell on top of them, and
    those of each other matrix between cells: ``w[s, t] = far + [s = t] near_s + sum_r joins_r[s, t]
    between_r``.

    Attributes
    ----------
    far : ndarray of shape (n_kernels,)
        Weights between all samples.
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
        The base kernel matrices one above the other; none if rows are filled from outside.
    turn : ndarray of int, shape (1,)
        How many rows have been written, where the oldest ones make room for others.
    """

    far: Array
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

    def far_only(self) -> bool:
        """Return whether all samples have the same weights."""
        return not (len(self.near) or len(self.joins))

    def to_fill(self) -> tuple[Any, ...]:
        """Return what `fill_row` asks for: plain arrays, because tuples take long to compile."""
        weights, cells = self.far[None], self.cells
        if not self.far_only():
            weights = np.concatenate([weights, self.near, self.between])
        point = cells.point[:0] if cells.plain else cells.point
        room, where = np.empty(len(self.far)), np.empty(len(self.far), dtype=np.intp)
        return weights, self.joins, point, cells.starts, self.stacked, room, where


@inlined
def add_rows(
    total: Array,
    place: int,
    begin: int,
    end: int,
    coefficients: Array,
    where: Indices,
    count: int,
    rows: Array,
    first: int,
    stride: int,
) -> None:
    """Add ``coefficients[k]`` times row ``first + k * stride`` for the first `count` of `where`.

    The columns from `begin` to `end` are added to those of row `place` of `total`. Four rows at a
    time: several streams hide the memory's latency, and `total` is written less.
    """
    n_full = count - count % 4
    for start in range(0, n_full, 4):
        i, j, k, m = where[start], where[start + 1], where[start + 2], where[start + 3]
        a, b, c, d = coefficients[i], coefficients[j], coefficients[k], coefficients[m]
        i, j, k, m = first + i * stride, first + j * stride, first + k * stride, first + m * stride
        for x in range(begin, end):
            total[place, x] += a * rows[i, x] + b * rows[j, x] + c * rows[k, x] + d * rows[m, x]
    for start in range(n_full, count):
        a, i = coefficients[where[start]], first + where[start] * stride
        for x in range(begin, end):
            total[place, x] += a * rows[i, x]


@inlined
def fill_row(
    i: int,
    weights: Array,
    joins: Array,
    point: Indices,
    starts: Indices,
    stacked: Array,
    room: Array,
    where: Indices,
    rows: Array,
) -> None:
    """Compute row i, but not its diagonal, into the slot of the same number.

    Parameters
    ----------
    i : int
        The sample.
    weights : ndarray of shape (1 + n_near + n_joins, n_kernels)
        Weights between all samples, within each cell, and of the matrices.
    joins, starts, stacked, rows
        As for `Combined`.
    point : ndarray of int
        The points of the samples; none if the samples are the points.
    room, where : ndarray of shape (n_kernels,)
        Room for the weights between two cells, and for the kernels that have one.
    """
    n_points, n_cells, own, p = stacked.shape[1], starts.shape[0] - 1, 0, i
    while starts[own + 1] <= i:
        own += 1
    if point.shape[0] > 0:
        p = point[i]
    for x in range(rows.shape[1]):
        rows[i, x] = 0.0
    first = weights.shape[0] - joins.shape[0]
    for cell in range(-1, n_cells if weights.shape[0] > 1 else 0):
        begin, end, count = starts[0], starts[n_cells], starts[0]
        if cell >= 0:
            begin, end = starts[cell], starts[cell + 1]
        for m in range(room.shape[0]):
            weight = weights[0, m] if cell < 0 else 0.0
            if cell == own and first > 1:
                weight = weights[1 + own, m]
            if cell >= 0:
                for r in range(joins.shape[0]):
                    weight += joins[r, own, cell] * weights[first + r, m]
            if weight != 0.0:
                room[m], where[count] = weight, m
                count += 1
        if point.shape[0] == 0:
            add_rows(rows, i, begin, end, room, where, count, stacked, p, n_points)
            continue
        for k in range(count):
            weight, at = room[where[k]], where[k] * n_points + p
            for x in range(begin, end):
                rows[i, x] += weight * stacked[at, point[x]]


@compiled
def _fill_rows(
    wanted: Indices,
    weights: Array,
    joins: Array,
    point: Indices,
    starts: Indices,
    stacked: Array,
    room: Array,
    where: Indices,
    rows: Array,
) -> None:
    for k in range(wanted.shape[0]):
        fill_row(wanted[k], weights, joins, point, starts, stacked, room, where, rows)


def fill_rows(kernel: Combined, wanted: Indices) -> None:
    """Compute those of some rows of kernels in memory that are not there yet."""
    missing = wanted[kernel.slot[wanted] < 0]
    if len(missing):
        arguments: tuple[Any, ...] = (missing, *kernel.to_fill(), kernel.rows)
        _fill_rows(*arguments)
        kernel.rows[missing, missing] = kernel.diagonal[missing]
        kernel.slot[missing] = missing


def combined_matrix(kernel: Combined) -> Array:
    """Return the whole matrix of kernels that are in memory."""
    fill_rows(kernel, np.arange(len(kernel.slot)))
    return kernel.rows


def combined_block(kernel: Combined, where: Indices) -> Array:
    """Return some rows and the same columns, from the rows that an SVM has left."""
    fill_rows(kernel, where)
    return np.asarray(kernel.rows[kernel.slot[where][:, None], where], dtype=np.float64)


@compiled
def gather_rows(rows: Array, slot: Indices, where: Indices, K: Array) -> None:
    """Write those of some rows that are there, and the same columns, into K."""
    for a in range(where.shape[0]):
        if slot[where[a]] >= 0:
            source, target = rows[slot[where[a]]], K[a]
            for b in range(where.shape[0]):
                target[b] = source[where[b]]
