"""MT-ONMKL: multi-task learning with optimal neighborhood kernels."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.docs import documented
from kernelhood.estimators.formulations import FORMULATIONS, Formulation
from kernelhood.estimators.given_neighborhood import GivenNeighborhoodStep
from kernelhood.estimators.jointly import FormulationSearch
from kernelhood.estimators.targets import LossChoice, MultiTaskClassifier
from kernelhood.estimators.training import TaskKernels
from kernelhood.inspection.model import Neighborhood
from kernelhood.losses import Loss, RidgeLoss
from kernelhood.penalties import Concave, Penalty
from kernelhood.solvers.block import Block
from kernelhood.solvers.concave_path import SingleKernels, solve_concave
from kernelhood.solvers.loop import solve
from kernelhood.solvers.neighborhood import identity_projection
from kernelhood.solvers.problem import Problem, Solution
from kernelhood.solvers.warm_start import valued

_LARGE, _THINNING = 1200, 3


class _NeighborhoodStep(FormulationSearch):
    r"""The one step in which MT-ONMKL differs from its peers: problem (P) and the closed form.

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
        Which problem the paper's iteration is read as; see the page "Reading the paper".
        `normalized`, the default, fixes the trace of each task's kernel and rewards concentrated
        spectra; its gap is that of the convex problem that its stationary point solves.
        `corrected` prices the trace: a convex problem with one parameter, ``beta / C**2``.
        `normalized` needs ``eta > 2 * beta``, `printed` ``eta >= 7 * beta``.
    missing : {"error", "indicator"}
        What missing values in X are: an error, or filled by the mean of the training rows, in
        columns of categories by the most frequent one. With "indicator" each column in which
        training rows have any gets a kernel beside the others that tells rows with and without
        a value apart.

    Attributes
    ----------
    neighborhood_weights_ : ndarray of shape (n_tasks, n_kernels)
        :math:`\kappa`, the coefficients of the neighborhood-defining matrices on the base kernels.

    Notes
    -----
    For every task t the model solves problem (P),

    .. math:: \min_{\theta_t \ge 0}\ S_t(K_t) + a\, d_t'\theta_t + \tfrac f2 \theta_t' G_t \theta_t,

    with :math:`K_t = \sum_m \theta_t^m K_t^m`, :math:`S_t` the value of the task's SVM, :math:`d_t`
    the traces and :math:`G_t` the Frobenius products of the base kernels; formulations set a and f.

    With ``sharing="functions"`` all tasks are one such problem: K is the matrix
    :math:`\sum_m (\mu^m + [s = t] \lambda_t^m) k_m` between the samples of all tasks, and
    `specific_cost` multiplies the traces of the :math:`\lambda_t`. Then ``shared_weights_`` and
    ``specific_weights_`` are :math:`\mu` and :math:`\lambda`, which the problem determines;
    otherwise they are the largest common part of the weights and the rest.
    """

    _parameter_constraints: dict[str, Any] = {
        "eta": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "formulation": [StrOptions({*FORMULATIONS, "evidence"}), Formulation],
        "missing": [StrOptions({"error", "indicator"})],
    }

    formulation: str | Formulation

    def _solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        penalty, given = self._task_penalty(kernels, problem), problem.weights is not None
        found = problem.certified(penalty, self.tol) if penalty.convex else None
        if found is None:
            start = problem.closest_start(penalty) if penalty.convex else problem.start
            carried = None if penalty.convex else problem.carried
            if not penalty.convex and start is None and carried is None:
                problem = self._from_a_part(kernels, problem)
            found = self._minimise(kernels.blocks(problem), penalty, problem, start, carried)
        if given and found.gap > self.tol:
            # Weights that are given may lead to where no gap closes.
            cold = self._solve_task(kernels, replace(problem, weights=None))
            if cold.solution.gap < found.gap:
                return cold
        if problem.only_scored:
            return TaskSolution(found)
        G, d = kernels.gram, kernels.traces
        kappa = self._closed_form(found.weights, identity_projection(G, d), problem.counted)
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
        return replace(problem, weights=self._solve_task(part, some).solution.weights)

    def _minimise(
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


@documented
class MTONMKLClassifier(GivenNeighborhoodStep, _NeighborhoodStep, MultiTaskClassifier):
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

    _many_classes = True

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        eta: float = 16.0,
        beta: float | str = "auto",
        formulation: str | Formulation = "normalized",
        neighborhood: Any = None,
        radius: float | None = None,
        sharing: str = "auto",
        relation: Any = None,
        specific_cost: float = 1.0,
        intercept: str = "auto",
        unseen_task: str = "warn",
        operator: str = "auto",
        n_components: int = 200,
        landmarks: Any = None,
        cache_size: float = 1000.0,
        storage: str = "float64",
        missing: str = "error",
        tol: float = 1e-3,
        max_iter: int = 100,
        class_weight: Any = None,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        self.kernels, self.C, self.class_weight = kernels, C, class_weight
        self.tol, self.max_iter, self.task_column = tol, max_iter, task_column
        self.n_jobs, self.verbose = n_jobs, verbose
        self.eta, self.beta = eta, beta
        self.formulation, self.sharing, self.relation = formulation, sharing, relation
        self.neighborhood, self.radius, self.intercept = neighborhood, radius, intercept
        self.specific_cost, self.unseen_task, self.missing = specific_cost, unseen_task, missing
        self.operator, self.n_components, self.landmarks = operator, n_components, landmarks
        self.cache_size, self.storage = cache_size, storage


@documented
class MTONMKLRegressor(GivenNeighborhoodStep, _NeighborhoodStep, LossChoice):
    """Multi-task regression with optimal neighborhood kernels (MT-ONMKL).

    Parameters
    ----------
    standardize_targets : bool or "auto"
        Whether targets are standardised inside, so that `C`, `epsilon` and `beta` have no units.
        Tasks that are solved together and have the same quantity as their target have one unit,
        the standard deviation within tasks; independent tasks, and columns of a 2-D y, have each
        their own. "auto" standardises where `kernels` are fitted to the data, too, and leaves
        targets alone where kernels are given or the paper's.

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

    _parameter_constraints: dict[str, Any] = {
        "standardize_targets": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        eta: float = 16.0,
        beta: float | str = "auto",
        epsilon: float = 0.1,
        loss: str | Loss = "epsilon_insensitive",
        quantile: float = 0.5,
        standardize_targets: bool | str = "auto",
        formulation: str | Formulation = "normalized",
        neighborhood: Any = None,
        radius: float | None = None,
        sharing: str = "auto",
        relation: Any = None,
        specific_cost: float = 1.0,
        intercept: str = "auto",
        unseen_task: str = "warn",
        operator: str = "auto",
        n_components: int = 200,
        landmarks: Any = None,
        cache_size: float = 1000.0,
        storage: str = "float64",
        missing: str = "error",
        tol: float = 1e-3,
        max_iter: int = 100,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        self.kernels, self.C, self.epsilon = kernels, C, epsilon
        self.tol, self.max_iter, self.task_column = tol, max_iter, task_column
        self.n_jobs, self.verbose = n_jobs, verbose
        self.loss, self.quantile = loss, quantile
        self.standardize_targets, self.eta, self.beta = standardize_targets, eta, beta
        self.formulation, self.sharing, self.relation = formulation, sharing, relation
        self.neighborhood, self.radius, self.intercept = neighborhood, radius, intercept
        self.specific_cost, self.unseen_task, self.missing = specific_cost, unseen_task, missing
        self.operator, self.n_components, self.landmarks = operator, n_components, landmarks
        self.cache_size, self.storage = cache_size, storage
