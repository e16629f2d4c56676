"""Kernels that reach across tasks, held in memory or evaluated when needed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.kernels import KernelBank
from kernelhood.kernels.blocks import PointKernels
from kernelhood.operators import Cells, DenseKernels, KernelOperator, OnDemandKernels
from kernelhood.operators.frobenius import joint_gram, task_grams
from kernelhood.pipeline.joint_samples import JointSamples
from kernelhood.pipeline.problem import TaskProblem
from kernelhood.relations import TaskRelation
from kernelhood.solvers.block import Block
from kernelhood.solvers.least_squares.block import block_of
from kernelhood.solvers.neighborhood import span_rank
from kernelhood.solvers.solution import Solution
from kernelhood.task_matrices import TaskMatrices, as_task_matrices
from kernelhood.tasks import stack_rows

_MEGABYTE = 2**20
_ENOUGH = 300
_LARGE = 1000
_PART = 2000
_FEWEST = 4


class JointKernels:
    """The kernels between the samples of all tasks, held in memory or evaluated when needed.

    Parameters
    ----------
    bank : KernelBank
        The base kernels.
    problems : sequence of TaskProblem
        The tasks.
    cache_size : float
        The largest stack of kernel matrices to hold, in megabytes.
    storage : str
        Type of the numbers that are kept.
    held : bool, optional
        Whether the matrices are held; by default where they fit.
    """

    def __init__(
        self,
        bank: KernelBank,
        problems: Sequence[TaskProblem],
        cache_size: float,
        storage: str,
        held: bool | None = None,
    ) -> None:
        self.samples, self.names = JointSamples.of(problems), [one.name for one in problems]
        self.cache_size = cache_size
        self._inputs = [bank.comparable(one.inputs) for one in problems]
        self.kernels = PointKernels(bank, self.samples.points)
        self._dtype = np.dtype(storage)
        n_points = self.kernels.n_points
        if held is None:
            held = self._size(n_points, n_points) <= cache_size
        self.Ks = self._evaluated(n_points) if held else None

    def seen(self, relation: TaskRelation) -> TaskRelation:
        """Return a relation with what it has to know of the tasks' inputs; it is kept."""
        if relation.key not in self._seen:
            self._seen[relation.key] = relation.seen(self.names, self._inputs)
        return self._seen[relation.key]

    def matrices(self, relation: TaskRelation) -> TaskMatrices:
        """Return the matrices of a relation between these tasks; they are kept."""
        if relation.key not in self._matrices:
            self._matrices[relation.key] = self.seen(relation).structure(self.names)
        return self._matrices[relation.key]

    @cached_property
    def _matrices(self) -> dict[Hashable, TaskMatrices]:
        return {}

    @cached_property
    def _seen(self) -> dict[Hashable, TaskRelation]:
        return {}

    @property
    def is_large(self) -> bool:
        """Whether a part of the samples should be looked at first."""
        return self.kernels.n_points >= _LARGE

    @property
    def thinning(self) -> int:
        """Of how many samples one is looked at first; of many, a part again."""
        return max(_FEWEST, self.kernels.n_points // _PART)

    def _evaluated(self, n_points: int) -> Array:
        """Return all kernel matrices; those in single precision come block by block."""
        Ks = np.empty((len(self.kernels), n_points, n_points), dtype=self._dtype)
        if self._dtype == np.float64:
            return self.kernels.bank(self.samples.points, out=Ks)
        step = max(1, 2**22 // (len(Ks) * n_points))
        for begin in range(0, n_points, step):
            rows = slice(begin, begin + step)
            Ks[:, rows] = self.kernels.stack(rows, slice(None))
        return Ks

    def _size(self, n_rows: int, n_columns: int) -> float:
        return len(self.kernels) * n_rows * n_columns * self._dtype.itemsize / _MEGABYTE

    def operator(self, cells: Cells, matrices: TaskMatrices, separate: bool) -> KernelOperator:
        """Return the kernels on the samples of one SVM as the solvers take them."""
        if self.Ks is not None:
            return DenseKernels(cells, matrices, separate, Ks=self.Ks)
        return OnDemandKernels(
            cells,
            matrices,
            separate,
            evaluator=self.kernels,
            megabytes=self.cache_size,
            dtype=self._dtype,
        )

    def blocks(
        self,
        problems: Sequence[TaskProblem],
        intercept: str,
        matrices: TaskMatrices,
        separate: bool,
    ) -> list[Block]:
        """Return the SVMs of all tasks as one."""
        losses = self.samples.losses(problems, intercept)
        return [
            block_of(self.operator(cells, matrices, separate), loss)
            for cells, loss in zip(self.samples.cells, losses, strict=True)
        ]

    def _stack(self, rows: Indices | slice, columns: Indices | slice) -> Array:
        """Return every kernel between some points, of shape (n_kernels, n_rows, n_columns)."""
        if self.Ks is None:
            return self.kernels.stack(rows, columns)
        return np.asarray(self.Ks[:, rows][:, :, columns], dtype=np.float64)

    @cached_property
    def task_traces(self) -> Array:
        """The traces of the kernels on the samples of each task, of shape (n_tasks, n_kernels)."""
        return np.asarray(self.samples.counts @ self.kernels.diagonals.T)

    def traces(self, matrices: TaskMatrices, separate: bool) -> Array:
        """Return the traces d of the kernels of all weights of a relation."""
        parts = [B.diagonal @ self.task_traces for B in matrices]
        return np.concatenate([*parts, self.task_traces.ravel()] if separate else parts)

    def gram(self, matrices: TaskMatrices, separate: bool) -> Array:
        """Return the Frobenius products A of the kernels of all weights; they are kept."""
        key = matrices.key, separate
        if key not in self._grams:
            counts = self.samples.counts.toarray()
            A = joint_gram(self._stack, self.task_grams, counts, matrices, separate)
            self._grams[key] = A
        return self._grams[key]

    @cached_property
    def _grams(self) -> dict[tuple[bytes, bool], Array]:
        return {}

    @cached_property
    def task_grams(self) -> Array:
        """The Frobenius products G_t on the samples of each task."""
        return task_grams(self._stack, self.samples.counts.toarray())

    def rank_between(self, matrices: TaskMatrices) -> int:
        """Return the dimension of what the relation's kernels span between different tasks.

        It is seen at a few hundred points as well as at all of them.
        """
        step = -(-self.kernels.n_points // _ENOUGH)
        counts = self.samples.counts[:, ::step].toarray()
        some = np.arange(0, self.kernels.n_points, step)

        def stack_of(rows: Indices | slice, columns: Indices | slice) -> Array:
            return self._stack(some[rows], some[columns])

        apart = as_task_matrices(matrices.written() * (1.0 - np.eye(matrices.n_tasks)))
        within = np.zeros((len(counts), len(self.kernels), len(self.kernels)))
        A = joint_gram(stack_of, within, counts, apart, False)
        return span_rank(A) if np.any(A) else 0

    def cross(self, X: Sequence[Any]) -> Sequence[Array | None]:
        """Return the kernels between sets of other points and all of these, None without room."""
        ends = np.cumsum([points.shape[0] for points in X])
        if self._size(ends[-1], self.kernels.n_points) > self.cache_size:
            return [None] * len(X)
        found = self.kernels.bank(stack_rows(list(X)), self.samples.points)
        return np.split(found, ends[:-1], axis=1)

    def values(
        self, task: int, X: Any, cross: Array | None, found: Solution, matrices: TaskMatrices
    ) -> Array:
        """Return the functions of a task's SVMs at some points, one in each column."""
        n, columns, at = len(self.kernels), [], 0
        for cells in self.samples.cells:
            v = found.v[at : at + len(cells.point)]
            at += len(cells.point)
            if task not in cells.task:
                continue
            own = cells.task[cells.cell]
            parts = [
                (found.weights[n * r : n * (r + 1)], v * row[own])
                for r, row in enumerate(matrices.rows(task))
            ]
            if len(found.weights) > n * len(matrices):
                specific = found.weights[n * len(matrices) :].reshape(-1, n)[task]
                parts.append((specific, np.where(own == task, v, 0.0)))
            columns.append(sum(self._expand(X, cross, cells, *part) for part in parts))
        return np.column_stack(columns) + self.samples.intercepts(found)[task]

    def _expand(self, X: Any, cross: Array | None, cells: Cells, weights: Array, v: Array) -> Array:
        """Return the combination of kernels at the points of an SVM, summed with v."""
        at_points = np.bincount(cells.point, v, self.kernels.n_points)
        where = np.flatnonzero(at_points)
        if cross is None:
            support = self.samples.points[where]
            return self.kernels.bank.combine(X, support, weights) @ at_points[where]
        total = np.zeros(cross.shape[1])
        for m in np.flatnonzero(weights):
            total += weights[m] * (cross[m] @ at_points)
        return total
