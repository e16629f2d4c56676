"""The base kernels of one SVM and the weights they carry.

Between samples of a component, kernel m has the shared weight mu^m; between samples of a cell the
specific weight lambda_t^m of its task comes on top. All weights form one vector,
[mu; lambda_1; ...; lambda_T]; either kind may be absent. A single task has only the shared kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.solvers.combined import CombinedKernel, add_products, with_room
from kernelhood.solvers.layout import Layout, one_task

Fill = Callable[[CombinedKernel, Indices], None]


@dataclass(frozen=True)
class KernelFamily:
    """Base kernels whose matrices are in memory.

    Attributes
    ----------
    Ks : ndarray of shape (n_kernels, n_points, n_points)
        Base kernel matrices.
    layout : Layout
        Where the samples stand.
    shares, specifics : bool
        Which kinds of weights there are.
    """

    Ks: Array
    layout: Layout
    shares: bool = True
    specifics: bool = False

    @property
    def fill(self) -> Fill | None:
        """The function that computes rows of a combination, where no matrices are in memory."""
        return None

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return len(self.Ks)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.layout.point)

    @property
    def n_weights(self) -> int:
        """The number of weights."""
        return self.n_kernels * (self.shares + self.specifics * self.layout.n_tasks)

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of every base kernel, of shape (n_kernels, n_samples)."""
        return np.einsum("mii->mi", self.Ks)[:, self.layout.point].astype(np.float64, copy=False)

    def split(self, weights: Array) -> tuple[Array, Array]:
        """Return the shared weights and those of every task, zeros for a kind that is absent."""
        n_kernels, n_tasks = self.n_kernels, self.layout.n_tasks
        shared = weights[:n_kernels] if self.shares else np.zeros(n_kernels)
        if not self.specifics:
            return shared, np.zeros((n_tasks, n_kernels))
        return shared, weights[n_kernels * self.shares :].reshape(n_tasks, n_kernels)

    def room(self) -> Array:
        """Return room for the rows of a combination, as exact as the kernel matrices are."""
        return np.empty((self.n_samples, self.n_samples), dtype=self.Ks.dtype)

    def kernel(self, weights: Array, ridge: float, rows: Array | None = None) -> CombinedKernel:
        """Return the combination of the kernels, with `rows` as room for its rows."""
        shared, specific = self.split(weights)
        diagonal = self.diagonal(shared, specific, ridge)
        return with_room(self.Ks, shared, specific, self.layout, ridge, diagonal, rows)

    def diagonal(self, shared: Array, specific: Array, ridge: float) -> Array:
        """Return the diagonal of the combination of the kernels."""
        diagonal = ridge + shared @ self.diagonals
        if self.specifics:
            of_sample = specific[self.layout.task[self.layout.cell]]
            diagonal += np.einsum("im,mi->i", of_sample, self.diagonals)
        return np.asarray(diagonal)

    def no_products(self) -> Array:
        """Return the products of the zero vector: a row for each kernel and kind of weights."""
        return np.zeros((self.n_kernels * (self.shares + self.specifics), self.n_samples))

    def add_products(self, change: Array, products: Array) -> None:
        """Add the products of every kernel with `change`, over the component or the cell."""
        if self.layout.plain and len(self.layout.task) == 1:
            add_products(self.Ks, change, products)
            return
        if self.shares:
            _add_component_products(self.Ks, self.layout, change, products[: self.n_kernels])
        if self.specifics:
            _add_cell_products(self.Ks, self.layout, change, products[-self.n_kernels :])

    def apply(self, weights: Array, products: Array) -> Array:
        """Return the product with the combination of the kernels."""
        if not self.specifics:
            return np.asarray(weights @ products)
        shared, specific = self.split(weights)
        of_sample = specific[self.layout.task[self.layout.cell]]
        Kv = np.einsum("im,mi->i", of_sample, products[-self.n_kernels :])
        return Kv + shared @ products[: self.n_kernels] if self.shares else Kv

    def curvatures(self, products: Array, v: Array) -> Array:
        """Return ``1/2 v'K v`` for the kernel of each weight."""
        shared = 0.5 * (products[: self.n_kernels] @ v)
        if not self.specifics:
            return np.asarray(shared)
        by_cell = np.add.reduceat(products[-self.n_kernels :] * v, self.layout.starts[:-1], axis=1)
        specific = np.zeros((self.layout.n_tasks, self.n_kernels))
        np.add.at(specific, self.layout.task, 0.5 * by_cell.T)
        return np.concatenate([shared, specific.ravel()]) if self.shares else specific.ravel()

    def columns(self, products: Array, where: Indices) -> Array:
        """Return the products at some samples with a column for each weight."""
        chosen = products[:, where].T
        if not self.specifics:
            return np.asarray(chosen)
        task = self.layout.task[self.layout.cell[where]]
        n_tasks = self.layout.n_tasks
        specific = np.zeros((len(where), n_tasks, self.n_kernels))
        specific[np.arange(len(where)), task] = chosen[:, -self.n_kernels :]
        flat = specific.reshape(len(where), -1)
        return np.hstack([chosen[:, : self.n_kernels], flat]) if self.shares else flat


def as_family(kernels: Any) -> Any:
    """Return the family of a single task for a stack of matrices; a family stays what it is."""
    if isinstance(kernels, np.ndarray):
        return KernelFamily(kernels, one_task(kernels.shape[1]))
    return kernels


@compiled
def _add_component_products(Ks: Array, layout: Layout, change: Array, products: Array) -> None:
    """Add ``K^m change`` over the component of each sample, gathered by points first."""
    n_points = Ks.shape[1]
    cell = 0
    while cell < layout.task.shape[0]:
        first, last = layout.reach[cell]
        at_points = np.zeros(n_points)
        for i in range(first, last):
            at_points[layout.point[i]] += change[i]
        for m in range(Ks.shape[0]):
            total = np.zeros(n_points)
            for p in range(n_points):
                if at_points[p] != 0.0:
                    row = Ks[m, p]
                    for q in range(n_points):
                        total[q] += at_points[p] * row[q]
            for i in range(first, last):
                products[m, i] += total[layout.point[i]]
        cell = np.searchsorted(layout.starts, last)


@compiled
def _add_cell_products(Ks: Array, layout: Layout, change: Array, products: Array) -> None:
    """Add ``K^m change`` over the cell of each sample."""
    for m in range(Ks.shape[0]):
        for i in range(change.shape[0]):
            if change[i] != 0.0:
                row, cell = Ks[m, layout.point[i]], layout.cell[i]
                for j in range(layout.starts[cell], layout.starts[cell + 1]):
                    products[m, j] += change[i] * row[layout.point[j]]
