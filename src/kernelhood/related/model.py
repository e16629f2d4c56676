"""Tasks that are solved as one: their relation, their joint kernels, and what a fit keeps."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood._typing import Array
from kernelhood.kernels import Constant, InputSummary, KernelBank
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.fitted.bank import is_fitted
from kernelhood.pipeline.joint import JointKernels
from kernelhood.pipeline.joint_samples import pair_numbers
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.related.adapted import Adapted
from kernelhood.relations import (
    Independent,
    Mixed,
    SharedFunctions,
    TaskRelation,
    as_relation,
)
from kernelhood.solvers.solution import Solution
from kernelhood.solvers.warm_start import moved_start
from kernelhood.task_matrices import TaskMatrices
from kernelhood.tasks import stack_rows

SHARINGS = ("auto", "weights", "functions")
_NO_USE = 1e6


class RelatedModel(MultiTaskKernelModel):
    """What an estimator needs to let its tasks learn from each other.

    Parameters
    ----------
    sharing : {"auto", "weights", "functions"}
        What tasks share, the short word for three relations: "weights" is the paper's model, in
        which the problem splits into one for each task. With "functions" the shared weights
        multiply the kernel between all samples of all tasks, so that f_t = f_0 + g_t + b_t and a
        task learns from the samples of the others. "auto" is the relation "mixed" where `kernels`
        are fitted to the data, and "weights" where they are given or the paper's, or where there
        is a `neighborhood`.
    relation : str, TaskRelation or list of them, optional
        How tasks relate, in the place of `sharing`: "independent", "functions", "mixed" (one
        function for all, and deviations of one size), "inputs" (tasks with like inputs are alike),
        `TaskGroups`, `TaskSimilarity`, `TaskGraph`, or several of them at once.
    specific_cost : float
        How many times more a weight of what tasks have for themselves costs than a shared one, at
        least 1; infinity leaves only what is shared. A kernel is shared as soon as more than a
        fraction ``1 / specific_cost`` of the tasks, by samples, wants it. Only for tasks that are
        solved together.
    intercept : {"auto", "task", "common", "shrunk"}
        Whether every task has an intercept of its own, all have one in common, or their own ones
        are shrunk to it at a price, by a `Constant` kernel beside the others. "auto" is "task" for
        shared functions and "shrunk" for other relations. Only for tasks that are solved together;
        others have their own.
    unseen_task : {"known", "shared", "error"}
        What to do when a task is to be predicted that was not seen in `fit`. "known" predicts it
        where the relation can place it, by its group, descriptor, neighbours or inputs, and
        refuses others; "shared" predicts these by what all tasks share, with the mean intercept;
        "error" refuses all of them.
    cache_size : float
        The largest stack of kernel matrices between the samples of all tasks to hold, in
        megabytes; larger ones are evaluated block by block whenever they are needed, and rows of
        their combination are kept in as much memory.
    storage : {"float64", "float32"}
        Type of the kernel values that are kept between samples of all tasks. Objective and gap are
        computed in double precision either way.

    Attributes
    ----------
    relation_ : TaskRelation
        How tasks relate, with what it knows of their inputs.
    """

    _parameter_constraints: dict[str, Any] = {
        "sharing": [StrOptions(set(SHARINGS))],
        "relation": [TaskRelation, str, list, tuple, None],
        "specific_cost": [Interval(Real, 1, np.inf, closed="both")],
        "intercept": [StrOptions({"auto", "task", "common", "shrunk"})],
        "unseen_task": [StrOptions({"known", "error", "shared"})],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "storage": [StrOptions({"float64", "float32"})],
    }

    relation_: TaskRelation
    _matrices: TaskMatrices
    sharing: str
    relation: Any
    specific_cost: float
    intercept: str
    unseen_task: str
    cache_size: float
    storage: str

    @classmethod
    def _stated_relation(cls, params: Mapping[str, Any]) -> TaskRelation:
        """Return the relation that parameters name, at its own costs."""
        if params["relation"] is not None:
            return as_relation(params["relation"])
        # A neighborhood that is given is one of independent tasks.
        alone = params["sharing"] != "auto" or params.get("neighborhood") is not None
        if not alone and is_fitted(params["kernels"]):
            return Mixed()
        return SharedFunctions() if params["sharing"] == "functions" else Independent()

    @classmethod
    def _intercept_of(cls, params: Mapping[str, Any]) -> str:
        """Return which intercept parameters stand for."""
        relation = cls._stated_relation(params)
        if not relation.couples:
            return "task"
        if params["intercept"] != "auto":
            return str(params["intercept"])
        return "task" if isinstance(relation, SharedFunctions) else "shrunk"

    @property
    def _relation(self) -> TaskRelation:
        return self._stated_relation(vars(self)).own_costing(float(self.specific_cost))

    @classmethod
    def _couples(cls, params: Mapping[str, Any]) -> bool:
        return cls._stated_relation(params).couples

    @classmethod
    def _joins_samples(cls, params: Mapping[str, Any]) -> bool:
        return cls._couples(params)

    @classmethod
    def _kernel_parts(cls, params: Mapping[str, Any]) -> list[Any]:
        shrunk = cls._intercept_of(params) == "shrunk"
        return [*super()._kernel_parts(params), cls._couples(params), shrunk]

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        same = super()._canonical(params)
        relation = cls._stated_relation(params)
        same.update(relation=relation, sharing="weights", intercept=cls._intercept_of(params))
        if not relation.couples:
            same.update(specific_cost=1.0)
        return same

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.unseen_task == "shared" and not self._relation.common:
            raise ValueError(
                "unseen_task='shared' needs a shared function: use relation='mixed' or "
                f"sharing='functions', got relation={self.relation!r}, sharing={self.sharing!r}."
            )

    def _fitted_bank(self, inputs: InputSummary) -> KernelBank:
        bank = super()._fitted_bank(inputs)
        if self._intercept_of(vars(self)) != "shrunk" or any(map(_is_constant, bank)):
            return bank
        return bank.extended([Constant()])

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
        sizes = [points.shape[0] for points in X]
        return [kernels.cross(points, sum(sizes) / max(sizes)) for points in X]

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
            constant = np.array([_is_constant(kernel) for kernel in joint.kernels.bank])
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
        self._kernel_sizes = joint.task_traces.sum(axis=0) / joint.samples.counts.sum()

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


def _is_constant(kernel: Any) -> bool:
    return isinstance(kernel, Constant)
