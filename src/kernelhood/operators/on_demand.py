"""Base kernels that are too many and too large to hold: they are evaluated when needed.

What is kept are rows of one combination, as many as fit; products and blocks are evaluated in
slices of samples. No array of samples by samples exists.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.operators.base import Fill, KernelOperator
from kernelhood.operators.combined import Combined, gather_rows

_FEWEST_ROWS = 1024
_MEGABYTE = 2**20


class Evaluator(Protocol):
    """What evaluates kernels between points that are named by their numbers."""

    @property
    def diagonals(self) -> Array:
        """The values k(x, x), of shape (n_kernels, n_points)."""

    def products(self, rows: Indices, columns: Indices, change: Array) -> Array:
        """Return every kernel between some points times a vector over the rows."""

    def combine(self, rows: Indices, columns: Indices, weights: Array) -> Array:
        """Return a combination of the kernels between some points."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class OnDemandKernels(KernelOperator):
    """Base kernels that are evaluated block by block.

    Attributes
    ----------
    evaluator : Evaluator
        The kernels on the points.
    megabytes : float
        How much the rows that are kept may take.
    dtype : numpy dtype
        Type of the rows that are kept.
    """

    evaluator: Any = field(kw_only=True)
    megabytes: float = field(kw_only=True, default=1000.0)
    dtype: Any = field(kw_only=True, default=np.float64)

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return len(self.evaluator)

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of every base kernel, of shape (n_kernels, n_samples)."""
        return np.asarray(self.evaluator.diagonals[:, self.cells.point])

    @property
    def fill(self) -> Fill:
        """The function that computes rows of a combination."""
        return self._fill

    def row_buffer(self) -> Array:
        """Return room for as many rows as may be kept."""
        n, size = self.n_samples, np.dtype(self.dtype).itemsize
        kept = int(self.megabytes * _MEGABYTE / (n * size))
        return np.empty((min(n, max(_FEWEST_ROWS, kept)), n), dtype=self.dtype)

    def combined(self, weights: Array, ridge: float, rows: Array) -> Combined:
        """Return the combination of the kernels with no row computed yet."""
        far, near, between = self.split(weights)
        none = np.empty((0, 1, 1), dtype=self.dtype)
        return Combined(
            none,
            far,
            np.flatnonzero(far),
            near,
            between,
            self.joins,
            self.cells,
            ridge,
            rows,
            np.full(self.n_samples, -1, dtype=np.intp),
            self.diagonal(far, near, between, ridge),
            none[:, 0],
            np.zeros(1, dtype=np.intp),
        )

    def _fill(self, kernel: Combined, samples: Indices) -> None:
        """Write the rows of some samples, in ascending order, over the oldest ones."""
        if len(samples) == 0:
            return
        n_slots = len(kernel.rows)
        places = (kernel.turn[0] + np.arange(len(samples))) % n_slots
        if kernel.turn[0] + len(samples) > n_slots:
            kernel.slot[np.isin(kernel.slot, places)] = -1
        values = self._evaluate(kernel, samples, slice(None))
        values[np.arange(len(samples)), samples] += kernel.ridge
        first = int(places[0])
        if places[-1] - first == len(places) - 1:
            kernel.rows[first : first + len(places)] = values
        else:
            kernel.rows[places] = values
        kernel.slot[samples] = places
        kernel.turn[0] += len(samples)

    def _evaluate(self, kernel: Combined, samples: Indices, columns: Any) -> Array:
        """Return the combination between some samples, in ascending order, and others."""
        cells, point = self.cells, self.cells.point
        others = np.arange(self.n_samples)[columns]
        if np.any(kernel.far):
            values = self.evaluator.combine(point[samples], point[others], kernel.far)
        else:
            values = np.zeros((len(samples), len(others)))
        for cell, rows in self._by_cell(samples) if len(kernel.near) else ():
            if np.any(kernel.near[cell]):
                own = slice(*np.searchsorted(others, cells.starts[cell : cell + 2]))
                some = rows.start + np.arange(rows.stop - rows.start)
                values[some, own] += self.evaluator.combine(
                    point[samples[rows]], point[others[own]], kernel.near[cell]
                )
        for B, theta in zip(kernel.joins, kernel.between, strict=True):
            if np.any(theta):
                factor = B[cells.cell[samples]][:, cells.cell[others]]
                values += factor * self.evaluator.combine(point[samples], point[others], theta)
        return values

    def block(self, kernel: Combined, where: Indices) -> Array:
        """Return some rows of a combination and the same columns."""
        K = np.empty((len(where), len(where)))
        gather_rows(kernel.rows, kernel.slot, where, K)
        rest = np.flatnonzero(kernel.slot[where] < 0)
        if len(rest):
            K[rest] = self._evaluate(kernel, where[rest], where)
            K[rest, rest] += kernel.ridge
        return K

    def add_products(self, change: Array, products: Array) -> None:
        """Add the products of every kernel with `change`, for each source."""
        n, changed = self.n_kernels, np.flatnonzero(change)
        point, cells = self.cells.point, self.cells
        if len(changed) == 0:
            return
        if self._has_all:
            products[:n] += self.evaluator.products(point[changed], point, change[changed])
        if self._has_own:
            own = products[n * self._has_all :][:n]
            for cell, rows in self._by_cell(changed):
                some, here = changed[rows], slice(*cells.starts[cell : cell + 2])
                own[:, here] += self.evaluator.products(point[some], point[here], change[some])
        if len(self.joins):
            others = products[n * (self._has_all + self._has_own) :]
            for cell, rows in self._by_cell(changed):
                some = changed[rows]
                part = self.evaluator.products(point[some], point, change[some])
                for r, B in enumerate(self.joins):
                    others[n * r : n * (r + 1)] += B[cell][cells.cell] * part

    def _by_cell(self, samples: Indices) -> Iterator[tuple[int, slice]]:
        """Yield each cell that has some of the samples, and which of them."""
        edges = np.searchsorted(samples, self.cells.starts)
        for cell, (first, last) in enumerate(itertools.pairwise(edges)):
            if last > first:
                yield cell, slice(int(first), int(last))
