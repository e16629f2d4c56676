"""Kernels whose digits would be lost: nearly constant ones are centred, rounding is made positive.

A dual vector sums to zero over every group of samples with an intercept. A kernel ``g + k`` with a
constant g that is large beside k gives such a vector the same products as k, up to a constant that
the intercept takes up; but computed with g, they lose as many digits as g has more than k. Features
with a large offset, or constant ones, make linear and polynomial kernels of this kind.

If kernels are of very different size, what rounding has left of a large one may be as large as a
small one, and is not positive semidefinite. A ridge of its size makes it so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags, Indices
from kernelhood.operators.base import (
    ALL,
    OWN,
    Cells,
    Combined,
    KernelOperator,
    add_rows,
    cells_of,
    fill_rows,
    one_cell,
)

_NEARLY_CONSTANT = 1e-6
_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
_ALL_ROUNDING = 8.0
_FAR_APART = 1e6


@dataclass(frozen=True)
class Centred:
    """An operator with some of its kernels centred.

    Attributes
    ----------
    operator : KernelOperator
        The kernels; those that are constant to rounding are zero.
    means : ndarray of shape (n_kernels, n_samples), or None
        What was taken away from the rows of each kernel; None if nothing was.
    """

    operator: KernelOperator
    means: Array | None = None

    def shifts(self, weights: Array, v: Array) -> Array:
        """Return by how much the means raise the values of each cell's samples."""
        assert self.means is not None
        operator, starts = self.operator, self.operator.cells.starts
        far, near, between = operator.split(weights)
        by_cell = np.add.reduceat(self.means * v, starts[:-1], axis=1)
        shift = np.full(len(starts) - 1, float(far @ by_cell.sum(axis=1)))
        if len(near):
            shift += np.einsum("cm,mc->c", near, by_cell)
        for B, theta in zip(operator.joins, between, strict=True):
            shift += B @ (theta @ by_cell)
        return shift


def centred(operator: KernelOperator, group_starts: Indices) -> Centred:
    """Return an operator whose kernels are far from constant.

    Parameters
    ----------
    operator : KernelOperator
        Kernels; those that are evaluated on demand are left as they are.
    group_starts : ndarray of int
        Of the groups of samples that have an intercept of their own.
    """
    if not isinstance(operator, DenseKernels):
        return Centred(operator)
    if not (operator.plain or np.array_equal(group_starts, operator.cells.starts)):
        return Centred(operator)
    chosen, sizes = _nearly_constant(operator), operator.diagonals.max(axis=1)
    uneven = sizes.max() > _FAR_APART * sizes.min()
    if uneven:  # zeros apart
        uneven = sizes.max() > _FAR_APART * sizes[sizes > 0.0].min(initial=np.inf)
    if not (uneven or chosen.any()):
        return Centred(operator)
    point, n = operator.cells.point, operator.n_samples
    Ks = np.array(operator.Ks[:, point][:, :, point], dtype=np.float64)
    means = np.zeros((len(Ks), n))
    for m in range(len(Ks)):
        if chosen[m]:
            Ks[m], means[m] = _centred_matrix(Ks[m])
        else:
            Ks[m].flat[:: n + 1] += _noise(n, float(sizes[m]))
    cells = operator.cells
    plain = cells_of(np.arange(n), np.diff(cells.starts), cells.task)
    return Centred(replace(operator, cells=plain, Ks=Ks), means)


def _nearly_constant(operator: DenseKernels) -> Flags:
    """Return which kernels vary little from one sample to the next, compared with their size."""
    point, diagonals = operator.cells.point, operator.diagonals
    n = len(point)
    if n < 2:
        return np.zeros(len(diagonals), dtype=np.bool_)
    if operator.cells.plain and operator.Ks.shape[1] == n:
        beside = operator.Ks.diagonal(1, 1, 2)
    else:
        beside = operator.Ks[:, point[:-1], point[1:]]
    total = diagonals.sum(axis=1)
    distance = 2.0 * (total - beside.sum(axis=1)) - diagonals[:, 0] - diagonals[:, -1]
    return np.asarray(distance < _NEARLY_CONSTANT * total)


def _centred_matrix(K: Array) -> tuple[Array, Array]:
    """Return a matrix with row and column means taken away, and what they were.

    What rounding has left is made positive by a ridge of its size; if that is all there is, the
    matrix is zero.
    """
    size, rows = float(np.abs(K).max()), K.mean(axis=1)
    found = K - rows - rows[:, None] + rows.mean()
    found = 0.5 * (found + found.T)
    noise = _noise(len(K), size)
    if float(np.trace(found)) <= _ALL_ROUNDING * len(K) * noise:
        return np.zeros_like(K), rows
    found.flat[:: len(K) + 1] += noise
    return found, rows


