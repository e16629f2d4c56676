"""MT-ONMKL with neighborhoods that the user chooses: the paper's class, Khat being fixed."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import _clone_parametrized
from sklearn.utils._param_validation import Interval

from kernelhood._typing import Array
from kernelhood.bounds import BoundTerms
from kernelhood.estimators._formulation_search import FormulationSearch
from kernelhood.estimators.neighborhoods.boundary import Ball
from kernelhood.estimators.neighborhoods.fixed import (
    FixedMatrix,
    FixedNeighborhood,
    room_within,
)
from kernelhood.estimators.neighborhoods.radius import solve_within
from kernelhood.estimators.neighborhoods.values import GivenNeighborhood, read_neighborhood
from kernelhood.penalties import Distance
from kernelhood.pipeline.inspection import Neighborhood
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.pipeline.task_kernels import TaskKernels
from kernelhood.solvers.solution import Solution
from kernelhood.tasks import TaskRows


class GivenNeighborhoodStep(FormulationSearch):
    r"""The step of MT-ONMKL where the neighborhoods are given.

    Parameters
    ----------
    neighborhood : kernel, str, callable, tuple, dict or fitted model, optional
        What defines the neighborhoods, instead of the paper's regulariser: then the model is
        :math:`\sum_t S_t(K_t) + \tfrac\eta2 \lVert K_t - \hat K_t\rVert_F^2` over
        :math:`\theta_t \ge 0` with these :math:`\hat K_t`, which may be
        indefinite; `beta` and `formulation` play no part. A kernel of this library, the name of one
        of scikit-learn's pairwise kernels, a function ``k(X, Z)``, or a pair (kernels, weights)
        is evaluated at every task's samples. A dict has a symmetric matrix for every task, between
        its rows in the order of X. A fitted model of this library stands for the kernels that it
        learned: those of the task of the same name, the mean over its tasks where it has none; its
        data are not needed. Only for tasks that are independent, ``sharing="weights"``.
    radius : float, optional
        :math:`\rho`, to ask for :math:`\sum_t \lVert K_t - \hat K_t\rVert_F^2 \le \rho` instead of
        pricing the distance: the model is then :math:`\sum_t S_t(K_t)` under this constraint, and
        `eta` is not used. All tasks share one :math:`\rho`.

    Attributes
    ----------
    multiplier_ : float
        With `radius`, the eta whose penalised model has the same solution; 0 where the radius does
        not matter.
    """

    _parameter_constraints: dict[str, Any] = {
        "neighborhood": "no_validation",
        "radius": [Interval(Real, 0, None, closed="left"), None],
    }

    _path_parameters: tuple[str, ...] = (*FormulationSearch._path_parameters, "radius")

    neighborhood: Any
    radius: float | None

    def __sklearn_clone__(self) -> Self:
        """Keep a fitted model that defines the neighborhoods: its copy would not be fitted."""
        bare = copy.copy(self)
        bare.neighborhood = None
        new: Self = _clone_parametrized(bare)
        new.neighborhood = self.neighborhood
        return new

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        if params["neighborhood"] is None:
            return super()._canonical(params)
        _check_given(params["neighborhood"], cls._couples(params))
        if isinstance(params["neighborhood"], Mapping):
            raise ValueError(
                "neighborhood holds matrices for all training rows, and a search splits them: "
                "give a function of X, such as Precomputed(K) with a column of row numbers."
            )
        same = {**params, "beta": 1.0, "formulation": "corrected", "specific_cost": 1.0}
        same["intercept"] = "task"
        return same if params["radius"] is None else {**same, "eta": 1.0}

    @classmethod
    def _has_many_solutions(cls, params: Mapping[str, Any]) -> bool:
        return params["neighborhood"] is None and super()._has_many_solutions(params)

    @classmethod
    def _solves_together(cls, params: Mapping[str, Any]) -> bool:
        return params["radius"] is not None or super()._solves_together(params)

    @classmethod
    def _in_domain(cls, params: Mapping[str, Any]) -> Any:
        if params["neighborhood"] is None:
            return super()._in_domain(params) if params["radius"] is None else False
        return True

    @classmethod
    def _why_outside(cls, params: Mapping[str, Any]) -> str:
        return super()._why_outside(params) if params["radius"] is None else _NEEDS_NEIGHBORHOOD

    @classmethod
    def _path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        if params["neighborhood"] is None:
            return super()._path_order(params)
        return (params["C"], params["eta"] if params["radius"] is None else params["radius"])

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.neighborhood is not None:
            _check_given(self.neighborhood, self._couples(vars(self)))
        elif self.radius is not None:
            raise ValueError(_NEEDS_NEIGHBORHOOD)

    def _pose(self, points: Any, tasks: list[TaskRows], sample_weight: Any) -> list[TaskProblem]:
        if self.neighborhood is not None:
            read = read_neighborhood(self.neighborhood)
            self._around = read.fitted_to(points, tasks, self._names_without_task())
        return super()._pose(points, tasks, sample_weight)

    def _fixed(self, kernels: TaskKernels, problem: TaskProblem) -> FixedMatrix:
        """Return a task's matrix, evaluated once for all models with the same kernels."""
        kept = kernels.kept.get("neighborhood")
        if kept is None or kept[0] is not self.neighborhood:
            around = vars(self).get("_around") or read_neighborhood(self.neighborhood)
            kept = self.neighborhood, FixedMatrix.of(kernels, around.at(problem))
            kernels.kept["neighborhood"] = kept
        fixed: FixedMatrix = kept[1]
        return fixed

    def _solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        if self.neighborhood is None:
            return super()._solve_task(kernels, problem)
        fixed = self._fixed(kernels, problem)
        penalty = Distance(float(self.eta), kernels.gram, fixed.centre, fixed.slack)
        found = problem.certified(penalty, self.tol)
        if found is None:
            start = problem.closest_start(penalty)
            if start is not None and not start.weights.any():
                start = None  # the dual vector of a kernel of zeros says little
            found = self._minimise(kernels.blocks(problem), penalty, problem, start)
        found = _raised(found, 0.5 * float(self.eta) * fixed.least)
        return TaskSolution(found, fixed.described(kernels, found.weights))

    def _solve_tasks(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        if self.neighborhood is None or self.radius is None:
            return super()._solve_tasks(kernels, problems)
        pairs = list(zip(kernels, problems, strict=True))
        fixed = [self._fixed(*pair) for pair in pairs]
        balls = [
            Ball(own.blocks(problem), own.gram, one.centre, one.slack)
            for (own, problem), one in zip(pairs, fixed, strict=True)
        ]
        found = solve_within(
            balls,
            room_within(float(self.radius), fixed),
            starts=[problem.starts[0] if problem.starts else None for problem in problems],
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        self.multiplier_ = found.eta
        rows = zip(found.solutions, kernels, fixed, strict=True)
        return [TaskSolution(one, its.described(own, one.weights)) for one, own, its in rows]

    def _store_neighborhoods(self, found: list[Neighborhood | None]) -> None:
        super()._store_neighborhoods(found)
        parts = [one.outside for one in found if isinstance(one, FixedNeighborhood)]
        self._outside = sum(parts)

    def _bound_terms(self) -> BoundTerms:
        terms = super()._bound_terms()
        return terms._replace(excess=terms.excess - 4.0 * self._outside)

    def neighborhood_kernel(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the kernel that defines the task's neighborhood.

        It is ``sum_m kappa_t^m k_m``, or the kernel that was given. Of matrices that were given it
        is their projection onto the base kernels, which is what other points see of them.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            Points; with `task_column`, without that column.
        task : hashable
            One of ``tasks_``.
        """
        self._task_number(task)
        if self.neighborhood is not None:
            found = self._around.between(X, Z, task)
            if found is not None:
                return found
        return super().neighborhood_kernel(X, Z, task)

    _around: GivenNeighborhood


_NEEDS_NEIGHBORHOOD = (
    "radius is the largest squared distance from a neighborhood that is given: give neighborhood, "
    "or leave out radius."
)


def _check_given(neighborhood: Any, coupled: bool) -> None:
    """Raise where no model has such a neighborhood."""
    if coupled:
        raise ValueError(
            "neighborhood needs tasks that are independent: use sharing='weights' and no relation "
            "that couples tasks."
        )
    read_neighborhood(neighborhood)


def _raised(found: Solution, constant: float) -> Solution:
    """Return a solution with a constant added to its objective."""
    trace = found.trace + np.array([constant, 0.0])
    return found._replace(objective=found.objective + constant, trace=trace)
