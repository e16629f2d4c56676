"""Kernels of low rank between the samples of all tasks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.estimators.data import Pair, TaskProblem, TaskSolution
from kernelhood.estimators.landmarks import (
    LandmarkExpansion,
    LandmarkMaps,
    PointFeatures,
    kept_part,
    type_that_fits,
)
from kernelhood.estimators.reading import stack_rows
from kernelhood.estimators.training import JointKernels
from kernelhood.operators import Cells, KernelOperator, LowRankKernels, cells_of, one_cell
from kernelhood.operators.gram import feature_gram, feature_task_grams
from kernelhood.relations.matrices import TaskMatrices, as_task_matrices
from kernelhood.solvers.block import Block, block_of
from kernelhood.solvers.neighborhood import span_rank
from kernelhood.solvers.problem import Solution

_MEGABYTE = 2**20
_THINNED = 10


class JointLowRank(JointKernels):
    """The kernels between the samples of all tasks, seen through landmarks.

    Parameters
    ----------
    landmarks : LandmarkMaps
        The landmarks of all kernels.
    problems : sequence of TaskProblem
        The tasks.
    cache_size : float
        The most that features may take, in megabytes. Those that take more than a quarter of it in
        double precision are held in single precision; where that does not fit, they are evaluated
        again whenever they are needed.
    storage : str
        Type of the features that are held, where they fit.
    """

    def __init__(
        self,
        landmarks: LandmarkMaps,
        problems: Sequence[TaskProblem],
        cache_size: float,
        storage: str,
    ) -> None:
        super().__init__(landmarks.bank, problems, cache_size, storage, held=False)
        self.landmarks = landmarks
        dtype = type_that_fits(landmarks, self.kernels.n_points, cache_size, storage)
        self.features = PointFeatures(landmarks, self.samples.points, dtype)

    @cached_property
    def _samples_by_task(self) -> tuple[LowRankKernels, Array]:
        """Every point of every task once, in the order of tasks, and how often it counts."""
        counts = self.samples.counts
        sizes = np.diff(counts.indptr)
        cells = cells_of(counts.indices.astype(np.intp), sizes, np.arange(len(sizes)))
        return LowRankKernels(cells, features=self.features), counts.data

    @property
    def held_as(self) -> str:
        """How the kernels are held."""
        return "landmarks"

    @property
    def thinning(self) -> int:
        """Of how many samples one is looked at first; that part is thinned again."""
        return min(_THINNED, super().thinning)

    def operator(self, cells: Cells, matrices: TaskMatrices, separate: bool) -> KernelOperator:
        """Return the kernels on the samples of one SVM as the solvers take them."""
        return LowRankKernels(
            cells, matrices, separate, features=self.features, megabytes=self.cache_size
        )

    @cached_property
    def approximation(self) -> Array:
        """The part of the trace of every kernel that landmarks keep, of shape (n_kernels,)."""
        points, counts = self._samples_by_task
        return kept_part(points.diagonals @ counts, self.task_traces.sum(axis=0))

    @cached_property
    def task_grams(self) -> Array:
        """The Frobenius products G_t on the samples of each task."""
        return feature_task_grams(*self._samples_by_task)

    def gram(self, matrices: TaskMatrices, separate: bool) -> Array:
        """Return the Frobenius products A of the kernels of all weights; they are kept."""
        key = matrices.key, separate
        if key not in self._grams:
            known = *self._samples_by_task, self.task_grams
            self._grams[key] = feature_gram(*known, matrices, separate)
        return self._grams[key]

    def rank_between(self, matrices: TaskMatrices) -> int:
        """Return the dimension of what the relation's kernels span between different tasks."""
        apart = as_task_matrices(matrices.written() * (1.0 - np.eye(matrices.n_tasks)))
        known = *self._samples_by_task, np.zeros_like(self.task_grams)
        A = feature_gram(*known, apart, False)
        return span_rank(A) if np.any(A) else 0

    def cross(self, X: Sequence[Any]) -> Sequence[Array | None]:
        """Return the features of sets of other points, None without room."""
        ends = np.cumsum([points.shape[0] for points in X])
        if ends[-1] * float(self.landmarks.starts[-1]) * 8 / _MEGABYTE > self.cache_size:
            return [None] * len(X)
        return np.split(np.asarray(self.landmarks.features(stack_rows(list(X)))), ends[:-1])

    def expansion(self, found: Solution) -> LandmarkExpansion:
        """Return what is kept of a solution."""
        n, n_tasks = len(self.kernels), len(self.names)
        kernels = np.flatnonzero(found.weights.reshape(-1, n).any(axis=0))
        some = self.landmarks.some(kernels) if len(kernels) else self.landmarks
        kept = np.isin(self._kernel_of_feature, kernels)
        sums = self._sums(found, kept, n_tasks)
        return LandmarkExpansion(some, kernels, sums, sums.sum(axis=1), self.approximation)

    @cached_property
    def _kernel_of_feature(self) -> Array:
        starts = self.landmarks.starts
        return np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    def _sums(self, found: Solution, kept: Flags, n_tasks: int) -> Array:
        """Return the sums of every task's features under each dual vector."""
        sums, at = np.zeros((len(self.samples.cells), n_tasks, int(kept.sum()))), 0
        for number, cells in enumerate(self.samples.cells):
            v = found.v[at : at + len(cells.point)]
            at += len(cells.point)
            operator = LowRankKernels(cells, features=self.features)
            sums[number, cells.task] = operator.cell_sums(v)[:, kept]
        return sums

    def values(
        self, task: int, X: Any, cross: Array | None, found: Solution, matrices: TaskMatrices
    ) -> Array:
        """Return the functions of a task's SVMs at some points, one in each column."""
        n = len(self.kernels)
        kept = self._expansion_of(found)
        by_matrix = found.weights[: n * len(matrices)].reshape(-1, n)
        own = found.weights[n * len(matrices) :].reshape(-1, n)
        only = np.array([task])
        coefficients = kept.of_tasks(only, matrices, by_matrix, own[only] if len(own) else None)[0]
        mine = [k for k, cells in enumerate(self.samples.cells) if task in cells.task]
        if cross is None:
            values = kept.values(X, coefficients[None], np.zeros(X.shape[0], dtype=np.intp))
        else:
            used = np.isin(self._kernel_of_feature, kept.kernels)
            values = cross[:, used] @ coefficients.T
        return values[:, mine] + self.samples.intercepts(found)[task]

    def _expansion_of(self, found: Solution) -> LandmarkExpansion:
        """Return the expansion of the last solution that was asked for, once for all tasks."""
        if self._last is None or self._last[0] is not found.v:
            self._last = found.v, self.expansion(found)
        return self._last[1]

    _last: tuple[Array, LandmarkExpansion] | None = None


