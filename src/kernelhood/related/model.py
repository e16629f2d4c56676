"""Tasks that are solved as one: their joint kernels, and what a fit keeps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.kernels import KernelBank
from kernelhood.pipeline.joint import JointKernels
from kernelhood.pipeline.joint_samples import pair_numbers
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.related.adapted import Adapted
from kernelhood.related.settings import RelationSettings, is_constant
from kernelhood.relations import TaskRelation
from kernelhood.solvers.solution import Solution
from kernelhood.solvers.warm_start import moved_start
from kernelhood.task_matrices import TaskMatrices
from kernelhood.tasks import stack_rows

_NO_USE = 1e6


class RelatedModel(RelationSettings):
    """What an estimator needs to let its tasks learn from each other.

    Attributes
    ----------
    relation_ : TaskRelation
        How tasks relate, with what it knows of their inputs.
    """

    relation_: TaskRelation
    _matrices: TaskMatrices

    def _evaluate(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> Any:
        if not self._couples(vars(self)):
            return super()._evaluate(bank, problems)
        relation, names = self._relation, [one.name for one in problems]
        if not relation.uses_inputs:
            relation.structure(names)  # What it does not know is said before the work.
        return self._join(bank, problems)

    def _join(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> JointKernels:
        """Return the kernels between the samples of all tasks."""
        return JointKernels(bank, problems, self.cache_size, self.storage)

    def _restarted(
        self, kernels: Any, problems: list[TaskProblem], solved: Sequence[TaskSolution]
    ) -> list[TaskProblem]:
        found = solved[0].together
        if found is None:
            return super()._restarted(kernels, problems, solved)
        matrices, separate, _ = self._joined(kernels)
        blocks = kernels.blocks(problems, self._groups_of_intercepts, matrices, separate)
        start = moved_start(blocks, found)
        return [replace(one, together=start) for one in problems]

    def _cross(self, kernels: Any, X: Sequence[Any]) -> list[Any]:
        if not self._couples(vars(self)):
            return super()._cross(kernels, X)
        return list(kernels.cross(X))

    def _values_at(
        self,
        kernels: Any,
        number: int,
        X: Any,
        cross: Any,
        problem: TaskProblem,
        found: TaskSolution,
    ) -> Array:
        if found.together is None:
            return super()._values_at(kernels, number, X, cross, problem, found)
        matrices = self._joined(kernels)[0]
        return np.asarray(kernels.values(number, X, cross, found.together, matrices))

    def _joined(self, joint: JointKernels) -> tuple[TaskMatrices, bool, Array]:
        """Return the relation's matrices, whether tasks have their own weights, and all costs.

        The costs are those of all weights, a number for each kernel under each matrix and task.
        """
        relation, n = self._relation, len(joint.kernels)
        matrices = joint.matrices(relation)
        # A task on its own needs no function beside the one it has in common with nobody.
        separate = relation.separate and not (len(joint.names) == 1 and len(matrices) > 0)
        by_matrix = relation.costs(len(matrices))
        cost = np.repeat(by_matrix[: len(matrices)], n)
        if separate:
            cost = np.concatenate([cost, np.full(n * len(joint.names), by_matrix[-1])])
        if self._intercept_of(vars(self)) != "task":
            # A constant that all tasks have in common is the intercept once more.
            constant = np.array([is_constant(kernel) for kernel in joint.kernels.bank])
            for r in np.flatnonzero([B.is_ones for B in matrices]):
                cost[n * r : n * (r + 1)][constant] *= _NO_USE
        return matrices, separate, cost

    @property
    def _groups_of_intercepts(self) -> str:
        """Whether tasks have free intercepts of their own: "task" or "common"."""
        return "task" if self._intercept_of(vars(self)) == "task" else "common"

    def _task_parts(
        self, joint: JointKernels, problems: Sequence[TaskProblem], found: Solution
    ) -> list[Solution]:
        """Return every task's part of the joint solution."""
        matrices, separate, _ = self._joined(joint)
        n, n_matrices = len(joint.kernels), len(matrices)
        by_matrix = found.weights[: n * n_matrices].reshape(n_matrices, n)
        weights = matrices.diagonals.T @ by_matrix
        if separate:
            weights = weights + found.weights[n * n_matrices :].reshape(-1, n)
        rows = zip(weights, joint.samples.places, joint.samples.intercepts(found), strict=True)
        return [
            found._replace(weights=own, v=found.v[places], intercepts=intercepts)
            for own, places, intercepts in rows
        ]

    def _keep_relation(self, joint: JointKernels) -> None:
        """Keep the relation of a fit, and how large the kernels are on its samples."""
        self.relation_ = joint.seen(self._relation)
        self._matrices = self._joined(joint)[0]
        self._kernel_sizes = joint.task_traces.sum(axis=0) / joint.samples.counted

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        self._adapted: dict[Hashable, Adapted] = {}
        joint, n = solved[0].together, len(self._bank)
        if joint is None:
            self.relation_ = self._relation
            self._energy = np.sum(
                [one.solution.weights * one.solution.q for one in solved], axis=0
            )[None]
            return
        n_matrices = len(self._matrices)
        self._matrix_weights = joint.weights[: n * n_matrices].reshape(n_matrices, n)
        common = [B.is_ones for B in self._matrices]
        self.shared_weights_ = self._matrix_weights[common].sum(axis=0)
        self.specific_weights_ = np.maximum(self.weights_ - self.shared_weights_, 0.0)
        self._own_weights = np.zeros_like(self.weights_)
        energy = (joint.weights * joint.q).reshape(-1, n)
        self._energy = energy[:n_matrices]
        if len(energy) > n_matrices:
            self._own_weights = joint.weights[n * n_matrices :].reshape(-1, n)
            self._energy = np.vstack([self._energy, energy[n_matrices:].sum(axis=0)])
        self._store_all_support(problems)

    def _store_all_support(self, problems: list[TaskProblem]) -> None:
        """Keep the samples of all tasks that support a function, for all to use."""
        self._components = pair_numbers(problems)
        self._all_support = stack_rows(self.support_vectors_)
        self._support_task = np.repeat(np.arange(len(problems)), [len(s) for s in self.support_])
        n_components = 1 + max(max(own) for own in self._components)
        coefficients = [np.zeros((n_components, len(support))) for support in self.support_]
        for part, components, own in zip(
            coefficients, self._components, self.dual_coef_, strict=True
        ):
            part[components] = own
        self._all_coef = np.hstack(coefficients)
