"""Solving all tasks as one: the joint problem, and smaller ones that it starts from.

Each sample of a smaller problem stands for several, so that the SVMs' values are about those of all
samples, and the penalty is the same. Weights are those of the whole problem up to their units: what
n tasks have in common is learned from all of their samples, and what a task has for itself from its
own ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.low_rank import JointLowRank
from kernelhood.estimators.related import RelatedMethod
from kernelhood.estimators.training import JointKernels
from kernelhood.inspection.model import Neighborhood
from kernelhood.operators import Landmarks
from kernelhood.penalties import Penalty
from kernelhood.relations.matrices import TaskMatrices
from kernelhood.solvers.block import Block
from kernelhood.solvers.neighborhood import BoundTerms, identity_projection
from kernelhood.solvers.problem import Solution
from kernelhood.solvers.warm_start import cut_down, valued

_ROUGH = 1e-2
_MANY_TASKS, _SOME_TASKS, _FEWER_TASKS = 100, 20, 5
_WORTH_IT = 3
_FEW_SAMPLES = 10


class JointProblem(NamedTuple):
    """Problem (P) with the weights of all tasks.

    Attributes
    ----------
    joint : JointKernels
        The kernels between the samples of all tasks.
    problems : list of TaskProblem
        The tasks.
    matrices : TaskMatrices
        Of their relation.
    separate : bool
        Whether every task has weights of its own.
    blocks : list of Block
        The SVMs.
    penalty : Penalty
        The price and the set of the weights.
    """

    joint: JointKernels
    problems: list[TaskProblem]
    matrices: TaskMatrices
    separate: bool
    blocks: list[Block]
    penalty: Penalty


class Part(NamedTuple):
    """A part of the tasks, or of their samples.

    Attributes
    ----------
    problems : list of TaskProblem
        The tasks with their samples, each counted as several.
    tasks : ndarray of int
        Which ones they are.
    unit : ndarray of shape (n_weights,)
        What turns weights of the part into those of the whole.
    tol : float
        The gap from which on more digits say nothing of the whole.
    """

    problems: list[TaskProblem]
    tasks: Indices
    unit: Array
    tol: float

    def penalty(self, whole: JointProblem) -> Penalty:
        """Return the price of the part's weights: that of the whole in other units."""
        return whole.penalty.restricted(np.ones(len(self.unit), dtype=np.bool_), self.unit)

    def start(self, whole: JointProblem, kernels: JointKernels, found: Solution) -> Solution:
        """Return where a solution of the part leads the whole to.

        Its weights may have used up a budget that counts the kernels at all samples, and are moved
        to where they keep it. Where all tasks take part, the function is close as well, and mostly
        so is what is left of it when entries of v are cut down to their bounds.
        """
        weights, v = found.weights * self.unit, None
        if not whole.penalty.contains(weights):
            weights = whole.penalty.nearest(weights)
        if len(self.tasks) == len(whole.problems):
            places, few = whole.joint.samples.places, kernels.samples.places
            v = np.zeros(sum(block.n_samples for block in whole.blocks))
            for t, (own, some) in enumerate(zip(whole.problems, self.problems, strict=True)):
                v[places[t][own.holds(some)]] = found.v[few[t]]
            v = cut_down(v, whole.blocks)
        return valued(whole.blocks, weights, v)


