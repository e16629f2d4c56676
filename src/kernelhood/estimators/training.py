"""The base kernels of a task on its own: evaluated once, for a fit or for a whole path."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.data import Pair, TaskProblem
from kernelhood.estimators.reading import stack_rows
from kernelhood.kernels import KernelBank
from kernelhood.kernels.bank import PointKernels
from kernelhood.losses import SampleLoss, joined
from kernelhood.operators import (
    Cells,
    DenseKernels,
    KernelOperator,
    OnDemandKernels,
    cells_of,
    one_task,
)
from kernelhood.operators.gram import frobenius_gram, joint_gram, task_grams
from kernelhood.penalties import Fixed
from kernelhood.relations import TaskRelation
from kernelhood.relations.matrices import TaskMatrices, as_task_matrices
from kernelhood.solvers.block import Block, block_of
from kernelhood.solvers.loop import solve
from kernelhood.solvers.neighborhood import span_rank
from kernelhood.solvers.problem import Problem, Solution, valued


class TaskKernels:
    """The kernels on the training points of one task.

    Parameters
    ----------
    bank : KernelBank
        The task's kernels.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Its points.
    sample_weight : ndarray of shape (n_samples,)
        How often each counts.
    noise : bool
        Whether the identity comes behind the kernels, as ``diag(1 / sample_weight)``.
    """

    def __init__(self, bank: KernelBank, X: Any, sample_weight: Array, noise: bool = False) -> None:
        self.bank, self.X, self.sample_weight = bank, X, sample_weight
        #: What a method wants to keep for other models with the same kernels.
        self.kept: dict[Hashable, Any] = {}
        n = len(sample_weight)
        self.Ks = np.empty((len(bank) + noise, n, n))
        bank(X, out=self.Ks[: len(bank)])
        if noise:
            self.Ks[-1] = np.diag(1.0 / sample_weight)

    @cached_property
    def _gram_and_traces(self) -> tuple[Array, Array]:
        return frobenius_gram(self.Ks, self.sample_weight)

    @property
    def gram(self) -> Array:
        """The Frobenius products G of the kernels."""
        return self._gram_and_traces[0]

    @property
    def traces(self) -> Array:
        """The traces d of the kernels."""
        return self._gram_and_traces[1]

    def operator(self, pair: Pair) -> KernelOperator:
        """Return the kernels on the samples of one SVM."""
        if len(pair.sample) == len(self.sample_weight):
            return one_task(self.Ks)
        size, only = np.array([len(pair.sample)]), np.zeros(1, dtype=np.intp)
        return one_task(self.Ks, cells_of(pair.sample, size, only))

    def blocks(self, problem: TaskProblem) -> list[Block]:
        """Return the task's SVMs."""
        return [block_of(self.operator(pair), pair.loss) for pair in problem.pairs]

    def cross(self, X: Any) -> Array:
        """Return the kernels between other points and these."""
        return self.bank(X, self.X)

    def values(self, cross: Array, problem: TaskProblem, found: Solution) -> Array:
        """Return the task's functions at points with these kernels, one in each column."""
        coefficients = problem.by_pair(found.v).T
        values = np.zeros((cross.shape[1], 1)) + found.intercepts
        for m in np.flatnonzero(found.weights):
            values += found.weights[m] * (cross[m] @ coefficients)
        return values


class SeparateKernels(list[Any]):
    """The kernels of tasks that are solved one by one: `TaskKernels` or `TaskLowRank` of each.

    Parameters
    ----------
    tasks : sequence
        The kernels of each.
    held_as : {"dense", "landmarks"}
        How they are held.
    """

    def __init__(self, tasks: Sequence[Any], held_as: str = "dense") -> None:
        super().__init__(tasks)
        self.held_as = held_as

    def cross(self, X: Sequence[Any]) -> list[Any]:
        """Return the kernels between other points of every task and its training points."""
        return [own.cross(points) for own, points in zip(self, X, strict=True)]


