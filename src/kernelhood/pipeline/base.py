"""The one pipeline of all estimators: read the tasks, evaluate kernels, solve, store.

A method overrides `_solve_task` (or `_evaluate` and `_solve_tasks` where its tasks are coupled);
what a target means is up to the classifier's and the regressor's part.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight

from kernelhood._typing import Array
from kernelhood.kernels import KernelBank
from kernelhood.parallel import few_blas_threads, map_in_threads
from kernelhood.pipeline.fitted.bank import KernelChoice
from kernelhood.pipeline.inspection import KernelInspection
from kernelhood.pipeline.prediction import TaskPredictor
from kernelhood.pipeline.problem import Pair, TaskProblem, TaskSolution
from kernelhood.pipeline.searching import SearchInterface
from kernelhood.pipeline.task_kernels import TaskKernels
from kernelhood.solvers.solution import FINEST_GAP, Solution
from kernelhood.tasks import TaskRows

_FEW_SVMS = 20
#: A model with a larger gap may be far from the optimum.
_WORST_TOL = 0.01


class MultiTaskKernelModel(
    SearchInterface, KernelInspection, KernelChoice, TaskPredictor, BaseEstimator, ABC
):
    r"""Base of all estimators.

    Parameters
    ----------
    kernels : {"auto", "small", "paper"}, AutoBank, KernelBank or list of kernels
        The base kernels. "auto" is an `AutoBank`, which is fitted to the inputs of all training
        rows; "small" is one without the kernels on single columns; "paper" is `default_bank`, the
        ten kernels of the paper. Or a list: kernelhood kernels, names of scikit-learn's pairwise
        kernels, callables.
    C : float
        Weight of the loss.
    tol : float
        Relative duality gap to reach in every task; below 1e-11 rounding decides how far it falls.
    max_iter : int
        Largest number of SVMs to solve for a task; in MT-ONMKL's `normalized`, at the end of its
        path.
    task_column : int or str, optional
        The column of X that names the task, so that nothing has to be routed through pipelines
        and searches.
    n_jobs : int, optional
        Threads over tasks.
    verbose : bool or int
        Print a line per task.

    Attributes
    ----------
    tasks_ : list
        Names of the tasks; their order is that of the rows of all arrays below.
    weights_ : ndarray of shape (n_tasks, n_kernels)
        :math:`\theta`, the kernel weights.
    shared_weights_ : ndarray of shape (n_kernels,)
        :math:`\mu`, the largest part that all tasks have in common.
    specific_weights_ : ndarray of shape (n_tasks, n_kernels)
        :math:`\lambda`, the rest.
    support_, support_vectors_, dual_coef_ : list of ndarray
        For every task the rows of X that support its function, these rows, and their
        coefficients.
    intercept_ : ndarray of shape (n_tasks,)
        Intercepts.
    objective_ : float
        Sum of the tasks' objectives.
    dual_gap_ : float
        Relative duality gap of the worst task.
    n_iter_ : int
        SVMs solved for the slowest task.
    trace_ : list of ndarray of shape (n_svms, 2)
        For every task, or for all where they are solved jointly, the objective and the relative
        duality gap after each SVM; in MT-ONMKL's `normalized`, after each one of the last stage.
    n_features_in_ : int
        Columns of X seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where X was a data frame.
    """

    _parameter_constraints: dict[str, Any] = {
        "kernels": "no_validation",
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "task_column": [Integral, str, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    kernels: Any
    C: float
    tol: float
    max_iter: int
    task_column: int | str | None
    n_jobs: int | None
    verbose: int | bool

    def __init_subclass__(cls, **options: Any) -> None:
        """Gather the parameter constraints that the parts of an estimator declare."""
        super().__init_subclass__(**options)
        parts = [vars(part).get("_parameter_constraints", {}) for part in reversed(cls.__mro__)]
        cls._parameter_constraints = {name: one for part in parts for name, one in part.items()}

    def _solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Learn the weights and the SVM of one task."""
        raise NotImplementedError

    @abstractmethod
    def _encode(self, tasks: list[TaskRows], sample_weights: list[Array]) -> list[list[Pair]]:
        """Return the SVMs of every task, and remember how to decode predictions."""

    def _check_settings(self) -> None:
        """Raise where parameters contradict each other; called before any work."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> Self:
        """Learn a kernel and a function for every task.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Training points of all tasks; with `task_column`, one column names the task.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks)
            Targets. Two dimensions mean one task per column on the same points, NaN meaning
            that the target was not observed.
        task : array-like of shape (n_samples,), optional
            The task of every row, any hashable labels.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies C; a sample of weight 2 counts as two samples.

        Returns
        -------
        self
        """
        return self._fit(X, y, task, sample_weight)

    def _fit(
        self, X: Any, y: Any, task: Any, sample_weight: Any, first: Sequence[Any] | None = None
    ) -> Self:
        """Fit, from the weights of every task that are given; see `fit`."""
        self._check_settings()
        points, tasks = self._read_training_data(X, y, task)
        problems = self._pose(points, tasks, sample_weight)
        if first is not None:
            problems = [replace(one, weights=own) for one, own in zip(problems, first, strict=True)]
        self._bank = self._fitted_bank(self._summary(points, problems))
        with few_blas_threads(max(len(one.rows) for one in problems)):
            solved = self._solve_tasks(self._evaluate(self._bank, problems), problems)
        self._store(problems, solved)
        self._report(solved)
        return self

    def _pose(self, points: Any, tasks: list[TaskRows], sample_weight: Any) -> list[TaskProblem]:
        """Drop samples of weight 0 and write every task as a problem for the solvers."""
        shared = _check_sample_weight(
            sample_weight, points, dtype=np.float64, ensure_non_negative=True
        )
        kept = []
        for one in tasks:
            counts = shared[one.rows] > 0.0
            if not np.any(counts):
                raise ValueError(f"sample_weight is zero for every sample of task {one.name!r}.")
            kept.append(TaskRows(one.name, one.rows[counts], one.y[counts]))
        weights = [shared[one.rows] for one in kept]
        encoded = self._encoded(kept, weights)
        return [
            TaskProblem(one.name, one.rows, points[one.rows], pairs, weight)
            for one, pairs, weight in zip(kept, encoded, weights, strict=True)
        ]

    def _encoded(self, tasks: list[TaskRows], weights: list[Array]) -> list[list[Pair]]:
        """Return the SVMs of every task, where targets have units in those they are solved in."""
        return self._encode(tasks, weights)

    def _task_bank(self, bank: KernelBank, X: Any, sample_weight: Array) -> KernelBank:
        """Return the kernels of a task with these training points; mostly those of all tasks."""
        return bank

    def _evaluate(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> Any:
        """Return the kernels on the training points, as `_solve_tasks` takes them."""

        def evaluate(problem: TaskProblem) -> TaskKernels:
            own = self._task_bank(bank, problem.X, problem.sample_weight)
            return TaskKernels(own, problem.X, problem.sample_weight, self._with_noise)

        return map_in_threads(evaluate, problems, self.n_jobs)

    #: Whether the identity comes behind the kernels of a task.
    _with_noise = False

    def _solve_tasks(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve all tasks, one by one unless the method couples them."""
        pairs = list(zip(kernels, problems, strict=True))
        return map_in_threads(lambda pair: self._solve_task(*pair), pairs, self.n_jobs)

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        solutions = [one.solution for one in solved]
        pairs = list(zip(problems, solutions, strict=True))
        coefficients = [problem.by_pair(solution.v) for problem, solution in pairs]
        supports = [np.flatnonzero(one.any(axis=0)) for one in coefficients]
        places = list(zip(problems, coefficients, supports, strict=True))
        self.tasks_ = [problem.name for problem in problems]
        self.support_ = [problem.rows[support] for problem, _, support in places]
        self.support_vectors_ = [problem.X[support] for problem, _, support in places]
        single = all(len(problem.pairs) == 1 for problem in problems)
        self.dual_coef_ = [
            one[0, support] if len(problem.pairs) == 1 else one[:, support]
            for problem, one, support in places
        ]
        intercepts = [solution.intercepts for solution in solutions]
        self.intercept_ = np.concatenate(intercepts) if single else intercepts
        self.weights_ = np.array([solution.weights for solution in solutions])
        self.shared_weights_ = self.weights_.min(axis=0)
        self.specific_weights_ = self.weights_ - self.shared_weights_
        self._store_neighborhoods([one.neighborhood for one in solved])
        self._store_certificate(_outcomes(solved))
        self.n_samples_ = np.array([problem.sample_weight.sum() for problem in problems])

    def _store_certificate(self, outcomes: list[Solution]) -> None:
        self.objective_ = float(sum(outcome.objective for outcome in outcomes))
        self.dual_gap_ = max(outcome.gap for outcome in outcomes)
        self.n_iter_ = max(outcome.n_iter for outcome in outcomes)
        self.trace_ = [outcome.trace for outcome in outcomes]

    def _report(self, solved: list[TaskSolution]) -> None:
        missed = []
        outcomes = _outcomes(solved)
        jointly = len(outcomes) < len(self.tasks_)
        names = ["all tasks"] if jointly else [f"task {name!r}" for name in self.tasks_]
        for name, found in zip(names, outcomes, strict=True):
            if self.verbose:
                print(
                    f"{name}: objective {found.objective:.6g}, gap {found.gap:.1e}, "
                    f"{found.n_iter} SVMs, {np.count_nonzero(found.weights)} kernels"
                )
            if found.gap > max(self.tol, FINEST_GAP):
                missed.append(f"{name} ({found.gap:.1e})")
        if missed:
            warnings.warn(
                f"the duality gap did not fall to tol={self.tol:g} for {', '.join(missed)}: "
                f"{_advice(outcomes, self.tol, self.max_iter)}",
                ConvergenceWarning,
                stacklevel=5,
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _outcomes(solved: list[TaskSolution]) -> list[Solution]:
    """Return the solution of every task, or the one that all of them are parts of."""
    joint = solved[0].together
    return [one.solution for one in solved] if joint is None else [joint]


def _advice(outcomes: list[Solution], tol: float, max_iter: int) -> str:
    """Return what would help where gaps were missed."""
    late = [one for one in outcomes if one.gap > max(tol, FINEST_GAP)]
    falling = all(one.gap < 0.5 * one.trace[2 * len(one.trace) // 3, 1] for one in late)
    if falling or max_iter < _FEW_SVMS:
        return f"max_iter={max_iter} ended before; raise max_iter."
    worst = 2.0 * max(one.gap for one in late)
    accept = f"accept it by tol={worst:.0e}, or " if worst <= _WORST_TOL else ""
    return (
        f"it no longer falls, and more SVMs would not help; {accept}make the problem easier: scale "
        "the features, remove kernels that are nearly equal, or lower C."
    )