class TaskLowRank:
    """The kernels on the training points of one task, seen through landmarks.

    Parameters
    ----------
    landmarks : LandmarkMaps
        The landmarks of all tasks.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The task's points.
    sample_weight : ndarray of shape (n_samples,)
        How often each counts.
    cache_size : float
        The most that features may take, in megabytes.
    storage : str
        Type of the features that are held, where they fit.
    """

    def __init__(
        self, landmarks: LandmarkMaps, X: Any, sample_weight: Array, cache_size: float, storage: str
    ) -> None:
        self.landmarks, self.X, self.sample_weight = landmarks, X, sample_weight
        self.bank, self.cache_size = landmarks.bank, cache_size
        #: What a method wants to keep for other models with the same kernels.
        self.kept: dict[Hashable, Any] = {}
        dtype = type_that_fits(landmarks, X.shape[0], cache_size, storage)
        self.features = PointFeatures(landmarks, X, dtype)

    @cached_property
    def _samples(self) -> LowRankKernels:
        return LowRankKernels(one_cell(len(self.sample_weight)), features=self.features)

    @cached_property
    def gram(self) -> Array:
        """The Frobenius products G of the kernels."""
        return np.asarray(feature_task_grams(self._samples, self.sample_weight)[0])

    @cached_property
    def traces(self) -> Array:
        """The traces d of the kernels themselves, which a price is paid for."""
        seen = self.bank.prepared(self.X)
        return np.array([kernel.diagonal(seen) @ self.sample_weight for kernel in self.bank])

    @property
    def kept_traces(self) -> Array:
        """The traces of what landmarks keep of the kernels."""
        return np.asarray(self._samples.diagonals @ self.sample_weight)

    def operator(self, pair: Pair) -> LowRankKernels:
        """Return the kernels on the samples of one SVM."""
        size, only = np.array([len(pair.sample)]), np.zeros(1, dtype=np.intp)
        cells = cells_of(pair.sample, size, only)
        return LowRankKernels(cells, features=self.features, megabytes=self.cache_size)

    def blocks(self, problem: TaskProblem) -> list[Block]:
        """Return the task's SVMs."""
        return [block_of(self.operator(pair), pair.loss) for pair in problem.pairs]

    def cross(self, X: Any) -> Array:
        """Return the features of other points, of shape (n_points, n_columns)."""
        return np.asarray(self.landmarks.features(X))

    def values(self, features: Array, problem: TaskProblem, found: Solution) -> Array:
        """Return the task's functions at points with these features, one in each column."""
        by_column = np.repeat(found.weights, np.diff(self.landmarks.starts))
        coefficients = self.sums(problem, found.v) * by_column
        return np.asarray(features @ coefficients.T + found.intercepts)

    def sums(self, problem: TaskProblem, v: Array) -> Array:
        """Return the sums of features under the dual vector of each SVM, a row for each."""
        coefficients = problem.by_pair(v)
        return np.concatenate([self._samples.cell_sums(own) for own in coefficients])


def expansion_of_tasks(
    kernels: Sequence[TaskLowRank], problems: Sequence[TaskProblem], solved: Sequence[TaskSolution]
) -> LandmarkExpansion:
    """Return what is kept of tasks that were solved on their own.

    Parameters
    ----------
    kernels, problems, solved
        The tasks.
    """
    landmarks = kernels[0].landmarks
    used = np.any([one.solution.weights > 0.0 for one in solved], axis=0)
    numbers = np.flatnonzero(used)
    columns = np.repeat(used, np.diff(landmarks.starts))
    most = max(len(problem.pairs) for problem in problems)
    sums = np.zeros((most, len(problems), int(columns.sum())))
    for t, (own, problem, one) in enumerate(zip(kernels, problems, solved, strict=True)):
        sums[: len(problem.pairs), t] = own.sums(problem, one.solution.v)[:, columns]
    kept, whole = (
        np.sum([getattr(own, name) for own in kernels], axis=0)
        for name in ("kept_traces", "traces")
    )
    share = kept_part(kept, whole)
    some = landmarks.some(numbers) if len(numbers) else landmarks
    return LandmarkExpansion(some, numbers, sums, sums.sum(axis=1), share)
