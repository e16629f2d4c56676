"""Kernels of low rank on the samples of a task on its own."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.landmarks import (
    LandmarkExpansion,
    Landmarks,
    PointFeatures,
    kept_part,
    type_that_fits,
)
from kernelhood.operators import LowRankKernels, cells_of, one_cell
from kernelhood.operators.feature_gram import feature_task_grams
from kernelhood.pipeline.problem import Pair, TaskProblem, TaskSolution
from kernelhood.solvers.block import Block
from kernelhood.solvers.least_squares.block import block_of
from kernelhood.solvers.solution import Solution


class TaskLowRank:
    """The kernels on the training points of one task, seen through landmarks.

    Parameters
    ----------
    landmarks : Landmarks
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
        self, landmarks: Landmarks, X: Any, sample_weight: Array, cache_size: float, storage: str
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