def fit_svm(
    kernels: TaskKernels, problem: TaskProblem, weights: Array, *, tol: float, max_iter: int
) -> Solution:
    """Return the SVM of a task with weights that are given, from where another one ended.

    Parameters
    ----------
    kernels, problem
        The task.
    weights : ndarray of shape (n_kernels,)
        Not negative.
    tol, max_iter
        As for `solvers.loop.solve`.
    """
    blocks, starts = kernels.blocks(problem), problem.starts
    start = valued(blocks, weights, starts[-1].v) if starts else None
    return solve(Problem(blocks, Fixed(weights)), start=start, tol=tol, max_iter=max_iter)


_WORTH_SHARING = 0.75

ClassPair = tuple[int, int]


def class_pairs(n_pairs: int) -> list[ClassPair]:
    """Return the places of the two classes of each of a task's SVMs.

    Examples
    --------
    >>> class_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    n_classes = round((1.0 + np.sqrt(1.0 + 8.0 * n_pairs)) / 2.0)
    return list(combinations(range(n_classes), 2))


def pair_numbers(problems: Sequence[TaskProblem]) -> list[list[int]]:
    """Return for every task the number of each of its pairs of classes among those of all tasks.

    Pairs are the same if the places of their classes among the task's classes are.
    """
    keys = [class_pairs(len(problem.pairs)) for problem in problems]
    order = sorted({key for own in keys for key in own})
    return [[order.index(key) for key in own] for own in keys]


@dataclass(frozen=True)
class JointSamples:
    """The samples of all tasks in the order of the joint problem.

    There is one SVM for each pair of classes, and in it a cell for each task that has this pair.
    Two classes, and regression, are one SVM.

    Attributes
    ----------
    points : ndarray or CSR matrix of shape (n_points, n_features)
        The points, each once if samples repeat them often.
    cells : list of Cells
        Where the samples of every SVM stand.
    places : list of ndarray of int
        For every task where its samples, in the order of its own problem, are in the joint one.
    counts : CSR matrix of shape (n_tasks, n_points)
        The weight of each task's samples at each point.
    sides : list of ndarray of int
        For every SVM and each of its cells the sign of all samples, 0 if both signs occur.
    """

    points: Any
    cells: list[Cells]
    places: list[Indices]
    counts: Any
    sides: list[Indices]

    @classmethod
    def of(cls, problems: Sequence[TaskProblem]) -> JointSamples:
        """Put the samples of the tasks side by side."""
        numbered = pair_numbers(problems)
        members: dict[int, list[tuple[int, int]]] = {}
        for t, own in enumerate(numbered):
            for pair, number in enumerate(own):
                members.setdefault(number, []).append((t, pair))
        sizes = [[len(pair.sample) for pair in problem.pairs] for problem in problems]
        starts = [np.concatenate([[0], np.cumsum(own)]) for own in sizes]
        numbers, points = _numbered(problems, sum(map(sum, sizes)))
        places = [np.empty(sum(own), dtype=np.intp) for own in sizes]
        cells, at = [], 0
        for number in sorted(members):
            pieces = []
            for t, pair in members[number]:
                pieces.append(numbers[t][problems[t].pairs[pair].sample])
                place = slice(*starts[t][pair : pair + 2])
                places[t][place] = np.arange(at, at + len(pieces[-1]))
                at += len(pieces[-1])
            tasks = np.array([t for t, _ in members[number]])
            lengths = np.array([len(piece) for piece in pieces])
            cells.append(cells_of(np.concatenate(pieces), lengths, tasks))
        which = np.repeat(np.arange(len(problems)), [len(own) for own in numbers])
        weights = np.concatenate([problem.sample_weight for problem in problems])
        shape = len(problems), points.shape[0]
        counts = sparse.csr_matrix((weights, (which, np.concatenate(numbers))), shape=shape)
        sides = [
            np.array([_side(problems[t].pairs[pair].loss) for t, pair in members[number]])
            for number in sorted(members)
        ]
        return cls(points, cells, places, counts, sides)

    @property
    def counted(self) -> float:
        """The number of samples, each as often as it counts."""
        return float(self.counts.sum())

    def losses(self, problems: Sequence[TaskProblem], intercept: str) -> list[SampleLoss]:
        """Return the loss of every SVM, with an intercept for each task or one in common."""
        seen = [0] * len(problems)
        found = []
        for cells in self.cells:
            parts = []
            for t in cells.task:
                parts.append(problems[t].pairs[seen[t]].loss)
                seen[t] += 1
            groups = cells.starts if intercept == "task" else cells.starts[[0, -1]]
            found.append(joined(parts, groups))
        return found

    def intercepts(self, found: Solution) -> list[Array]:
        """Return the intercepts of every task's SVMs.

        Samples of one sign only bound their intercept from one side: it is that of the other
        tasks, on average, or as far from it as these samples need.
        """
        tasks = np.concatenate([cells.task for cells in self.cells])
        by_cell = found.intercepts
        if len(by_cell) != len(tasks):
            by_cell = np.repeat(by_cell, [len(cells.task) for cells in self.cells])
        ends = np.cumsum([len(cells.task) for cells in self.cells])[:-1]
        settled = map(_settled, np.split(by_cell, ends), self.cells, self.sides)
        order = np.argsort(tasks, kind="stable")
        ends = np.cumsum(np.bincount(tasks, minlength=len(self.places)))[:-1]
        return np.split(np.concatenate(list(settled))[order], ends)


def _side(loss: SampleLoss) -> int:
    """Return the sign of all samples, or 0 if both occur."""
    return int(not np.any(loss.lower < 0.0)) - int(not np.any(loss.upper > 0.0))


def _settled(intercepts: Array, cells: Cells, side: Indices) -> Array:
    """Return the intercepts of an SVM's cells, open ones moved towards the others' mean."""
    if np.all(side == 0) or np.all(side != 0):
        return intercepts
    sizes = np.diff(cells.starts)[side == 0]
    mean = np.average(intercepts[side == 0], weights=sizes)
    return np.where(
        side > 0,
        np.maximum(intercepts, mean),
        np.where(side < 0, np.minimum(intercepts, mean), intercepts),
    )


def _numbered(problems: Sequence[TaskProblem], n_samples: int) -> tuple[list[Indices], Any]:
    """Return the number of every task's points, and the points.

    Equal points get one number if that makes the kernel matrices a good deal smaller.
    """
    parts = [problem.X for problem in problems]
    sizes = [part.shape[0] for part in parts]
    places = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    if sparse.issparse(parts[0]):
        return places, sparse.vstack(parts, format="csr")
    stacked = np.ascontiguousarray(np.vstack(parts))
    if _surely_different(stacked) > _WORTH_SHARING * n_samples:
        return places, stacked
    known: dict[bytes, int] = {}
    number = np.array([known.setdefault(row.tobytes(), len(known)) for row in stacked])
    if len(known) > _WORTH_SHARING * n_samples:
        return places, stacked
    first = np.unique(number, return_index=True)[1]
    return [number[place] for place in places], stacked[first]


def _surely_different(points: Array) -> int:
    """Return how many rows differ at least, mostly all that do: equal rows have equal sums."""
    bits: AnyArray = points.astype(np.float64, copy=False).view(np.uint64)
    factors: AnyArray = np.random.default_rng(0).integers(1, 2**63, bits.shape[1], np.uint64)
    sums = np.zeros(len(bits), dtype=np.uint64)
    for column in range(bits.shape[1]):
        sums += bits[:, column] * (factors[column] | np.uint64(1))
    return len(np.unique(sums))


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
        Whether the matrices are held; by default if they fit.
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
    def held_as(self) -> str:
        """How the kernels are held."""
        return "on_demand" if self.Ks is None else "dense"

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
        """Return the kernels of other points with all of these, None if they do not fit."""
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
