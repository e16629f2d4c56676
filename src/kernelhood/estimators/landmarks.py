"""Kernels of low rank by landmarks: which points these are, and the kernels seen through them.

The next landmark is drawn with a probability that is proportional to what the ones before leave of
k(x, x), where k is the mean of all kernels, each scaled to a mean diagonal of one. This is
k-means++ with distances from the span of the landmarks in the place of distances from the
landmarks: Y. Chen, E. N. Epperly, J. A. Tropp and R. J. Webber, *Randomly Pivoted Cholesky*,
Communications on Pure and Applied Mathematics 78, 2025. Unlike k-means on the points it does not
depend on the units of columns that the kernels do not see.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.estimators.data import Pair, TaskProblem, TaskSolution
from kernelhood.estimators.reading import stack_rows
from kernelhood.estimators.training import JointKernels
from kernelhood.kernels import KernelBank
from kernelhood.operators import (
    Cells,
    HeldFeatures,
    KernelOperator,
    LowRankKernels,
    cells_of,
    one_cell,
)
from kernelhood.operators.choice import SHARE_OF_DOUBLES
from kernelhood.operators.gram import feature_gram, feature_task_grams
from kernelhood.relations.matrices import TaskMatrices, as_task_matrices
from kernelhood.solvers.block import Block, block_of
from kernelhood.solvers.neighborhood import span_rank
from kernelhood.solvers.problem import Solution

_MOST_LOOKED_AT = 10_000
_NOTHING_LEFT = 1e-12


def choose_landmarks(
    bank: KernelBank, points: Any, n_components: int, *, random_state: int = 0
) -> Any:
    """Return landmarks for all kernels of a bank.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    points : ndarray or CSR matrix of shape (n_points, n_features)
        Where to choose from; of more than 10,000 a random part is looked at.
    n_components : int
        How many landmarks; fewer if the points have no more to give.
    random_state : int
        The same number gives the same landmarks.

    Returns
    -------
    ndarray or CSR matrix of shape (n_landmarks, n_features)

    Examples
    --------
    >>> from kernelhood import default_bank
    >>> choose_landmarks(default_bank(), np.eye(4), 3).shape
    (3, 4)
    """
    n_points = points.shape[0]
    if n_components >= n_points:
        return points
    rng = np.random.default_rng(random_state)
    if n_points > _MOST_LOOKED_AT:
        points = points[np.sort(rng.choice(n_points, _MOST_LOOKED_AT, replace=False))]
    seen = bank.prepared(points)
    diagonals = np.array([kernel.diagonal(seen) for kernel in bank])
    sizes = diagonals.mean(axis=1)
    weights = np.where(sizes > 0.0, 1.0 / np.where(sizes > 0.0, sizes, 1.0), 0.0)
    left = weights @ diagonals
    total = left.sum()
    chosen: list[int] = []
    factor = np.zeros((n_components, len(left)))
    while len(chosen) < n_components and left.sum() > _NOTHING_LEFT * total:
        k = len(chosen)
        one = int(rng.choice(len(left), p=left / left.sum()))
        column = bank.plain.combine(seen[[one]], seen, weights)[0]
        column -= factor[:k, one] @ factor[:k]
        chosen.append(one)
        if column[one] <= _NOTHING_LEFT * total / len(left):
            left[one] = 0.0
            continue
        factor[k] = column / np.sqrt(column[one])
        left = np.maximum(left - factor[k] ** 2, 0.0)
        left[one] = 0.0
    return points[np.sort(np.array(chosen))]


#: Eigenvalues of K(Z, Z) below this share of the largest are rounding, or of no use.
_DROPPED = 1e-10
_ENTRIES_AT_ONCE = 2**21
_THINNED = 10
_MEGABYTE = 2**20


@dataclass(frozen=True)
class LandmarkMaps:
    """Landmarks with the root of every kernel between them.

    Attributes
    ----------
    bank : KernelBank
        The kernels.
    points : ndarray or CSR matrix of shape (n_landmarks, n_features)
        The landmarks, the same for all kernels and tasks.
    maps : list of ndarray of shape (n_landmarks, rank)
        For every kernel what turns its values at the landmarks into features:
        ``maps @ maps.T`` is the inverse of ``K(Z, Z)`` up to eigenvalues that are rounding.
    """

    bank: KernelBank
    points: Any
    maps: list[Array]

    @classmethod
    def at(cls, bank: KernelBank, points: Any) -> LandmarkMaps:
        """Return landmarks that stand at these points."""
        maps = []
        for K in bank(points):
            values, vectors = np.linalg.eigh(0.5 * (K + K.T))
            kept = values > _DROPPED * max(float(values[-1]), 0.0)
            maps.append(vectors[:, kept] / np.sqrt(values[kept]))
        return cls(bank, points, maps)

    @cached_property
    def starts(self) -> Indices:
        """Where the features of each kernel start, and their number."""
        return np.cumsum([0, *(one.shape[1] for one in self.maps)]).astype(np.intp)

    @property
    def rows_at_once(self) -> int:
        """For how many points all kernels are evaluated at a time."""
        return max(64, _ENTRIES_AT_ONCE // (len(self.bank) * int(self.points.shape[0])))

    def features(self, X: Any, out: AnyArray | None = None) -> AnyArray:
        """Return the features of all kernels at some points, in blocks of rows.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            The points.
        out : ndarray of shape (n, n_columns), optional
            Buffer to write to, of any precision.
        """
        found = np.empty((X.shape[0], int(self.starts[-1]))) if out is None else out
        step = self.rows_at_once
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            for K, own, first in zip(
                self.bank(X[rows], self.points), self.maps, self.starts, strict=False
            ):
                found[rows, first : first + own.shape[1]] = K @ own
        return found

    def some(self, kernels: Indices) -> LandmarkMaps:
        """Return the same landmarks for some of the kernels."""
        return LandmarkMaps(self.bank.some(kernels), self.points, [self.maps[m] for m in kernels])


def kept_part(kept: Array, whole: Array) -> Array:
    """Return which part of the traces of kernels is kept; all of those that are zero."""
    return np.where(whole > 0.0, kept / np.where(whole > 0.0, whole, 1.0), 1.0)


def type_that_fits(
    landmarks: LandmarkMaps, n_points: int, cache_size: float, storage: str
) -> str | None:
    """Return in which precision the features of points are held; None if they do not fit.

    What takes more than a quarter of the cache in double precision is held in single precision:
    memory that is half as large is read in half the time, and sums are of double precision anyway.

    Parameters
    ----------
    landmarks : LandmarkMaps
        The landmarks.
    n_points : int
        How many points there are.
    cache_size : float
        Megabytes.
    storage : str
        The type that is wanted.
    """
    numbers = n_points * float(landmarks.starts[-1]) / _MEGABYTE
    rooms = (storage, SHARE_OF_DOUBLES * cache_size), ("float32", cache_size)
    return next((t for t, room in rooms if numbers * np.dtype(t).itemsize <= room), None)


class PointFeatures:
    """The features of points that are named by their numbers, held or evaluated when needed.

    Parameters
    ----------
    landmarks : LandmarkMaps
        The landmarks.
    points : ndarray or CSR matrix of shape (n_points, n_features)
        The points.
    dtype : numpy dtype, or None
        Type of the features that are held; None evaluates them whenever they are needed.
    """

    def __init__(self, landmarks: LandmarkMaps, points: Any, dtype: Any) -> None:
        self.landmarks, self.points = landmarks, points
        self._held: HeldFeatures | None = None
        if dtype is not None:
            room = np.empty((points.shape[0], int(self.starts[-1])), dtype=dtype)
            self._held = HeldFeatures(landmarks.features(points, room), self.starts)
        self._parts: dict[bytes, LandmarkMaps] = {}

    @property
    def starts(self) -> Indices:
        """Where the features of each kernel start, and their number."""
        return self.landmarks.starts

    def rows(self, points: Indices, columns: Indices | slice) -> Array:
        """Return some features at some points, in double precision."""
        if self._held is None:
            return self._evaluated(points, columns)
        return self._held.rows(points, columns)

    def as_held(self, points: Indices) -> AnyArray:
        """Return all features at some points, in the precision that they have."""
        if self._held is None:
            return self._evaluated(points, slice(None))
        return self._held.as_held(points)

    def _evaluated(self, points: Indices, columns: Indices | slice) -> Array:
        """Return features that are not held; only kernels that are asked for are evaluated."""
        if isinstance(columns, slice):
            return self.landmarks.features(self.points[points])[:, columns]
        kernel = np.searchsorted(self.starts, columns, side="right") - 1
        kernels = np.unique(kernel)
        key = kernels.tobytes()
        if key not in self._parts:
            self._parts[key] = self.landmarks.some(kernels)
        some = self._parts[key]
        place = np.searchsorted(kernels, kernel)
        found = some.features(self.points[points])
        return np.asarray(found[:, some.starts[place] + columns - self.starts[kernel]])


#: Functions with fewer points than this are faster to sum by features than to bring to landmarks.
_ROWS_A_FUNCTION = 16


@dataclass(frozen=True)
class LandmarkExpansion:
    """Functions of all tasks that landmarks carry.

    Attributes
    ----------
    landmarks : LandmarkMaps
        The landmarks, for the kernels that have a weight anywhere.
    kernels : ndarray of int
        These kernels.
    sums : ndarray of shape (n_components, n_tasks, n_columns)
        ``sum_i v_i phi(x_i)`` over the samples of every task: what its samples add to functions.
    total : ndarray of shape (n_components, n_columns)
        The same for all tasks together.
    approximation : ndarray of shape (n_kernels,)
        The part of the trace of every kernel that its features keep.
    """

    landmarks: LandmarkMaps
    kernels: Indices
    sums: Array
    total: Array
    approximation: Array

    def related(self, rows: Array, weights: Array) -> Array:
        """Return the coefficients of what all samples add to a function.

        Parameters
        ----------
        rows : ndarray of shape (n_matrices, n_tasks)
            How the function's task is joined to the others by the relation's matrices.
        weights : ndarray of shape (n_matrices, n_kernels)
            The weights of all kernels under each matrix.
        """
        found = np.zeros_like(self.total)
        for row, theta in zip(rows, weights, strict=True):
            if not np.any(theta):
                continue
            if np.all(row == row[0]):
                part = row[0] * self.total
            else:
                where = np.flatnonzero(row)
                part = np.tensordot(row[where], self.sums[:, where], axes=(0, 1))
            found += part * self._by_column(theta)
        return found

    def of_tasks(
        self, tasks: Indices, matrices: TaskMatrices, weights: Any, own: Array | None
    ) -> Array:
        """Return the coefficients of the functions of some tasks.

        Parameters
        ----------
        tasks : ndarray of int
            The tasks.
        matrices : TaskMatrices
            How all tasks relate.
        weights : ndarray of shape (n_matrices, n_kernels)
            The weights of all kernels under each matrix.
        own : ndarray of shape (len(tasks), n_kernels), or None
            The weights that these tasks have for themselves.

        Returns
        -------
        ndarray of shape (len(tasks), n_components, n_columns)
        """
        found = np.zeros((len(tasks), *self.total.shape))
        for k, sums in enumerate(self.sums):
            for B, theta in zip(matrices, weights, strict=True):
                if np.any(theta):
                    found[:, k] += B.times(sums, tasks) * self._by_column(theta)
            if own is not None:
                found[:, k] += sums[tasks] * self._by_column(own)
        return found

    def _by_column(self, weights: Array) -> Array:
        """Return the weights of kernels, along the last axis, for each of their columns."""
        return np.repeat(weights[..., self.kernels], np.diff(self.landmarks.starts), axis=-1)

    def values(self, X: Any, coefficients: Array, which: Indices) -> Array:
        """Return functions at points in blocks, one function at each point.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            The points.
        coefficients : ndarray of shape (n_functions, n_components, n_columns)
            The functions.
        which : ndarray of int, shape (n,)
            The function of every point, ascending.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        found = np.zeros((X.shape[0], len(self.total)))
        if not len(self.kernels):
            return found
        few = len(coefficients) * _ROWS_A_FUNCTION <= X.shape[0]
        step = self.landmarks.rows_at_once
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, min(begin + step, X.shape[0]))
            if few:
                found[rows] = self._few_functions(X[rows], coefficients, which[rows])
            else:
                Phi = self.landmarks.features(X[rows])
                np.einsum("nd,nkd->nk", Phi, coefficients[which[rows]], out=found[rows])
        return found

    def _few_functions(self, X: Any, coefficients: Array, which: Indices) -> Array:
        """Return few functions at many points: they are brought to the landmarks first."""
        found = np.zeros((X.shape[0], len(self.total)))
        Ks = self.landmarks.bank(X, self.landmarks.points)
        numbers, starts = np.unique(which, return_index=True)
        for f, a, b in zip(numbers, starts, [*starts[1:], len(which)], strict=True):
            for K, at in zip(Ks, self._at_landmarks(coefficients[f]), strict=True):
                found[a:b] += K[a:b] @ at
        return found

    def _at_landmarks(self, coefficients: Array) -> list[Array]:
        """Return coefficients as those of every kernel at the landmarks, a column a function."""
        parts = np.split(coefficients, self.landmarks.starts[1:-1], axis=1)
        return [own @ part.T for own, part in zip(self.landmarks.maps, parts, strict=True)]


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
        double precision are held in single precision; if that does not fit, they are evaluated
        again whenever they are needed.
    storage : str
        Type of the features that are held, if they fit.
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
        """Return the features of sets of other points, None if they do not fit."""
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
        Type of the features that are held, if they fit.
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
