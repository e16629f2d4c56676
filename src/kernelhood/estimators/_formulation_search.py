"""From a formulation to penalties, and what a search needs to know: equal models, their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.estimators._jointly import JointStep
from kernelhood.formulations import (
    USUAL_BETA,
    Coefficients,
    Evidence,
    Formulation,
    as_formulation,
    check_domain,
    in_domain,
    why_outside,
)
from kernelhood.losses import Squared
from kernelhood.penalties import Concave, Penalty
from kernelhood.pipeline.problem import TaskProblem
from kernelhood.pipeline.task_kernels import TaskKernels
from kernelhood.solvers.concave_path import solved_rewards
from kernelhood.solvers.neighborhood import neighborhood_weights
from kernelhood.solvers.solution import Solution, solved_ahead

#: Of very many models, the number that is looked at first.
_FIRST_LOOK = 8


class FormulationSearch(JointStep):
    """The formulations: their penalties, and their order along a path of models."""

    _path_parameters: tuple[str, ...] = ("eta", "beta", "specific_cost")

    C: float
    eta: float
    beta: float | str
    formulation: str | Formulation
    neighborhood: Any

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self._reading, Evidence):
            _check_evidence(vars(self))
        if self.neighborhood is None:
            check_domain(self.formulation, self.eta, _most(self.beta))

    @property
    def _reading(self) -> Formulation:
        return as_formulation(self.formulation)

    def _terms(self, n_samples: float) -> Coefficients:
        """Return the coefficients where so many samples are solved together."""
        return _terms(vars(self), n_samples)

    def _penalty(self, gram: Callable[[], Array], d: Array, n_samples: float) -> Penalty:
        return self._reading.penalty(self._terms(n_samples), gram, d, n_samples)

    def _task_penalty(self, kernels: TaskKernels, problem: TaskProblem) -> Penalty:
        """Return the penalty of one task."""
        return self._penalty(lambda: kernels.gram, kernels.traces, problem.counted)

    def _closed_form(self, weights: Array, gamma: Array, n_samples: float) -> Array:
        terms = self._terms(n_samples)
        return neighborhood_weights(weights, gamma, terms.s, terms.r)

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        reading = as_formulation(params["formulation"])
        same = super()._canonical(params)
        same.update(reading.canonical(params["C"], params["eta"], _most(params["beta"])))
        if isinstance(params["beta"], str) and reading.beta_follows_samples:
            same.update(eta=params["eta"], beta=params["beta"])
        return same

    @classmethod
    def _has_many_solutions(cls, params: Mapping[str, Any]) -> bool:
        return not as_formulation(params["formulation"]).convex

    @classmethod
    def _in_domain(cls, params: Mapping[str, Any]) -> Any:
        return in_domain(params["formulation"], params["eta"], _most(params["beta"]))

    @classmethod
    def _why_outside(cls, params: Mapping[str, Any]) -> str:
        return why_outside(params["formulation"], params["eta"], _most(params["beta"]))

    @classmethod
    def _path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        # An infinite cost leaves out weights, which makes another path.
        cost = params["specific_cost"]
        numbers = {**params, "beta": _most(params["beta"])}
        order = as_formulation(params["formulation"]).path_order(numbers)
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
        """Look ahead along a line of prices, or the very many rewards of a concave penalty."""
        penalty = self._task_penalty(kernels, problem)
        if not isinstance(penalty, Concave):
            return self._prices_ahead(found, models, kernels, problem)
        corners, counted = problem.kept.get(self._corner_key(penalty)), problem.counted
        ahead, size = 0, _FIRST_LOOK
        while ahead < len(models):
            some = models[ahead : ahead + size]
            rewards = -_all_f(self._reading, some, counted)
            solved = solved_rewards(found, penalty, rewards, self.tol, corners)
            ahead, size = ahead + solved, 4 * size
            if solved < len(some):
                break
        return ahead

    def _prices_ahead(
        self,
        found: Solution,
        models: Sequence[Mapping[str, Any]],
        kernels: TaskKernels,
        problem: TaskProblem,
    ) -> int:
        reading = self._reading
        if not reading.straight or self.neighborhood is not None:
            return 0

        def penalty_of(number: int) -> Penalty:
            terms = _terms(models[number], problem.counted)
            return reading.penalty(terms, lambda: kernels.gram, kernels.traces, problem.counted)

        return solved_ahead(found, penalty_of, len(models), self.tol)

    def _corner_key(self, penalty: Concave) -> tuple[Any, ...]:
        """Return a key that differs where the kernels or the intercepts of the corners do."""
        return "corners", self._relation.key, self._groups_of_intercepts, penalty.row.tobytes()


def _most(beta: Any) -> Any:
    """Return the number, or the largest one, that beta stands for; columns stay what they are."""
    return USUAL_BETA if isinstance(beta, str) else beta


def _terms(params: Mapping[str, Any], n_samples: float) -> Coefficients:
    reading, beta = as_formulation(params["formulation"]), params["beta"]
    if isinstance(beta, str):
        beta = reading.usual_beta(params["C"], n_samples)
    return reading.coefficients(params["eta"], beta)


def _all_f(reading: Formulation, models: Sequence[Mapping[str, Any]], n_samples: float) -> Array:
    """Return the f of models, of which there may be thousands."""
    betas = [params["beta"] for params in models]
    if any(isinstance(beta, str) for beta in betas):
        return np.array([_terms(params, n_samples).f for params in models])
    columns: Any = np.array([[params["eta"] for params in models], betas], dtype=np.float64)
    return np.asarray(reading.coefficients(*columns).f)


def _check_evidence(params: Mapping[str, Any]) -> None:
    """Raise where parameters ask for what the evidence does not offer."""
    loss = params.get("loss", "hinge")
    if loss != "squared" and not isinstance(loss, Squared):
        raise ValueError(
            "formulation='evidence' needs loss='squared', of which it is the Gaussian reading: got "
            f"{f'loss={loss!r}' if 'loss' in params else 'a classifier'}; use 'normalized' or "
            "'corrected' with other losses."
        )
    if params["operator"] in ("low_rank", "on_demand"):
        raise ValueError(
            "formulation='evidence' holds all kernel matrices: got "
            f"operator={params['operator']!r}; use 'auto' or 'dense'."
        )
    if params["neighborhood"] is not None:
        raise ValueError(
            "neighborhood has no place in formulation='evidence', where weights have no other "
            "price than the likelihood: leave one of them out."
        )
    if np.isfinite(params["specific_cost"]) and params["specific_cost"] != 1.0:
        raise ValueError(
            "specific_cost must be 1 or infinite with formulation='evidence', which prices weights "
            f"by the likelihood alone: got {params['specific_cost']:g}."
        )
