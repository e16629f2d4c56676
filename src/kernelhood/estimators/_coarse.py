"""A smaller problem that is nearly the same: fewer of many tasks, or fewer samples of each.

Each of its samples stands for several, so that the SVMs' values are about those of all samples, and
the penalty is the same. Weights are those of the whole problem up to their units: what n tasks have
in common is learned from all of their samples, and what a task has for itself from its own ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.penalties import Penalty
from kernelhood.pipeline.joint import JointKernels
from kernelhood.pipeline.problem import TaskProblem
from kernelhood.solvers.block import Block
from kernelhood.solvers.solution import Solution
from kernelhood.solvers.warm_start import cut_down, valued
from kernelhood.task_matrices import TaskMatrices

_ROUGH = 1e-2
_MANY_TASKS, _SOME_TASKS, _FEWER_TASKS = 100, 20, 5
_WORTH_IT = 3
_FEW_SAMPLES = 10


class Together(NamedTuple):
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

    def penalty(self, whole: Together) -> Penalty:
        """Return the price of the part's weights: that of the whole in other units."""
        return whole.penalty.restricted(np.ones(len(self.unit), dtype=np.bool_), self.unit)

    def start(self, whole: Together, kernels: JointKernels, found: Solution) -> Solution:
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


def part_of(whole: Together) -> Part | None:
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


def _fewer_tasks(whole: Together, count: int) -> Part:
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
