"""All tasks as one problem: the samples side by side, and kernels that reach across tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._typing import Array, Indices
from kernelhood.estimators._inspection import Neighborhood
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.kernels import KernelBank
from kernelhood.kernels.blocks import PointKernels
from kernelhood.losses import DualTerms, joined
from kernelhood.solvers.evaluated import EvaluatedFamily
from kernelhood.solvers.family import KernelFamily
from kernelhood.solvers.layout import Layout, cells_of
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.neighborhood import joint_gram

_WORTH_SHARING = 0.75
_MEGABYTE = 2**20

Pair = tuple[int, int]


def class_pairs(n_pairs: int) -> list[Pair]:
    """Return the places of the two classes of each of a task's SVMs.

    Examples
    --------
    >>> class_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    n_classes = round((1.0 + np.sqrt(1.0 + 8.0 * n_pairs)) / 2.0)
    return list(combinations(range(n_classes), 2))


def pair_components(problems: Sequence[TaskProblem]) -> list[list[int]]:
    """Return for every task the number of each of its pairs of classes among those of all tasks.

    Pairs are the same where the places of their classes among the task's classes are.
    """
    keys = [class_pairs(problem.n_pairs) for problem in problems]
    order = sorted({key for own in keys for key in own})
    return [[order.index(key) for key in own] for own in keys]


@dataclass(frozen=True)
class JointSamples:
    """The samples of all tasks in the order of the joint problem.

    A cell holds the samples of one task that tell two of its classes apart; cells of the same pair
    of classes form a component. Two classes, and regression, are one component.

    Attributes
    ----------
    points : ndarray or CSR matrix of shape (n_points, n_features)
        The points, each once where samples repeat them often.
    layout : Layout
        Where the samples stand.
    places : list of ndarray of int
        For every task where its samples, in the order of its own problem, are in the joint one.
    counts : ndarray of shape (n_tasks, n_points)
        The weight of each task's samples at each point.
    """

    points: Any
    layout: Layout
    places: list[Indices]
    counts: Array

    @classmethod
    def of(cls, problems: Sequence[TaskProblem]) -> JointSamples:
        """Put the samples of the tasks side by side."""
        cells = sorted(
            (component, t, pair)
            for t, components in enumerate(pair_components(problems))
            for pair, component in enumerate(components)
        )
        numbers, points = _numbered(problems, sum(len(one.sample) for one in problems))
        pieces, sizes, at = [], [], 0
        places = [np.empty(len(one.sample), dtype=np.intp) for one in problems]
        for _, t, pair in cells:
            own = slice(*problems[t].terms.starts[pair : pair + 2])
            pieces.append(numbers[t][problems[t].sample[own]])
            sizes.append(len(pieces[-1]))
            places[t][own] = np.arange(at, at + sizes[-1])
            at += sizes[-1]
        component, task = np.array([cell[:2] for cell in cells]).T
        layout = cells_of(np.concatenate(pieces), np.array(sizes), task, component)
        counts = np.zeros((len(problems), points.shape[0]))
        for t, problem in enumerate(problems):
            np.add.at(counts[t], numbers[t], problem.sample_weight)
        return cls(points, layout, places, counts)

    def terms(self, problems: Sequence[TaskProblem], intercept: str) -> DualTerms:
        """Return the losses of all tasks as one, with intercepts per task or in common."""
        layout = self.layout
        starts = layout.starts if intercept == "task" else layout.component_starts
        together = joined([problem.terms for problem in problems], starts)
        order = np.argsort(np.concatenate(self.places))
        target, lower, upper = (one[order] for one in together[:3])
        return DualTerms(target, lower, upper, together.epsilon, starts.astype(np.intp))

    def intercepts(self, found: Solution, task: int) -> Array:
        """Return the intercepts of a task's pairs of classes."""
        layout = self.layout
        by_cell = found.intercepts
        if len(by_cell) != len(layout.task):
            by_cell = by_cell[np.searchsorted(layout.component_starts, layout.reach[:, 0])]
        return np.asarray(by_cell[layout.task == task])


def one_task_kernels(Ks: Array, problem: TaskProblem) -> KernelFamily | Array:
    """Return the kernels of a task on its own, the same for all pairs of its classes."""
    if problem.n_pairs == 1:
        return Ks
    sizes, pairs = np.diff(problem.terms.starts), np.arange(problem.n_pairs)
    return KernelFamily(Ks, cells_of(problem.sample, sizes, np.zeros_like(pairs), pairs))