def part_of(whole: JointProblem) -> Part | None:
    """Return a part whose solution costs less than one SVM of the whole; None where there is none.

    Fewer tasks are the better part where there are many and all have the same weights: a task keeps
    its samples, and with them what it learns for itself. Weights of single tasks need every task,
    and ten samples of each.
    """
    count, n_tasks = whole.joint.thinning, len(whole.problems)
    fewer = min(count, max(n_tasks // _MANY_TASKS, min(_FEWER_TASKS, n_tasks // _SOME_TASKS)))
    if fewer >= _WORTH_IT and not whole.separate:
        return _fewer_tasks(whole, fewer)
    some = [one.thinned(count) for one in whole.problems]
    left = sum(len(one.rows) for one in some)
    too_few = whole.separate and left < _FEW_SAMPLES * n_tasks
    if too_few or 2 * left > sum(len(one.rows) for one in whole.problems):
        return None
    return Part(some, np.arange(n_tasks), np.ones(whole.blocks[0].operator.n_weights), _ROUGH)


def _fewer_tasks(whole: JointProblem, count: int) -> Part:
    """Return one of so many tasks, small and large ones alike.

    The functions of single tasks are priced for the tasks that are left, each of which stands for
    several; a function in common is priced once. In between, a matrix B of the relation counts as
    far as the tasks that it joins to a task have become fewer.
    """
    sizes = np.array([len(one.rows) for one in whole.problems])
    mixed = np.random.default_rng(0).permutation(len(sizes))
    tasks = np.sort(np.lexsort((mixed, sizes))[count // 2 :: count])
    times = float(sizes.sum() / sizes[tasks].sum())
    left = np.maximum(whole.matrices.at(tasks).reach, 1e-300)
    joined = np.clip(whole.matrices.reach / left, 1.0, times)
    unit = np.repeat(times / joined, len(whole.joint.kernels))
    some = [whole.problems[t].counted_often(times) for t in tasks.tolist()]
    return Part(some, tasks, unit, min(_ROUGH, 0.1 / len(tasks)))


_FEW_SVMS = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class JointMethod(RelatedMethod):
    """A method that solves problem (P) with the weights of all tasks if these relate."""

    @abstractmethod
    def penalty(self, gram: Callable[[], Array], d: Array, n_samples: float) -> Penalty:
        """Return the penalty of problem (P) from Frobenius products, traces and samples."""

    @abstractmethod
    def minimise(
        self,
        blocks: list[Block],
        penalty: Penalty,
        problem: TaskProblem,
        start: Solution | None,
        carried: Solution | None = None,
    ) -> Solution:
        """Solve problem (P)."""

    @abstractmethod
    def closed_form(self, weights: Array, gamma: Array, n_samples: float) -> Array:
        """Return kappa, the coefficients of the neighborhoods that the weights make best."""

    def solve(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve all tasks: as one if they relate, otherwise one by one."""
        if not isinstance(kernels, JointKernels):
            return super().solve(kernels, problems)
        matrices, separate, cost = self.joined(kernels)
        blocks = kernels.blocks(problems, self.groups, matrices, separate)
        d, counted = kernels.traces(matrices, separate), kernels.samples.counted
        penalty = self.penalty(lambda: kernels.gram(matrices, separate), cost * d, counted)
        start = _usable_start(problems, blocks)
        if start is None:
            whole = JointProblem(kernels, problems, matrices, separate, blocks, penalty)
            start = self.coarse_start(whole)
        found = self.minimise(blocks, penalty, problems[0], start)
        parts = self.parts(kernels, problems, found)
        if problems[0].only_scored:
            return [TaskSolution(part, None, found) for part in parts]
        return self._with_neighborhoods(kernels, problems, found, parts)

    def coarse_start(self, whole: JointProblem) -> Solution | None:
        """Return where the solution of a part leads to, which is itself started from a part.

        Its weights are close to those of all samples, and cost less than one SVM with these.
        """
        part = part_of(whole) if whole.joint.is_large else None
        if part is None:
            return None
        rough = self._rough(whole.joint, part)
        kernels = rough.training_kernels(whole.joint.kernels.bank, part.problems)
        matrices, penalty = whole.matrices.at(part.tasks), part.penalty(whole)
        blocks = kernels.blocks(part.problems, self.groups, matrices, whole.separate)
        small = JointProblem(kernels, part.problems, matrices, whole.separate, blocks, penalty)
        found = rough.minimise(blocks, penalty, part.problems[0], rough.coarse_start(small))
        return part.start(whole, kernels, found)

    def _rough(self, joint: JointKernels, part: Part) -> Self:
        """Return the method for a part of the samples, with the same landmarks."""
        tol, max_iter = max(self.tol, part.tol), min(self.max_iter, _FEW_SVMS)
        if not isinstance(joint, JointLowRank):
            return replace(self, tol=tol, max_iter=max_iter)
        same = Landmarks(points=joint.landmarks.points)
        return replace(self, tol=tol, max_iter=max_iter, operator=same, verbose=False)

    def _with_neighborhoods(
        self,
        joint: JointKernels,
        problems: list[TaskProblem],
        found: Solution,
        parts: list[Solution],
    ) -> list[TaskSolution]:
        """Return every task's part with its neighborhood, and what the bound needs."""
        matrices, separate, _ = self.joined(joint)
        G, own, d = joint.task_grams, joint.task_traces, joint.traces(matrices, separate)
        if separate:
            # Each task's block is fitted by its own kernels, and what is between tasks by none.
            own_gamma = [identity_projection(*one) for one in zip(G, own, strict=True)]
            gamma = np.concatenate([np.zeros(len(d) - own.size), *own_gamma])
        else:
            gamma = identity_projection(joint.gram(matrices, separate), d)
        kappa = self.closed_form(found.weights, gamma, joint.samples.counted)
        kappas = self.parts(joint, problems, found._replace(weights=kappa))
        if separate:
            by_task = BoundTerms.from_tasks(G, own, [one.weights for one in kappas])
            rank = by_task.rank + joint.rank_between(matrices)
            bound = by_task._replace(rank=rank)
        else:
            A = joint.gram(matrices, separate)
            bound = BoundTerms.from_tasks(A[None], d[None], kappa[None])
        rows = zip(parts, kappas, G, own, strict=True)
        return [
            TaskSolution(part, Neighborhood(one.weights, gram, traces), found, bound)
            for part, one, gram, traces in rows
        ]


def _usable_start(problems: list[TaskProblem], blocks: list[Block]) -> Solution | None:
    """Return the last joint solution where it has the same weights and intercepts."""
    start = problems[0].together
    n_groups = sum(len(block.loss.group_starts) - 1 for block in blocks)
    if start is None or len(start.weights) != blocks[0].operator.n_weights:
        return None
    return start if len(start.intercepts) == n_groups else None
