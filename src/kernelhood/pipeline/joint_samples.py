"""The samples of all tasks side by side: an SVM for each pair of classes, a cell for each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.losses import SampleLoss, joined
from kernelhood.operators import Cells, cells_of
from kernelhood.pipeline.problem import TaskProblem
from kernelhood.solvers.solution import Solution

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

    Pairs are the same where the places of their classes among the task's classes are.
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
        The points, each once where samples repeat them often.
    cells : list of Cells
        Where the samples of every SVM stand.
    places : list of ndarray of int
        For every task where its samples, in the order of its own problem, are in the joint one.
    counts : CSR matrix of shape (n_tasks, n_points)
        The weight of each task's samples at each point.
    sides : list of ndarray of int
        For every SVM and each of its cells the sign of all samples, 0 where both signs occur.
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
    """Return the sign of all samples, or 0 where both occur."""
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

    Equal points get one number where that makes the kernel matrices a good deal smaller.
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