def _numbered(problems: Sequence[TaskProblem], n_samples: int) -> tuple[list[Indices], Any]:
    """Return the number of every task's points, and the points.

    Equal points get one number where that makes the kernel matrices a good deal smaller.
    """
    parts = [problem.X for problem in problems]
    sizes = [part.shape[0] for part in parts]
    places = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    if sparse.issparse(parts[0]):
        return places, sparse.vstack(parts, format="csr")
    stacked = np.ascontiguousarray(np.vstack(parts))
    known: dict[bytes, int] = {}
    number = np.array([known.setdefault(row.tobytes(), len(known)) for row in stacked])
    if len(known) > _WORTH_SHARING * n_samples:
        return places, stacked
    first = np.unique(number, return_index=True)[1]
    return [number[place] for place in places], stacked[first]


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
    """

    def __init__(
        self, bank: KernelBank, problems: Sequence[TaskProblem], cache_size: float, storage: str
    ) -> None:
        self.samples = JointSamples.of(problems)
        self.n_tasks, self.cache_size = len(problems), cache_size
        self.kernels = PointKernels(bank, self.samples.points)
        self._dtype = np.dtype(storage)
        n_points = self.kernels.n_points
        held = self._size(n_points, n_points) <= cache_size
        self.Ks = self._evaluated(n_points) if held else None

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

    def family(self, specifics: bool) -> KernelFamily:
        """Return the kernels as the solvers take them."""
        layout = self.samples.layout
        if self.Ks is None:
            none = np.empty((0, 1, 1), dtype=self._dtype)
            return EvaluatedFamily(none, layout, True, specifics, self.kernels)
        return KernelFamily(self.Ks, layout, True, specifics)

    def rows(self, rows: slice) -> Array:
        """Return every kernel between some points and all of them."""
        if self.Ks is None:
            return self.kernels.stack(rows, slice(None))
        return np.asarray(self.Ks[:, rows], dtype=np.float64)

    @cached_property
    def traces(self) -> Array:
        """The traces d of shared and specific kernels, [mu; lambda_1; ...; lambda_T]."""
        counts = self.samples.counts
        every = np.vstack([counts.sum(axis=0), counts])
        return np.asarray(every @ self.kernels.diagonals.T).ravel()

    @cached_property
    def gram(self) -> Array:
        """The Frobenius products A of shared and specific kernels."""
        return joint_gram(self.rows, len(self.kernels), self.samples.counts)

    def parts(
        self, found: Solution, kappa: Array | None, family: KernelFamily
    ) -> list[TaskSolution]:
        """Return every task's part of the joint solution, with its neighborhood if known."""
        shared, specific = family.split(found.weights)
        solved = []
        for t in range(self.n_tasks):
            solution = found._replace(
                weights=shared + specific[t],
                v=found.v[self.samples.places[t]],
                intercepts=self.samples.intercepts(found, t),
            )
            neighborhood = None
            if kappa is not None:
                own, n_kernels = family.split(kappa), family.n_kernels
                block = slice((1 + t) * n_kernels, (2 + t) * n_kernels)
                neighborhood = Neighborhood(
                    own[0] + own[1][t], self.gram[block, block], self.traces[block]
                )
            solved.append(TaskSolution(solution, neighborhood, found))
        return solved

    def cross(self, X: Any, n_sets: float) -> Array | None:
        """Return the kernels between other points and all of these, where `n_sets` such fit."""
        if n_sets * self._size(X.shape[0], self.kernels.n_points) > self.cache_size:
            return None
        return self.kernels.bank(X, self.samples.points)

    def values(self, task: int, X: Any, cross: Array | None, found: Solution) -> Array:
        """Return the functions of a task's pairs of classes at some points, one in each column."""
        family = self.family(specifics=len(found.weights) > len(self.kernels))
        shared, specific = family.split(found.weights)
        columns = self.samples.intercepts(found, task) + np.zeros((X.shape[0], 1))
        layout = self.samples.layout
        for pair, cell in enumerate(np.flatnonzero(layout.task == task)):
            reach, own = slice(*layout.reach[cell]), slice(*layout.starts[cell : cell + 2])
            for part, weights in ((reach, shared), (own, specific[task])):
                columns[:, pair] += self._expand(X, cross, weights, found.v[part], part)
        return columns

    def _expand(self, X: Any, cross: Array | None, weights: Array, v: Array, part: slice) -> Array:
        """Return the combination of kernels at the points of `part`, summed with v."""
        at_points = np.bincount(self.samples.layout.point[part], v, self.kernels.n_points)
        where = np.flatnonzero(at_points)
        if cross is None:
            support = self.samples.points[where]
            return self.kernels.bank.combine(X, support, weights) @ at_points[where]
        total = np.zeros(cross.shape[1])
        for m in np.flatnonzero(weights):
            total += weights[m] * (cross[m] @ at_points)
        return total
