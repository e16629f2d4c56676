"""A smaller problem that is nearly the same: fewer of many tasks, or fewer samples of each.

Each of its samples stands for several, so that the SVMs' values are about those of all samples, and
the penalty is the same. Weights are those of the whole problem up to their units: what n tasks have
in common is learned from all of their samples, and what a task has for itself from its own ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from kernelhood._typing import Array, Indices
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.formulations import (
    USUAL_BETA,
    Coefficients,
    Formulation,
    as_formulation,
    check_domain,
    in_domain,
    why_outside,
)
from kernelhood.estimators.functions import RelatedTasks
from kernelhood.estimators.training import JointKernels, TaskKernels
from kernelhood.inspection.model import BoundInspection, BoundTerms, Neighborhood
from kernelhood.penalties import Concave, Penalty
from kernelhood.relations.matrices import TaskMatrices
from kernelhood.solvers.block import Block
from kernelhood.solvers.concave_path import solved_rewards
from kernelhood.solvers.neighborhood import identity_projection, neighborhood_weights
from kernelhood.solvers.problem import Solution, solved_ahead
from kernelhood.solvers.warm_start import cut_down, valued

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
        if start is None:
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
