"""The step of MT-ONMKL: problem (P) for every task or for all as one, and the closed form."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood._typing import Array
from kernelhood.bounds import BoundTerms
from kernelhood.estimators._inspection import BoundInspection, Neighborhood
from kernelhood.estimators._joint import JointKernels, one_task_kernels
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.estimators._sharing import FunctionSharing
from kernelhood.formulations import (
    FORMULATIONS,
    Coefficients,
    check_domain,
    coefficients,
    in_domain,
    weight_penalty,
    why_outside,
)
from kernelhood.kernels import KernelBank
from kernelhood.losses import DualTerms
from kernelhood.solvers.concave import solve_concave, solved_rewards
from kernelhood.solvers.corners import Corners
from kernelhood.solvers.family import KernelFamily
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.neighborhood import identity_projection, neighborhood_weights
from kernelhood.solvers.penalty import Penalty


class NeighborhoodStep(BoundInspection, FunctionSharing):
    """The one step in which MT-ONMKL differs from its peers: problem (P) and the closed form.

    Parameters
    ----------
    eta : float
        Weight of the distance between a task's kernel and its neighborhood-defining matrix. In
        `corrected` it moves that matrix, never the predictions.
    beta : float
        Weight of the regulariser that the Rademacher bound suggests. In `normalized`, the larger,
        the wider the kernels that are chosen; otherwise, the larger, the smaller their weights.
    formulation : {"normalized", "corrected", "printed"}
        Which problem the paper's iteration is read as; see the page "Reading the paper".
        `normalized`, the default, fixes the trace of each task's kernel and rewards concentrated
        spectra; its gap is that of the convex problem that its stationary point solves.
        `corrected` prices the trace: a convex problem with one parameter, ``beta / C**2``.
        `normalized` needs ``eta > 2 * beta``, `printed` ``eta >= 7 * beta``.

    Attributes
    ----------
    neighborhood_weights_ : ndarray of shape (n_tasks, n_kernels)
        kappa, the coefficients of the neighborhood-defining matrices on the base kernels.

    Notes
    -----
    For every task t the model solves problem (P),

        min over theta_t >= 0 of  S_t(K_t) + a d_t'theta_t + (f/2) theta_t'G_t theta_t,

    with K_t = sum_m theta_t^m K_t^m, S_t the value of the task's SVM, d_t the traces and G_t the
    Frobenius products of the base kernels; a and f follow from the formulation.

    With ``sharing="functions"`` all tasks are one such problem: K is the matrix
    ``sum_m (mu^m + [s = t] lambda_t^m) k_m`` between the samples of all tasks, theta is
    [mu; lambda_1; ...; lambda_T], and `specific_cost` multiplies the traces of the lambdas. Then
    ``shared_weights_`` and ``specific_weights_`` are mu and lambda, which the problem determines;
    otherwise they are the largest common part of the weights and the rest.
    """

    _parameter_constraints: dict[str, Any] = {
        "eta": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "formulation": [StrOptions(set(FORMULATIONS))],
    }

    _path_parameters: tuple[str, ...] = ("eta", "beta", "specific_cost")

    eta: float
    beta: float
    formulation: str
    tol: float
    max_iter: int

    def _check_settings(self) -> None:
        super()._check_settings()
        check_domain(self.formulation, self.eta, self.beta)

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the representative of all (C, eta, beta) that give the same predictor.

        The predictor depends on a / C^2 and f / C^3 only: for `corrected` on beta / C^2, for
        `printed` on C and beta / eta, and for `normalized` on C and the reward w.
        """
        C, eta, beta = params["C"], params["eta"], params["beta"]
        same = super()._canonical(params)
        if not cls._couples(params):
            same.update(specific_cost=1.0, intercept="task")
        if params["formulation"] == "corrected":
            same.update(C=1.0, eta=1.0, beta=beta / (C * C))
        elif params["formulation"] == "printed":
            same.update(eta=eta / beta, beta=1.0)
        else:
            reward = 2.0 * eta * beta / (eta - 2.0 * beta)
            same.update(eta=reward, beta=0.25 * reward)
        return same

    @classmethod
    def _in_domain(cls, params: Mapping[str, Any]) -> Any:
        return in_domain(params["formulation"], params["eta"], params["beta"])

    @classmethod
    def _why_outside(cls, params: Mapping[str, Any]) -> str:
        return why_outside(params["formulation"], params["eta"], params["beta"])

    @classmethod
    def _path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Let the price fall along the path; the reward of `normalized` has to rise instead.

        It rises against the SVM's value, too, where C falls.
        """
        cost = params["specific_cost"]
        if params["formulation"] == "normalized":
            return (np.isinf(cost), cost, -params["C"], params["beta"])
        # An infinite cost leaves out weights, which makes another path.
        return (np.isinf(cost), params["C"], -params["beta"], params["eta"], cost)

    def _certified_ahead(
        self,
        found: Solution,
        models: Sequence[Mapping[str, Any]],
        Ks: Array,
        problem: TaskProblem,
        G: Array,
        d: Array,
    ) -> int:
        """Look ahead along the rewards of `normalized`, of which a grid holds very many."""
        if self.formulation != "normalized":
            return 0
        rewards = np.array([4.0 * params["beta"] for params in models])
        return solved_rewards(found, G, d, rewards, self.tol, problem.kept.get(self._corner_key(d)))

    def _solve_task(self, Ks: Array, problem: TaskProblem, G: Array, d: Array) -> TaskSolution:
        terms = coefficients(self.formulation, self.eta, self.beta)
        penalty = weight_penalty(terms, G, d, float(problem.sample_weight.sum()))
        kernels, carried = one_task_kernels(Ks, problem), None
        if terms.fixed_trace:
            start, carried = problem.start, problem.carried
        else:
            start = problem.start_for(penalty, self.tol)
        found = self._minimise(
            kernels, problem.terms, penalty, G, terms, problem.kept, start, carried
        )
        if problem.only_scored:
            return TaskSolution(found)
        kappa = neighborhood_weights(found.weights, identity_projection(G, d), terms.s, terms.r)
        return TaskSolution(found, Neighborhood(kappa, G, d))

    def _minimise(
        self,
        kernels: KernelFamily | Array,
        loss: DualTerms,
        penalty: Penalty,
        G: Array,
        terms: Coefficients,
        kept: dict[Hashable, Any],
        start: Solution | None,
        carried: Solution | None = None,
    ) -> Solution:
        """Solve problem (P) of the formulation."""
        limits: dict[str, Any] = {"start": start, "tol": self.tol, "max_iter": self.max_iter}
        if not terms.fixed_trace:
            return solve_mkl(kernels, loss, penalty, **limits)
        key = self._corner_key(penalty.row)
        if key not in kept:
            kept[key] = Corners(kernels, loss, penalty, G)
        return solve_concave(
            kernels, loss, penalty, G, -terms.f, carried=carried, corners=kept[key], **limits
        )

    def _corner_key(self, row: Array) -> Hashable:
        """Return a key that differs where the kernels or the intercepts of the corners do."""
        return "corners", self.sharing, self.intercept, len(row)

    def _solve_tasks(self, bank: KernelBank, problems: list[TaskProblem]) -> list[TaskSolution]:
        if self.sharing != "functions":
            return super()._solve_tasks(bank, problems)
        joint = bank if isinstance(bank, JointKernels) else self._join(bank, problems)
        return self._solve_jointly(joint, problems)

    def _solve_jointly(
        self, joint: JointKernels, problems: list[TaskProblem]
    ) -> list[TaskSolution]:
        """Solve problem (P) with the weights of all tasks, and give every task its part."""
        terms = coefficients(self.formulation, self.eta, self.beta)
        family = joint.family(self._has_specific(len(problems)))
        scored = problems[0].only_scored
        n_weights, n_kernels = family.n_weights, family.n_kernels
        d = joint.traces[:n_weights]
        A = np.zeros((n_weights, n_weights))
        if terms.f != 0.0 or not scored:
            A = joint.gram[:n_weights, :n_weights]
        price = np.where(np.arange(n_weights) < n_kernels, d, self.specific_cost * d)
        penalty = weight_penalty(terms, A, price, float(joint.samples.counts.sum()))
        loss = joint.samples.terms(problems, self.intercept)
        start = _usable_start(problems, n_weights, loss)
        found = self._minimise(family, loss, penalty, A, terms, problems[0].kept, start)
        kappa = None
        if not scored:
            gamma = identity_projection(A, d)
            kappa = neighborhood_weights(found.weights, gamma, terms.s, terms.r)
            self._joint_neighborhood = Neighborhood(kappa, A, d)
        return joint.parts(found, kappa, family)

    def _bound_terms(self) -> BoundTerms:
        if self.sharing != "functions":
            return super()._bound_terms()
        one = self._joint_neighborhood
        return BoundTerms.from_tasks(one.gram[None], one.traces[None], one.weights[None])


def _usable_start(problems: list[TaskProblem], n_weights: int, loss: DualTerms) -> Solution | None:
    """Return the last joint solution where it has the same weights and intercepts."""
    start = problems[0].together
    if start is None or len(start.weights) != n_weights:
        return None
    return start if len(start.intercepts) == len(loss.starts) - 1 else None
