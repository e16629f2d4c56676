"""Problem (P) with the weights of all tasks: tasks that are solved as one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from kernelhood._typing import Array
from kernelhood.bounds import BoundTerms
from kernelhood.estimators._coarse import Together, part_of
from kernelhood.penalties import LogDeterminant, Penalty
from kernelhood.pipeline.inspection import BoundInspection, Neighborhood
from kernelhood.pipeline.joint import JointKernels
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.related.adapting import RelatedTasks
from kernelhood.solvers.block import Block
from kernelhood.solvers.neighborhood import identity_projection
from kernelhood.solvers.solution import Solution

_FEW_SVMS = 12


class JointStep(BoundInspection, RelatedTasks):
    """Solve all tasks as one where they relate, and give every task its part."""

    @abstractmethod
    def _penalty(self, gram: Callable[[], Array], d: Array, n_samples: float) -> Penalty:
        """Return the penalty of problem (P) from Frobenius products, traces and samples."""

    @abstractmethod
    def _minimise(
        self,
        blocks: list[Block],
        penalty: Penalty,
        problem: TaskProblem,
        start: Solution | None,
        carried: Solution | None = None,
    ) -> Solution:
        """Solve problem (P)."""

    @abstractmethod
    def _closed_form(self, weights: Array, gamma: Array, n_samples: float) -> Array:
        """Return kappa, the coefficients of the neighborhoods that the weights make best."""

    def _solve_tasks(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        if not self._couples(vars(self)):
            return super()._solve_tasks(kernels, problems)
        return self._solve_jointly(kernels, problems)

    def _solve_jointly(
        self, joint: JointKernels, problems: list[TaskProblem]
    ) -> list[TaskSolution]:
        """Solve problem (P) with the weights of all tasks, and give every task its part."""
        matrices, separate, cost = self._joined(joint)
        blocks = joint.blocks(problems, self._groups_of_intercepts, matrices, separate)
        d = joint.traces(matrices, separate)
        counted = joint.samples.counted
        penalty = self._penalty(lambda: joint.gram(matrices, separate), cost * d, counted)
        start = _usable_start(problems, blocks)
        if start is None and not isinstance(penalty, LogDeterminant):  # it starts by itself
            whole = Together(joint, problems, matrices, separate, blocks, penalty)
            start = self._coarse_start(whole)
        found = self._minimise(blocks, penalty, problems[0], start)
        parts = self._task_parts(joint, problems, found)
        if problems[0].only_scored:
            return [TaskSolution(part, None, found) for part in parts]
        return self._with_neighborhoods(joint, problems, found, parts, d)

    def _coarse_start(self, whole: Together) -> Solution | None:
        """Return where the solution of a part leads to, which is itself started from a part.

        Its weights are close to those of all samples, and cost less than one SVM with these.
        """
        part = part_of(whole) if whole.joint.is_large else None
        if part is None:
            return None
        limits = {"tol": max(self.tol, part.tol), "max_iter": min(self.max_iter, _FEW_SVMS)}
        rough = clone(self).set_params(**limits, **self._same_landmarks(whole.joint))
        kernels = rough._evaluate(whole.joint.kernels.bank, part.problems)
        matrices, penalty = whole.matrices.at(part.tasks), part.penalty(whole)
        posed = part.problems, self._groups_of_intercepts, matrices, whole.separate
        blocks = kernels.blocks(*posed)
        small = Together(kernels, part.problems, matrices, whole.separate, blocks, penalty)
        found = rough._minimise(blocks, penalty, part.problems[0], rough._coarse_start(small))
        return part.start(whole, kernels, found)

    def _with_neighborhoods(
        self,
        joint: JointKernels,
        problems: list[TaskProblem],
        found: Solution,
        parts: list[Solution],
        d: Array,
    ) -> list[TaskSolution]:
        """Return every task's part with its neighborhood, and keep what the bound needs."""
        matrices, separate, _ = self._joined(joint)
        self._keep_relation(joint)
        self._keep_expansion(joint, found)
        G, own = joint.task_grams, joint.task_traces
        if separate:
            # Each task's block is fitted by its own kernels, and what is between tasks by none.
            own_gamma = [identity_projection(*one) for one in zip(G, own, strict=True)]
            gamma = np.concatenate([np.zeros(len(d) - own.size), *own_gamma])
        else:
            gamma = identity_projection(joint.gram(matrices, separate), d)
        kappa = self._closed_form(found.weights, gamma, joint.samples.counted)
        kappas = self._task_parts(joint, problems, found._replace(weights=kappa))
        if separate:
            by_task = BoundTerms.from_tasks(G, own, [one.weights for one in kappas])
            rank = by_task.rank + joint.rank_between(matrices)
            self._joint_bound = by_task._replace(rank=rank)
        else:
            A = joint.gram(matrices, separate)
            self._joint_bound = BoundTerms.from_tasks(A[None], d[None], kappa[None])
        rows = zip(parts, kappas, G, own, strict=True)
        return [
            TaskSolution(part, Neighborhood(one.weights, gram, traces), found)
            for part, one, gram, traces in rows
        ]

    def _bound_terms(self) -> BoundTerms:
        return self._joint_bound if self._couples(vars(self)) else super()._bound_terms()


def _usable_start(problems: list[TaskProblem], blocks: list[Block]) -> Solution | None:
    """Return the last joint solution where it has the same weights and intercepts."""
    start = problems[0].together
    n_groups = sum(len(block.loss.group_starts) - 1 for block in blocks)
    if start is None or len(start.weights) != blocks[0].operator.n_weights:
        return None
    return start if len(start.intercepts) == n_groups else None
