"""Sums and products of features row by row, compiled: cells may be many and small."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.operators.base import ALL, OWN, Combined, KernelOperator, cells_of


@compiled
def add_row_sums(Phi: AnyArray, cell: Indices, v: Array, total: Array) -> None:
    """Add ``v_i Phi_i`` to the row of `total` that belongs to the cell of i.

    Parameters
    ----------
    Phi : ndarray of shape (n_rows, n_features)
        Features, of any precision; sums are of double precision.
    cell : ndarray of int, shape (n_rows,)
        The cell of every row.
    v : ndarray of shape (n_rows,)
        How much of each row is added.
    total : ndarray of shape (n_cells, n_features)
        The sums.
    """
    for i in range(Phi.shape[0]):
        if v[i] != 0.0:
            for f in range(Phi.shape[1]):
                total[cell[i], f] += v[i] * Phi[i, f]


@compiled
def add_row_products(
    Phi: AnyArray, cell: Indices, sums: Array, starts: Indices, out: Array
) -> None:
    """Add the inner products of rows with the sums of their cells, for every kernel.

    Parameters
    ----------
    Phi : ndarray of shape (n_rows, n_features)
        Features, of any precision; sums are of double precision.
    cell : ndarray of int, shape (n_rows,)
        The cell of every row.
    sums : ndarray of shape (n_cells, n_features)
        The sums.
    starts : ndarray of int, shape (n_kernels + 1,)
        Where the features of each kernel start.
    out : ndarray of shape (n_kernels, n_rows)
        What the products are added to.
    """
    for i in range(Phi.shape[0]):
        c = cell[i]
        for m in range(starts.shape[0] - 1):
            # Four sums at a time, since they are not put in another order on their own.
            a = b = c0 = d = 0.0
            f, last = starts[m], starts[m + 1]
            while f + 4 <= last:
                a += Phi[i, f] * sums[c, f]
                b += Phi[i, f + 1] * sums[c, f + 1]
                c0 += Phi[i, f + 2] * sums[c, f + 2]
                d += Phi[i, f + 3] * sums[c, f + 3]
                f += 4
            while f < last:
                a += Phi[i, f] * sums[c, f]
                f += 1
            out[m, i] += (a + b) + (c0 + d)


# Base kernels of low rank: every kernel is ``Phi_m Phi_m'`` with few features for each point.
#
# Nothing of samples by samples is formed. With the features of a cell summed up under a vector v,
# ``W_s = sum_i v_i phi(x_i)`` over the samples i of cell s, products with the kernels under every
# matrix of a relation follow from the sums alone: all samples have the sum of all W_s, a cell has
# its
# own, a matrix B between cells has ``sum_s B[c, s] W_s``.


_ROWS_AT_ONCE = 4096
_FEWEST_ROWS, _NUMBERS_AT_HAND = 64, 2**19


@dataclass(frozen=True)
class HeldFeatures:
    """Features that are in memory.

    Attributes
    ----------
    values : ndarray of shape (n_points, n_features)
        The features of all kernels side by side, of any precision.
    starts : ndarray of int, shape (n_kernels + 1,)
        Where those of each kernel start.
    """

    values: Any
    starts: Indices

    def as_held(self, points: Indices) -> AnyArray:
        """Return all features at some points, in the precision that they have."""
        first, last = int(points[0]), int(points[-1]) + 1
        if last - first == len(points) and np.all(np.diff(points) == 1):
            return np.asarray(self.values[first:last])
        return np.asarray(self.values[points])

    def rows(self, points: Indices, columns: Indices | slice) -> Array:
        """Return some features at some points, in double precision."""
        if not isinstance(columns, slice) and len(columns):
            width = slice(int(columns[0]), int(columns[-1]) + 1)
            columns = width if width.stop - width.start == len(columns) else columns
        return np.asarray(self.as_held(points)[:, columns], dtype=np.float64)


@dataclass(frozen=True)
class LowRankKernels(KernelOperator):
    """Base kernels that are inner products of features.

    Attributes
    ----------
    features : HeldFeatures or PointFeatures
        The features of all kernels at points that are named by their numbers.
    megabytes : float
        How much of them an SVM may keep in double precision.
    """

    features: Any = field(kw_only=True)
    megabytes: float = field(kw_only=True, default=1000.0)

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return len(self.features.starts) - 1

    @cached_property
    def n_features(self) -> int:
        """The number of features of all kernels."""
        return int(self.features.starts[-1])

    @cached_property
    def kernel_of(self) -> Indices:
        """The kernel that each feature belongs to."""
        return np.repeat(np.arange(self.n_kernels), np.diff(self.features.starts))

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """Cells one after the other, several small ones at a time: the first, and one past it."""
        cuts, starts = [0], self.cells.starts
        for c in range(1, len(starts) - 1):
            if starts[c + 1] - starts[cuts[-1]] > _ROWS_AT_ONCE:
                cuts.append(c)
        return list(pairwise([*cuts, len(starts) - 1]))

    def blocks(self) -> Iterator[tuple[slice, AnyArray]]:
        """Yield consecutive samples with their features, as many as a processor keeps at hand.

        Features have the precision that they are held in.
        """
        n, step = self.n_samples, max(_FEWEST_ROWS, _NUMBERS_AT_HAND // max(self.n_features, 1))
        for begin in range(0, n, step):
            rows = slice(begin, min(begin + step, n))
            yield rows, self.features.as_held(self.cells.point[rows])

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of every base kernel, of shape (n_kernels, n_samples)."""
        found = np.zeros((self.n_kernels, self.n_samples))
        marks = np.zeros((self.n_features, self.n_kernels))
        marks[np.arange(self.n_features), self.kernel_of] = 1.0
        for rows, Phi in self.blocks():
            found[:, rows] = (Phi.astype(np.float64, copy=False) ** 2 @ marks).T
        return found

    def row_buffer(self) -> Array:
        """Return an empty buffer: rows of a combination are never kept."""
        return np.empty((0, self.n_samples))

    def restricted(self, where: Indices) -> LowRankKernels:
        """Return the kernels on some samples, in ascending order."""
        cells = self.cells
        number, sizes = np.unique(cells.cell[where], return_counts=True)
        some = cells_of(cells.point[where], sizes, cells.task[number])
        return replace(self, cells=some)

    def block(self, kernel: Combined, where: Indices) -> Array:
        """Return some rows of a combination and the same columns."""
        used = self.used(kernel)
        Phi = self.features.rows(self.cells.point[where], used)
        of, cell = self.kernel_of[used], self.cells.cell[where]
        K = (Phi * kernel.far[of]) @ Phi.T
        for B, theta in zip(kernel.joins, kernel.between, strict=True):
            if theta.any():
                K += B[np.ix_(cell, cell)] * ((Phi * theta[of]) @ Phi.T)
        if kernel.near.any():
            cuts = np.flatnonzero(np.diff(cell, prepend=-1, append=-1))
            for a, b in pairwise(cuts):
                K[a:b, a:b] += (Phi[a:b] * kernel.near[cell[a]][of]) @ Phi[a:b].T
        K.flat[:: len(where) + 1] += kernel.ridge
        return K

    def used(self, kernel: Combined) -> Indices:
        """Return the features of kernels that a combination gives any weight."""
        total = kernel.far + kernel.near.sum(axis=0) + kernel.between.sum(axis=0)
        return np.flatnonzero(total[self.kernel_of] > 0.0)

    def cell_sums(self, v: Array) -> Array:
        """Return the sums of the features of every cell under v, of shape (n_cells, n_features)."""
        total = np.zeros((len(self.cells.task), self.n_features))
        for rows, Phi in self.blocks():
            add_row_sums(Phi, self.cells.cell[rows], v[rows], total)
        return total

    def add_products(self, change: Array, products: Array) -> None:
        """Add the products of every kernel with `change`, for each source."""
        if not change.any():
            return
        W, starts = self.cell_sums(change), np.asarray(self.features.starts, dtype=np.intp)
        sources = [(OWN, W)] * self._has_own
        sources += [(r, B.times(W)) for r, B in enumerate(self.between)]
        common = W.sum(axis=0, keepdims=True)
        for rows, Phi in self.blocks():
            cell = self.cells.cell[rows]
            if self._has_all:
                out = products[self._rows_of(ALL), rows]
                add_row_products(Phi, np.zeros_like(cell), common, starts, out)
            for source, sums in sources:
                add_row_products(Phi, cell, sums, starts, products[self._rows_of(source), rows])
