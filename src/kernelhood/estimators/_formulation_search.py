"""What a search needs to know of the formulations: equal models, their order, and looking ahead."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelhood.estimators._jointly import JointStep
from kernelhood.formulations import Formulation, as_formulation, in_domain, why_outside
from kernelhood.penalties import Concave, Penalty
from kernelhood.pipeline.problem import TaskProblem
from kernelhood.pipeline.task_kernels import TaskKernels
from kernelhood.solvers.concave_path import solved_rewards
from kernelhood.solvers.solution import Solution


class FormulationSearch(JointStep):
    """The formulations along a path of models."""

    _path_parameters: tuple[str, ...] = ("eta", "beta", "specific_cost")

    eta: float
    beta: float
    formulation: str | Formulation

    @abstractmethod
    def _task_penalty(self, kernels: TaskKernels, problem: TaskProblem) -> Penalty:
        """Return the penalty of one task."""

    @property
    def _reading(self) -> Formulation:
        return as_formulation(self.formulation)

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        reading = as_formulation(params["formulation"])
        same = super()._canonical(params)
        same.update(reading.canonical(params["C"], params["eta"], params["beta"]))
        return same

    @classmethod
    def _has_many_solutions(cls, params: Mapping[str, Any]) -> bool:
        return not as_formulation(params["formulation"]).convex

    @classmethod
    def _in_domain(cls, params: Mapping[str, Any]) -> Any:
        return in_domain(params["formulation"], params["eta"], params["beta"])

    @classmethod
    def _why_outside(cls, params: Mapping[str, Any]) -> str:
        return why_outside(params["formulation"], params["eta"], params["beta"])

    @classmethod
    def _path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        # An infinite cost leaves out weights, which makes another path.
        cost = params["specific_cost"]
        order = as_formulation(params["formulation"]).path_order(params)
        if cls._has_many_solutions(params):
            return (np.isinf(cost), cost, *order)
        return (np.isinf(cost), *order, cost)

    def _certified_ahead(
        self,
        found: Solution,
        models: Sequence[Mapping[str, Any]],
        kernels: TaskKernels,
        problem: TaskProblem,
    ) -> int:
        """Look ahead along the rewards of a concave penalty, of which a grid holds very many."""
        penalty = self._task_penalty(kernels, problem)
        if not isinstance(penalty, Concave):
            return 0
        rewards = np.array([4.0 * params["beta"] for params in models])
        corners = problem.kept.get(self._corner_key(penalty))
        return solved_rewards(found, penalty, rewards, self.tol, corners)

    def _corner_key(self, penalty: Concave) -> tuple[Any, ...]:
        """Return a key that differs where the kernels or the intercepts of the corners do."""
        return "corners", self._relation.key, self._groups_of_intercepts, penalty.row.tobytes()