def _noise(n_samples: int, size: float) -> float:
    """Return how far from zero the eigenvalues of rounding errors may be."""
    return _ROUNDING * float(np.sqrt(n_samples)) * size


@compiled
def add_sources(
    parts: Array,
    members: Indices,
    cells: Cells,
    joins: Array,
    has_all: bool,
    has_own: bool,
    products: Array,
) -> None:
    """Add the products with some cells to those of every source.

    Parameters
    ----------
    parts : ndarray of shape (n_members, n_kernels, n_samples)
        Every kernel times the part of a vector that belongs to one cell.
    members : ndarray of int, shape (n_members,)
        These cells.
    cells : Cells
        Where the samples stand.
    joins : ndarray of shape (n_joins, n_cells, n_cells)
        Matrices between cells.
    has_all, has_own : bool
        Whether there are products over all samples, and over those of the same cell.
    products : ndarray
        As an operator keeps them: those over all samples, then over the cell, then of each matrix.
    """
    n_kernels, n = parts.shape[1], parts.shape[2]
    factors = np.empty((joins.shape[0], n))
    for k in range(members.shape[0]):
        own = members[k]
        for r in range(joins.shape[0]):
            for j in range(n):
                factors[r, j] = joins[r, own, cells.cell[j]]
        begin, end = cells.starts[own], cells.starts[own + 1]
        for m in range(n_kernels):
            part, at = parts[k, m], m
            if has_all:
                products[at] += part
                at += n_kernels
            if has_own:
                products[at, begin:end] += part[begin:end]
                at += n_kernels
            for r in range(joins.shape[0]):
                row, factor = products[at + r * n_kernels], factors[r]
                for j in range(n):
                    row[j] += factor[j] * part[j]


@compiled
def add_weighted(
    parts: Array, joins: Array, used: Indices, left: Indices, right: Indices, out: Array
) -> None:
    """Add the first part, and the others weighted by matrices between cells.

    Parameters
    ----------
    parts : ndarray of shape (1 + n_used, n_rows, n_columns)
        Values between samples.
    joins : ndarray of shape (n_joins, n_cells, n_cells)
        Matrices between cells.
    used : ndarray of int, shape (n_used,)
        The matrix of each part but the first.
    left, right : ndarray of int
        The cells of the samples in the rows and columns.
    out : ndarray of shape (at least n_rows, n_columns)
        Where to add.
    """
    for i in range(parts.shape[1]):
        row, first = out[i], parts[0, i]
        for j in range(row.shape[0]):
            row[j] += first[j]
        for k in range(used.shape[0]):
            factor, part = joins[used[k], left[i]], parts[1 + k, i]
            for j in range(row.shape[0]):
                row[j] += factor[right[j]] * part[j]


@compiled
def add_within(part: Array, left: Indices, right: Indices, at: Indices, out: Array) -> None:
    """Add the values between samples of the same cell.

    Parameters
    ----------
    part : ndarray of shape (n_rows, n_columns)
        Values between samples.
    left, right : ndarray of int
        Their cells.
    at : ndarray of int, shape (n_columns,)
        The columns of `out` that the columns belong to.
    out : ndarray of shape (n_rows, any)
        Where to add.
    """
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            if left[i] == right[j]:
                out[i, at[j]] += part[i, j]


