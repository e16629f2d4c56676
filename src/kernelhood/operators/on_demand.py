"""Base kernels that are too many and too large to hold: they are evaluated when needed.

What is kept are rows of one combination, as many as fit; products and blocks are evaluated in
slices of samples. No array of samples by samples exists.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.operators.base import ALL, OWN, Combined, Fill, KernelOperator, gather_rows
from kernelhood.operators.dense import add_sources, add_weighted, add_within

_FEWEST_ROWS = 1024
_MEGABYTE = 2**20
#: Numbers that are worked on at a time, and samples of small cells.
_AT_ONCE = 2**19
_TOGETHER = 256


@dataclass(frozen=True)
class OnDemandKernels(KernelOperator):
    """Base kernels that are evaluated block by block.

    Attributes
    ----------
    evaluator : PointKernels
        The kernels between points that are named by their numbers.
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
        """Return a buffer for as many rows as may be kept."""
        kept = rows_that_fit(self.n_samples, self.megabytes, self.dtype)
        return np.empty((kept, self.n_samples), dtype=self.dtype)

    @property
    def stacked(self) -> AnyArray:
        """No matrices."""
        return np.empty((0, 1), dtype=self.dtype)

    def _fill(self, kernel: Combined, samples: Indices) -> None:
        """Write the rows of some samples, in ascending order, over the oldest ones."""
        if len(samples) == 0:
            return
        n_slots = len(kernel.rows)
        places = (kernel.turn[0] + np.arange(len(samples))) % n_slots
        if kernel.turn[0] + len(samples) > n_slots:
            kernel.slot[np.isin(kernel.slot, places)] = -1
        first, every = int(places[0]), np.arange(self.n_samples)
        aside = places[-1] - first != len(places) - 1 or kernel.rows.dtype != np.float64
        room = kernel.rows[first : first + len(samples)]
        values = np.empty((len(samples), self.n_samples)) if aside else room
        self._evaluate(kernel, samples, every, values)
        values[np.arange(len(samples)), samples] += kernel.ridge
        if aside:
            kernel.rows[places] = values
        kernel.slot[samples] = places
        kernel.turn[0] += len(samples)

    def _evaluate(self, kernel: Combined, samples: Indices, others: Indices, out: Array) -> None:
        """Write the combination between some samples and others, both ascending, into `out`."""
        point, out[:] = self.cells.point, 0.0
        used = np.flatnonzero(kernel.between.any(axis=1))
        if len(used):
            self._add_joined(kernel, used, samples, others, out)
        elif kernel.far.any():
            weights = kernel.far[None, :, None]
            self.evaluator.combinations(point[samples], point[others], weights, out=out[None])
        if kernel.near.any():
            self._add_near(kernel, samples, others, out)

    def _add_joined(
        self, kernel: Combined, used: Indices, samples: Indices, others: Indices, out: Array
    ) -> None:
        """Add the far weights and those of some matrices, a few rows at a time."""
        cell, point = self.cells.cell, self.cells.point
        weights = np.concatenate([kernel.far[None], kernel.between[used]])[:, :, None]
        step = max(1, _AT_ONCE // (len(others) * len(weights)))
        for start in range(0, len(samples), step):
            some = samples[start : start + step]
            parts = self.evaluator.combinations(point[some], point[others], weights)
            add_weighted(parts, kernel.joins, used, cell[some], cell[others], out[start:])

    def _add_near(self, kernel: Combined, samples: Indices, others: Indices, out: Array) -> None:
        """Add the weights within cells."""
        cell, point = self.cells.cell, self.cells.point
        for rows, _, own in self._by_cells(samples):
            at = np.searchsorted(others, own)
            at = at[np.take(others, at, mode="clip") == own]
            weights = kernel.near[cell[samples[rows]]].T[None]
            if len(at) and weights.any():
                columns = others[at]
                part = self.evaluator.combinations(point[samples[rows]], point[columns], weights)
                add_within(part[0], cell[samples[rows]], cell[columns], at, out[rows])

    def block(self, kernel: Combined, where: Indices) -> Array:
        """Return some rows of a combination and the same columns."""
        K = np.empty((len(where), len(where)))
        gather_rows(kernel.rows, kernel.slot, where, K)
        rest = np.flatnonzero(kernel.slot[where] < 0)
        if len(rest):
            values = np.empty((len(rest), len(where)))
            self._evaluate(kernel, where[rest], where, values)
            K[rest] = values
            K[rest, rest] += kernel.ridge
        return K

    def add_products(self, change: Array, products: Array) -> None:
        """Add the products of every kernel with `change`, for each source."""
        changed, point = np.flatnonzero(change), self.cells.point
        if len(changed) == 0:
            return
        if len(self.joins):
            self._add_to_all_sources(change, changed, products)
            return
        if self._has_all:
            products[self._rows_of(ALL)] += self.evaluator.products(
                point[changed], point, change[changed]
            )
        if self._has_own:
            self._add_own(change, changed, products[self._rows_of(OWN)])

    def _add_own(self, change: Array, changed: Indices, products: Array) -> None:
        """Add the products over the cell of each sample, those of several small cells together."""
        point, cell = self.cells.point, self.cells.cell
        for rows, members, own in self._by_cells(changed):
            some = changed[rows]
            group = np.searchsorted(members, cell[some])
            parts = self.evaluator.products(point[some], point[own], change[some], group)
            at = np.searchsorted(members, cell[own])
            products[:, own] += parts[at, :, np.arange(len(own))].T

    def _add_to_all_sources(self, change: Array, changed: Indices, products: Array) -> None:
        """Add the products with each cell, which make up those over all sources."""
        point, cell = self.cells.point, self.cells.cell
        members, group = np.unique(cell[changed], return_inverse=True)
        step = max(1, _AT_ONCE // (self.n_kernels * self.n_samples))
        edges = np.searchsorted(group, np.arange(0, len(members) + step, step))
        for first, (begin, end) in zip(
            range(0, len(members), step), itertools.pairwise(edges), strict=True
        ):
            some = changed[begin:end]
            parts = self.evaluator.products(
                point[some], point, change[some], group[begin:end] - first
            )
            which = members[first : first + step]
            add_sources(
                parts, which, self.cells, self.joins, self._has_all, self._has_own, products
            )

    def _by_cells(self, samples: Indices) -> Iterator[tuple[slice, Indices, Indices]]:
        """Yield some of the samples, their cells, and all samples of these cells.

        Small cells come several at a time. All are in ascending order.
        """
        members, first = np.unique(self.cells.cell[samples], return_index=True)
        starts, sizes = self.cells.starts[members], np.diff(self.cells.starts)[members]
        ends = np.cumsum(sizes)
        batch = (ends - sizes) // _TOGETHER
        cuts = np.flatnonzero(np.diff(batch, prepend=-1))
        for a, b in itertools.pairwise([*cuts, len(members)]):
            last = first[b] if b < len(members) else len(samples)
            before = np.repeat(starts[a:b] - (ends - sizes)[a:b] + (ends - sizes)[a], sizes[a:b])
            own = before + np.arange(len(before))
            yield slice(int(first[a]), int(last)), members[a:b], own


def rows_that_fit(n_samples: int, megabytes: float, dtype: Any) -> int:
    """Return how many rows of a matrix between all samples are kept at a time."""
    kept = int(megabytes * _MEGABYTE / (n_samples * np.dtype(dtype).itemsize))
    return min(n_samples, max(_FEWEST_ROWS, kept))
