"""A family whose kernels are too many and too large to hold: they are evaluated when needed.

What is kept is the room for the rows of one combination; of these only the rows of samples that
take part in a step are ever written. Products and blocks are evaluated in slices of samples.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.solvers.combined import CombinedKernel
from kernelhood.solvers.family import Fill, KernelFamily


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
class EvaluatedFamily(KernelFamily):
    """Base kernels that are evaluated block by block.

    Attributes
    ----------
    evaluator : Evaluator
        The kernels on the points.
    """

    evaluator: Any = None

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return len(self.evaluator)

    @property
    def fill(self) -> Fill:
        """The function that computes rows of a combination."""
        return self._fill

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of every base kernel, of shape (n_kernels, n_samples)."""
        return np.asarray(self.evaluator.diagonals[:, self.layout.point])

    def kernel(self, weights: Array, ridge: float, rows: Array | None = None) -> CombinedKernel:
        """Return the combination of the kernels, with `rows` as room for its rows."""
        shared, specific = self.split(weights)
        return CombinedKernel(
            self.Ks,
            shared,
            specific,
            self.layout,
            ridge,
            self.room() if rows is None else rows,
            np.zeros(self.n_samples, dtype=np.bool_),
            self.diagonal(shared, specific, ridge),
            self.Ks[0:0, 0],
            np.flatnonzero(shared),
        )

    def _fill(self, kernel: CombinedKernel, samples: Indices) -> None:
        """Write the rows of some samples, in ascending order."""
        rows, layout = kernel.rows, self.layout
        rows[samples] = 0.0
        if np.any(kernel.shared):
            for some, first, last in self._by_component(samples):
                columns = layout.point[first:last]
                values = self.evaluator.combine(layout.point[some], columns, kernel.shared)
                rows[some, first:last] = values
        for some, task, first, last in self._by_cell(samples):
            if np.any(kernel.specific[task]):
                columns = layout.point[first:last]
                values = self.evaluator.combine(layout.point[some], columns, kernel.specific[task])
                rows[some, first:last] += values
        rows[samples, samples] += kernel.ridge
        kernel.ready[samples] = True

    def add_products(self, change: Array, products: Array) -> None:
        """Add the products of every kernel with `change`, over the component or the cell."""
        n_kernels, changed = self.n_kernels, np.flatnonzero(change)
        if self.shares:
            for some, first, last in self._by_component(changed):
                products[:n_kernels, first:last] += self._products(some, first, last, change)
        if self.specifics:
            for some, _, first, last in self._by_cell(changed):
                products[-n_kernels:, first:last] += self._products(some, first, last, change)

    def _products(self, some: Indices, first: int, last: int, change: Array) -> Array:
        """Return the products of every kernel with the change of some samples, over a range."""
        point = self.layout.point
        return self.evaluator.products(point[some], point[first:last], change[some])

    def _by_component(self, samples: Indices) -> Iterator[tuple[Indices, int, int]]:
        """Yield the samples of each component, and where it starts and ends."""
        starts = self.layout.component_starts
        for first, last in itertools.pairwise(starts):
            some = samples[slice(*np.searchsorted(samples, [first, last]))]
            if len(some):
                yield some, int(first), int(last)

    def _by_cell(self, samples: Indices) -> Iterator[tuple[Indices, int, int, int]]:
        """Yield the samples of each cell, its task, and where it starts and ends."""
        starts = self.layout.starts
        for cell, task in enumerate(self.layout.task):
            first, last = starts[cell], starts[cell + 1]
            some = samples[slice(*np.searchsorted(samples, [first, last]))]
            if len(some):
                yield some, int(task), int(first), int(last)
