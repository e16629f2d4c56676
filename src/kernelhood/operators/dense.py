"""Base kernels whose matrices are in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.operators.base import ALL, OWN, KernelOperator
from kernelhood.operators.cells import Cells, one_cell
from kernelhood.operators.combined import Combined, add_rows, combined_block
from kernelhood.operators.sources import add_sources


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
        """Return room for all rows, as exact as the kernel matrices are."""
        return np.empty((self.n_samples, self.n_samples), dtype=self.Ks.dtype)

    @cached_property
    def _stacked(self) -> Array:
        return self.Ks.reshape(-1, self.Ks.shape[-1])

    def combined(self, weights: Array, ridge: float, rows: Array) -> Combined:
        """Return the combination of the kernels with no row computed yet."""
        if self.plain:
            far, near, between = weights, _NOTHING, _NOTHING
            diagonal = ridge + weights @ self.diagonals
        else:
            far, near, between = self.split(weights)
            diagonal = self.diagonal(far, near, between, ridge)
        return Combined(
            far,
            near,
            between,
            self.joins,
            self.cells,
            ridge,
            rows,
            np.full(self.n_samples, -1, dtype=np.intp),
            diagonal,
            self._stacked,
            _NO_TURN,
        )

    def block(self, kernel: Combined, where: Indices) -> Array:
        """Return some rows of a combination and the same columns."""
        return combined_block(kernel, where)

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
            _add_in_order(self._stacked, *layout, change, changed, of_all, of_own)
            return
        if self._has_all:
            _add_gathered(self.Ks, self.cells.point, change, of_all)
        if self._has_own:
            _add_own(self.Ks, self.cells, change, changed, of_own)


_NOTHING = np.zeros((0, 1))
_NO_TURN = np.zeros(1, dtype=np.intp)


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
    """Add ``K^m change`` over all samples and over their cells, where samples are the points.

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