@dataclass(frozen=True)
class DenseKernels(KernelOperator):
    """Base kernels whose matrices are held.

    Attributes
    ----------
    Ks : ndarray of shape (n_kernels, n_points, n_points)
        Base kernel matrices, C-contiguous.
    """

    Ks: Array = field(kw_only=True)

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return len(self.Ks)

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of every base kernel, of shape (n_kernels, n_samples)."""
        found = self.Ks.diagonal(0, 1, 2)
        if not (self.cells.plain and found.shape[1] == self.n_samples):
            found = found[:, self.cells.point]
        return np.ascontiguousarray(found, dtype=np.float64)

    def row_buffer(self) -> Array:
        """Return a buffer for all rows, as exact as the kernel matrices are."""
        return np.empty((self.n_samples, self.n_samples), dtype=self.Ks.dtype)

    @cached_property
    def stacked(self) -> Array:
        """The kernel matrices one below the other."""
        return self.Ks.reshape(-1, self.Ks.shape[-1])

    def block(self, kernel: Combined, where: Indices) -> Array:
        """Return some rows of a combination and the same columns."""
        fill_rows(kernel, where)
        return np.asarray(kernel.rows[kernel.slot[where][:, None], where], dtype=np.float64)

    def add_products(self, change: Array, products: Array) -> None:
        """Add the products of every kernel with `change`, for each source."""
        changed = change.nonzero()[0]
        if len(self.joins):
            sources = self.joins, self._has_all, self._has_own
            _add_to_all_sources(self.Ks, self.cells, change, changed, *sources, products)
            return
        of_all = products[self._rows_of(ALL)] if self._has_all else products[:0]
        of_own = products[self._rows_of(OWN)] if self._has_own else products[:0]
        if self.cells.plain:
            layout = self.cells.cell, self.cells.starts
            _add_in_order(self.stacked, *layout, change, changed, of_all, of_own)
            return
        if self._has_all:
            _add_gathered(self.Ks, self.cells.point, change, of_all)
        if self._has_own:
            _add_own(self.Ks, self.cells, change, changed, of_own)


def one_task(Ks: Array, cells: Cells | None = None) -> DenseKernels:
    """Return the kernels of a task on its own; by default every point is one sample."""
    return DenseKernels(one_cell(Ks.shape[1]) if cells is None else cells, Ks=Ks)


@compiled
def _add_in_order(
    stacked: Array,
    cell: Indices,
    starts: Indices,
    change: Array,
    changed: Indices,
    of_all: Array,
    of_own: Array,
) -> None:
    """Add ``K^m change`` over all samples and over their cells, if samples are the points.

    Only rows where the change is not 0 are read, and both sums are made while a kernel is close to
    the processor. One that is not wanted has no rows.
    """
    n, end, count = stacked.shape[1], change.shape[0], changed.shape[0]
    one = n // n  # for a literal the function would be compiled once more
    for m in range(stacked.shape[0] // n):
        if of_all.shape[0] > 0:
            add_rows(of_all, m, starts[0], end, change, changed, count, stacked, m * n, one)
        if of_own.shape[0] > 0:
            for k in range(count):
                i = changed[k]
                factor = change[i]
                for j in range(starts[cell[i]], starts[cell[i] + 1]):
                    of_own[m, j] += factor * stacked[m * n + i, j]


@compiled
def _add_gathered(Ks: Array, point: Indices, change: Array, products: Array) -> None:
    """Add ``K^m change`` over all samples, gathered by points first."""
    n_points = Ks.shape[1]
    at_points = np.zeros(n_points)
    for i in range(change.shape[0]):
        at_points[point[i]] += change[i]
    for m in range(Ks.shape[0]):
        total = np.zeros(n_points)
        for p in range(n_points):
            if at_points[p] != 0.0:
                row = Ks[m, p]
                for q in range(n_points):
                    total[q] += at_points[p] * row[q]
        for i in range(change.shape[0]):
            products[m, i] += total[point[i]]


@compiled
def _add_own(Ks: Array, cells: Cells, change: Array, changed: Indices, products: Array) -> None:
    """Add ``K^m change`` over the cell of each sample."""
    point, cell, starts = cells.point, cells.cell, cells.starts
    for m in range(Ks.shape[0]):
        for i in changed:
            row, own = Ks[m, point[i]], cell[i]
            for j in range(starts[own], starts[own + 1]):
                products[m, j] += change[i] * row[point[j]]


@compiled
def _add_to_all_sources(
    Ks: Array,
    cells: Cells,
    change: Array,
    changed: Indices,
    joins: Array,
    has_all: bool,
    has_own: bool,
    products: Array,
) -> None:
    """Add the products with each cell, which make up those over all sources."""
    n, n_kernels, n_points = change.shape[0], Ks.shape[0], Ks.shape[1]
    parts, at_points = np.empty((1, n_kernels, n)), np.empty(n_points)
    begin = 0
    while begin < changed.shape[0]:
        own = cells.cell[changed[begin]]
        end = begin
        while end < changed.shape[0] and cells.cell[changed[end]] == own:
            end += 1
        some = changed[begin:end]
        for m in range(n_kernels):
            at_points[:] = 0.0
            _add_points(at_points, change, some, cells.point, Ks[m])
            for j in range(n):
                parts[0, m, j] = at_points[cells.point[j]]
        add_sources(parts, np.array([own]), cells, joins, has_all, has_own, products)
        begin = end


@compiled
def _add_points(total: Array, change: Array, some: Indices, point: Indices, K: Array) -> None:
    """Add the rows of the points of some samples, two at a time."""
    last = some.shape[0] - some.shape[0] % 2
    for k in range(0, last, 2):
        i, j = some[k], some[k + 1]
        a, b, row_i, row_j = change[i], change[j], K[point[i]], K[point[j]]
        for x in range(total.shape[0]):
            total[x] += a * row_i[x] + b * row_j[x]
    for k in range(last, some.shape[0]):
        i = some[k]
        a, row_i = change[i], K[point[i]]
        for x in range(total.shape[0]):
            total[x] += a * row_i[x]
