"""MT-ONMKL: multi-task learning with optimal neighborhood kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood._typing import Array
from kernelhood.estimators.base import MultiTaskModel
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.docs import estimator
from kernelhood.estimators.formulations import (
    FORMULATIONS,
    USUAL_BETA,
    Coefficients,
    Formulation,
    as_formulation,
    check_domain,
    in_domain,
    why_outside,
)
from kernelhood.estimators.given_neighborhood import NEEDS_NEIGHBORHOOD, NearGiven
from kernelhood.estimators.method import Method
from kernelhood.estimators.related import JointMethod
from kernelhood.estimators.related_model import RelatedModel
from kernelhood.estimators.training import TaskKernels
from kernelhood.inspection.model import Neighborhood
from kernelhood.losses import REGRESSION_LOSSES, Loss, RidgeLoss
from kernelhood.penalties import Concave, Penalty
from kernelhood.solvers.block import Block
from kernelhood.solvers.concave_path import SingleKernels, solve_concave, solved_rewards
from kernelhood.solvers.loop import solve
from kernelhood.solvers.neighborhood import identity_projection, neighborhood_weights
from kernelhood.solvers.problem import Problem, Solution, solved_ahead, valued

_LARGE, _THINNING = 1200, 3
#: Of very many models, the number that is looked at first.
_FIRST_LOOK = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class MTONMKL(JointMethod):
    r"""Problem (P) and the closed form of its neighborhoods.

    Parameters
    ----------
    eta : float
        Weight of the distance between a task's kernel and its neighborhood-defining matrix. In
        `corrected` it moves that matrix, never the predictions.
    beta : float or "auto"
        Weight of the regulariser that the Rademacher bound suggests. In `normalized`, the larger,
        the wider the kernels that are chosen; otherwise, the larger, the smaller their weights.
        "auto" is 0.001, and in `normalized` at most ``C / (4 * n_samples)`` with the number of
        samples that are solved together: more would choose wide kernels whatever the targets.
    formulation : {"normalized", "corrected", "printed"} or Formulation
        Which problem we take the paper to solve; see the page "Reading the paper".
        `normalized`, the default, fixes the trace of each task's kernel and rewards concentrated
        spectra; its gap is that of the convex problem that its stationary point solves.
        `corrected` prices the trace: a convex problem with one parameter, ``beta / C**2``.
        `normalized` needs ``eta > 2 * beta``, `printed` ``eta >= 7 * beta``.

    Notes
    -----
    For every task t the model solves problem (P),

    .. math:: \min_{\theta_t \ge 0}\ S_t(K_t) + a\, d_t'\theta_t + \tfrac f2 \theta_t' G_t \theta_t,

    with :math:`K_t = \sum_m \theta_t^m K_t^m`, :math:`S_t` the value of the task's SVM, :math:`d_t`
    the traces and :math:`G_t` the Frobenius products of the base kernels; formulations set a and f.

    With ``relation="functions"`` all tasks are one such problem: K is the matrix
    :math:`\sum_m (\mu^m + [s = t] \lambda_t^m) k_m` between the samples of all tasks, and
    `specific_cost` of the relation multiplies the traces of the :math:`\lambda_t`. Then
    ``shared_weights_`` and ``specific_weights_`` are :math:`\mu` and :math:`\lambda`, which the
    problem determines; otherwise they are the largest common part of the weights and the rest.
    """

    eta: float
    beta: float | str
    formulation: str | Formulation

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "eta": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "formulation": [StrOptions({*FORMULATIONS, "evidence"}), Formulation],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("eta", "beta", "radius")

    @classmethod
    def kind(cls, params: Mapping[str, Any]) -> type[Method]:
        """Return this method, or the one of neighborhoods that are given."""
        return cls if params["neighborhood"] is None else NearGiven

    @classmethod
    def kinds(cls) -> tuple[type[Method], ...]:
        """Return both."""
        return (cls, NearGiven)

    # The problem.

    def check(self) -> None:
        """Raise if the formulation's problem has no minimum, or parameters contradict."""
        super().check()
        if self.radius is not None:
            raise ValueError(NEEDS_NEIGHBORHOOD)
        check_domain(self.formulation, self.eta, _most(self.beta))

    @property
    def reading(self) -> Formulation:
        """The formulation."""
        return as_formulation(self.formulation)

    def penalty(self, gram: Callable[[], Array], d: Array, n_samples: float) -> Penalty:
        """Return the penalty of problem (P)."""
        return self.reading.penalty(_terms(vars(self), n_samples), gram, d, n_samples)

    def closed_form(self, weights: Array, gamma: Array, n_samples: float) -> Array:
        """Return kappa, the coefficients of the neighborhoods that the weights make best."""
        terms = _terms(vars(self), n_samples)
        return neighborhood_weights(weights, gamma, terms.s, terms.r)

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Solve problem (P) of one task, and find its neighborhood."""
        penalty = self.penalty(lambda: kernels.gram, kernels.traces, problem.counted)
        given = problem.weights is not None
        found = problem.certified(penalty, self.tol) if penalty.convex else None
        if found is None:
            start = problem.closest_start(penalty) if penalty.convex else problem.start
            carried = None if penalty.convex else problem.carried
            if not penalty.convex and start is None and carried is None:
                problem = self._from_a_part(kernels, problem)
            found = self.minimise(kernels.blocks(problem), penalty, problem, start, carried)
        if given and found.gap > self.tol:
            # Weights that are given may lead to where no gap closes.
            cold = self.solve_task(kernels, replace(problem, weights=None))
            if cold.solution.gap < found.gap:
                return cold
        if problem.only_scored:
            return TaskSolution(found)
        G, d = kernels.gram, kernels.traces
        kappa = self.closed_form(found.weights, identity_projection(G, d), problem.counted)
        return TaskSolution(found, Neighborhood(kappa, G, d))

    def _from_a_part(self, kernels: TaskKernels, problem: TaskProblem) -> TaskProblem:
        """Return a task with the weights of a part of its samples to start from.

        A path takes many linear systems, whose cost grows with the cube of the samples; those of a
        third of them end at nearly the same weights for a small share of that cost.
        """
        small = len(problem.rows) < _LARGE or not isinstance(problem.loss, RidgeLoss)
        if small or problem.weights is not None:
            return problem
        some = problem.thinned(_THINNING)
        part = TaskKernels(kernels.bank, some.X, some.sample_weight)
        return replace(problem, weights=self.solve_task(part, some).solution.weights)

    def minimise(
        self,
        blocks: list[Block],
        penalty: Penalty,
        problem: TaskProblem,
        start: Solution | None,
        carried: Solution | None = None,
    ) -> Solution:
        """Solve problem (P)."""
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if not isinstance(penalty, Concave):
            return solve(Problem(blocks, penalty), start=start, **limits)
        key = self._corner_key(penalty)
        if key not in problem.kept:
            problem.kept[key] = SingleKernels(blocks, penalty.row, penalty.budget, penalty.G)
        if start is None and (first := problem.first_weights(len(penalty.row))) is not None:
            start = valued(blocks, penalty.nearest(first))
        return solve_concave(
            blocks, penalty, start=start, carried=carried, corners=problem.kept[key], **limits
        )

    def _corner_key(self, penalty: Concave) -> tuple[Any, ...]:
        """Return a key that differs if the kernels or the intercepts of the corners do."""
        return "corners", self.stated.key, self.groups, penalty.row.tobytes()

    # What a search asks.

    @classmethod
    def canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters that give the same predictor and are equal for equal models."""
        same, reading = super().canonical(params), as_formulation(params["formulation"])
        same.update(reading.canonical(params["C"], params["eta"], _most(params["beta"])))
        if isinstance(params["beta"], str) and reading.beta_follows_samples:
            same.update(eta=params["eta"], beta=params["beta"])
        return same

    @classmethod
    def has_many_solutions(cls, params: Mapping[str, Any]) -> bool:
        """Return whether the solution depends on where it starts."""
        return not as_formulation(params["formulation"]).convex

    @classmethod
    def in_domain(cls, params: Mapping[str, Any]) -> Any:
        """Return whether the formulation's problem has a minimum."""
        if params["radius"] is not None:
            return False
        return in_domain(params["formulation"], params["eta"], _most(params["beta"]))

    @classmethod
    def why_outside(cls, params: Mapping[str, Any]) -> str:
        """Return why it has none."""
        if params["radius"] is not None:
            return NEEDS_NEIGHBORHOOD
        return why_outside(params["formulation"], params["eta"], _most(params["beta"]))

    @classmethod
    def path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the order of the formulation."""
        numbers = {**params, "beta": _most(params["beta"])}
        return as_formulation(params["formulation"]).path_order(numbers)

    def certified_ahead(
        self,
        found: Solution,
        models: Sequence[Mapping[str, Any]],
        kernels: TaskKernels,
        problem: TaskProblem,
    ) -> int:
        """Look ahead along a line of prices, or the very many rewards of a concave penalty."""
        penalty = self.penalty(lambda: kernels.gram, kernels.traces, problem.counted)
        if not isinstance(penalty, Concave):
            return self._prices_ahead(found, models, kernels, problem)
        corners, counted = problem.kept.get(self._corner_key(penalty)), problem.counted
        ahead, size = 0, _FIRST_LOOK
        while ahead < len(models):
            some = models[ahead : ahead + size]
            rewards = -_all_f(self.reading, some, counted)
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
        reading = self.reading
        if not reading.straight:
            return 0

        def penalty_of(number: int) -> Penalty:
            terms = _terms(models[number], problem.counted)
            return reading.penalty(terms, lambda: kernels.gram, kernels.traces, problem.counted)

        return solved_ahead(found, penalty_of, len(models), self.tol)


def _most(beta: Any) -> Any:
    """Return the number, or the largest one, that beta stands for; columns stay what they are."""
    return USUAL_BETA if isinstance(beta, str) else beta


def _terms(params: Mapping[str, Any], n_samples: float) -> Coefficients:
    """Return the coefficients of a formulation if so many samples are solved together."""
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


@estimator
class MTONMKLClassifier(ClassifierMixin, RelatedModel):
    """Multi-task classification with optimal neighborhood kernels (MT-ONMKL).

    A task may have more than two classes: then there is one SVM for each pair of them, and all
    pairs of a task have the same kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import MTONMKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = MTONMKLClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """

    _method = MTONMKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    class_weight: Any = None


@estimator
class MTONMKLRegressor(RegressorMixin, RelatedModel):
    r"""Multi-task regression with optimal neighborhood kernels (MT-ONMKL).

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared"} or Loss
        What a wrong prediction costs, times C: :math:`\max(0, \lvert y - f \rvert - \varepsilon)`,
        :math:`\tfrac12 (y - f)^2`, or a loss such as `kernelhood.losses.Quantile`.
    standardize_targets : bool or "auto"
        Whether targets are standardised inside, so that `C`, `epsilon` and `beta` have no units.
        Tasks that are solved together and have the same quantity as their target have one unit,
        the standard deviation within tasks; independent tasks, and columns of a 2-D y, have each
        their own. "auto" standardises if `kernels` are fitted to the data, too, and leaves
        targets alone if kernels are given or the paper's.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import MTONMKLRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2])
    >>> model = MTONMKLRegressor(C=100.0, epsilon=0.01).fit(X, y)
    >>> model.predict(X).shape, model.tasks_
    ((50, 2), [0, 1])
    """

    _method = MTONMKL
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [StrOptions(set(REGRESSION_LOSSES)), Loss],
        "standardize_targets": ["boolean", StrOptions({"auto"})],
    }
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    epsilon: float = 0.1
    loss: str | Loss = "epsilon_insensitive"
    standardize_targets: bool | str = "auto"
