"""What a search asks of a method: which models are the same, and in which order to solve them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.data import KernelChoice, Pair, ScoredTask, TaskProblem, TaskSolution
from kernelhood.estimators.reading import (
    ONLY_TASK,
    TaskReader,
    TaskRows,
    as_target,
    known_tasks,
    missing,
    split_by_column,
    split_by_label,
)
from kernelhood.estimators.training import TaskKernels, decision_values
from kernelhood.inspection.model import KernelInspection
from kernelhood.kernels import KernelBank
from kernelhood.parallel import few_blas_threads, map_in_threads
from kernelhood.solvers.problem import FINEST_GAP, Solution

#: Parameters that change how a model is computed or read, not the model.
TECHNICAL = frozenset(
    {
        "max_iter",
        "task_column",
        "n_jobs",
        "verbose",
        "unseen_task",
        "cache_size",
        "storage",
    }
)


class SearchInterface(ABC):
    """The part of an estimator that lets a search solve many models along a path."""

    #: Parameters that shape the kernels.
    _kernel_parameters: tuple[str, ...] = ("kernels",)
    _path_parameters: tuple[str, ...] = ()

    @abstractmethod
    def _loss_key(self) -> Hashable:
        """Return what is equal for models with the same losses: a search keeps one set of them."""

    @classmethod
    def _kernel_parts(cls, params: Mapping[str, Any]) -> list[Any]:
        """Return what shapes the kernels of a model: the same for models that can share them."""
        return [params[name] for name in cls._kernel_parameters]

    @classmethod
    def _couples(cls, params: Mapping[str, Any]) -> bool:
        """Return whether the tasks have to be solved together with these parameters."""
        return False

    @classmethod
    def _solves_together(cls, params: Mapping[str, Any]) -> bool:
        """Return whether a search has to hand over all tasks at once: where they are coupled."""
        return cls._couples(params)

    @classmethod
    def _has_many_solutions(cls, params: Mapping[str, Any]) -> bool:
        """Return whether the solution depends on where it starts."""
        return False

    @classmethod
    def _joins_samples(cls, params: Mapping[str, Any]) -> bool:
        """Return whether all tasks have one SVM in common."""
        return False

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters that give the same predictor and are equal for equal models.

        They are without the technical ones. A number may be a column of numbers: then so is
        what follows from it.
        """
        return dict(params)

    @classmethod
    def _in_domain(cls, params: Mapping[str, Any]) -> Any:
        """Return whether the method is defined for parameters, or where for columns of them."""
        return True

    @classmethod
    def _why_outside(cls, params: Mapping[str, Any]) -> str:
        """Return why the method is not defined for parameters."""
        raise NotImplementedError

    @classmethod
    def _why_too_large(cls, params: Mapping[str, Any], n_samples: int, n_points: int) -> str:
        """Return why a fit to so many samples at so many points is refused, "" if it is not."""
        return ""

    @classmethod
    def _path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return where canonical parameters stand on a path, each model warm-starting the next.

        By default from strong regularisation to weak.
        """
        return (params["C"],)

    def _certified_ahead(
        self,
        found: Solution,
        models: Sequence[Mapping[str, Any]],
        kernels: TaskKernels,
        problem: TaskProblem,
    ) -> int:
        """Return how many of the next models on a path this solution solves as well.

        They differ in `_path_parameters` only; kernels and problem are those that `_solve_task`
        found the solution with.
        """
        return 0

    def _cross(self, kernels: Any, X: Sequence[Any]) -> list[Any]:
        """Return the kernels between other points of every task and its training points."""
        return [own.cross(points) for own, points in zip(kernels, X, strict=True)]

    def _values_at(
        self,
        kernels: Any,
        number: int,
        X: Any,
        cross: Any,
        problem: TaskProblem,
        found: TaskSolution,
    ) -> Array:
        """Return the functions of a task at other points, whose kernels `_cross` has evaluated."""
        return decision_values(cross, problem, found.solution)


#: Turns the functions of a task, whose number comes second, into what is told of its rows.
Decide = Callable[[Array, int], Array]


class TaskPredictor(TaskReader):
    """The part of the pipeline after the fit."""

    #: Whether there is one function for all rows, whatever their task.
    _one_function = False

    tasks_: list[Hashable]
    support_vectors_: list[Any]
    dual_coef_: list[Array]
    intercept_: Any
    weights_: Array

    @abstractmethod
    def predict(self, X: Any, *, task: Any = None) -> AnyArray:
        """Return the prediction for every row."""

    @abstractmethod
    def _bank_of(self, number: int) -> KernelBank:
        """Return the bank of one task."""

    @abstractmethod
    def _decide(self, values: Array, number: int) -> Array:
        """Return the decision values of a task from the values of its functions."""

    def _decided(self, values: Array, number: int) -> Array:
        """Return the decision values of a task, in the user's units."""
        return self._restored(self._decide(values, number), number)

    def _restored(self, values: Array, number: int) -> Array:
        """Return decision values of a task in the user's units."""
        return values

    def _values(
        self, X: Any, task: Any, decide: Decide | None = None
    ) -> tuple[Array, AnyArray | None]:
        """Return f(x), or what else `decide` makes of it, and the number of every row's task.

        With a 2-D y in fit and no task here, the values have one column per task and the second
        is None.
        """
        check_is_fitted(self)
        decide = decide or self._decided
        points, labels = self._read_points(X, task, reset=False)
        if labels is None and (self._y_is_wide or len(self.tasks_) == 1):
            columns = [decide(self._functions(points, t), t) for t in range(len(self.tasks_))]
            if self._y_is_wide:
                return np.stack(columns, axis=1), None
            return columns[0], np.zeros(points.shape[0], dtype=np.intp)
        if labels is None:
            raise ValueError(
                "task is required, one label per row of X: the model was fitted with the tasks "
                f"{', '.join(map(repr, self.tasks_))}."
            )
        which = self._numbers(labels)
        return self._by_task(points, labels, which, decide), which

    def _by_task(self, points: Any, labels: AnyArray, which: Indices, decide: Decide) -> Array:
        """Return what `decide` makes of rows of several tasks."""
        parts = {number: np.flatnonzero(which == number) for number in np.unique(which)}
        found = [decide(self._functions(points[rows], t), t) for t, rows in parts.items()]
        order = np.argsort(np.concatenate(list(parts.values())))
        return np.concatenate(found)[order]

    def _numbers(self, labels: AnyArray) -> Indices:
        """Return the number of every row's task."""
        self._check_tasks(labels, self.tasks_)
        numbers = {name: number for number, name in enumerate(self.tasks_)}
        return np.array([numbers[label] for label in labels.tolist()], dtype=np.intp)

    def _check_tasks(self, labels: AnyArray, known: Sequence[Hashable]) -> None:
        """Raise if rows are of tasks that cannot be predicted."""
        known_tasks(
            labels,
            known,
            f"{type(self).__name__} has no function that all tasks have in common: use "
            f"MTONMKLClassifier or MTONMKLRegressor with relation='mixed'. {self._split_advice}",
        )

    @property
    def _split_advice(self) -> str:
        """What to do if the unseen tasks come from cross-validation."""
        told = f"(task_column={self.task_column!r})"
        if self.task_column is None:
            told = "().set_split_request(task=True)"
        return (
            "In cross-validation, cv=kernelhood.TaskStratifiedKFold"
            f"{told} keeps rows of every task in every training part."
        )

    def _functions(self, points: Any, number: int) -> Array:
        """Return f_t at the points; one column, or one for each pair of the task's classes."""
        return self._own_function(points, number, self.weights_[number])

    def _own_function(self, points: Any, number: int, weights: Array) -> Array:
        """Return the part of f_t that the task's own samples carry, with the intercept."""
        support = self.support_vectors_[number]
        values: Array = np.zeros((points.shape[0], 1)) + self.intercept_[number]
        if support.shape[0]:
            K = self._bank_of(number).combine(points, support, weights)
            values += K @ np.atleast_2d(self.dual_coef_[number]).T
        return values

    #: The mean training target of each task, where targets are numbers.
    _centres: dict[Hashable, float] | None = None

    @abstractmethod
    def _task_score(self, one: ScoredTask) -> float:
        """Return the score of one task's predictions."""

    @abstractmethod
    def _total_score(self, scored: list[ScoredTask]) -> float:
        """Return the score of all predictions."""

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, averaged over tasks, or the share of squared error explained.

        In regression it is 1 - error / spread: the squared errors of all rows over their squared
        distances from the mean training target of their task. A model that knows the tasks' means
        and nothing else has the score 0. Sums over all tasks stay meaningful where a task has only
        a few rows here, or one, unlike an average of R^2 over tasks.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.
        """
        predicted = self.predict(X, task=task)
        return self._total_score(self._scored(predicted, X, y, task, sample_weight))

    def score_by_task(
        self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None
    ) -> dict[Hashable, float]:
        """Return the score of every task that occurs: accuracy, or 1 - error / spread.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> X, y = np.arange(8.0)[:, None], np.tile([0, 1], 4)
        >>> model = kh.AVMTMKLClassifier(kernels=[kh.Gaussian(0.1)], C=10.0)
        >>> model.fit(X, y, task=["a"] * 4 + ["b"] * 4).score_by_task(X, y, task=["a", "b"] * 4)
        {'a': 0.5, 'b': 0.5}
        """
        predicted = self.predict(X, task=task)
        scored = self._scored(predicted, X, y, task, sample_weight)
        return {one.name: self._task_score(one) for one in scored}

    def _scored(
        self,
        predicted: AnyArray,
        X: Any,
        y: Any,
        task: Any,
        sample_weight: Any,
        centres: dict[Hashable, float] | None = None,
    ) -> list[ScoredTask]:
        """Return predictions and targets by task.

        Parameters
        ----------
        predicted : ndarray
            What `predict` returns.
        X, y, task, sample_weight
            As `score` takes them.
        centres : dict, optional
            Mean training targets in other units than those of the fit.
        """
        check_consistent_length(predicted, y)
        y = self._check_targets(as_target(y))
        if y.shape != predicted.shape:
            what = "one dimension"
            if predicted.ndim == 2:
                what = f"one column for each of the {predicted.shape[1]} tasks"
            raise ValueError(f"y must hold {what}, as in fit: got shape {y.shape}.")
        if predicted.ndim == 2:
            columns: list[int] = np.flatnonzero(~missing(y).all(axis=0)).tolist()
            pairs = list(zip(columns, split_by_column(y[:, columns]), strict=True))
            tasks = [one._replace(name=column) for column, one in pairs]
            guesses = [predicted[one.rows, column] for column, one in pairs]
        else:
            labels = TaskReader._read_points(self, X, task, reset=False)[1]
            everything = TaskRows(ONLY_TASK, np.arange(len(y), dtype=np.intp), y)
            tasks = [everything] if labels is None else split_by_label(labels, y)
            guesses = [predicted[one.rows] for one in tasks]
        shared = _check_sample_weight(sample_weight, predicted[:, None], dtype=np.float64)
        means = centres or self._centres or {}
        middle = float(np.mean(list(means.values()))) if means else np.nan
        return [
            ScoredTask(one.name, one.y, guess, shared[one.rows], means.get(one.name, middle))
            for one, guess in zip(tasks, guesses, strict=True)
        ]


# The one pipeline of all estimators: read the tasks, evaluate kernels, solve, store.
#
# A method overrides `_solve_task` (or `_evaluate` and `_solve_tasks` where its tasks are coupled);
# what a target means is up to the classifier's and the regressor's part.


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
