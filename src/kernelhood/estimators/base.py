"""The base of the paper's estimators: one fit from the table to functions that predict."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators.data import ScoredTask, TaskProblem, TaskSolution
from kernelhood.estimators.functions import Functions, Query, support_of
from kernelhood.estimators.method import Method
from kernelhood.estimators.reading import (
    ONLY_TASK,
    TaskRows,
    TrainingData,
    as_target,
    missing,
    read_points,
    read_training_data,
    split_by_column,
    split_by_label,
)
from kernelhood.estimators.targets import ClassTargets, NumberTargets, Targets, targets_type
from kernelhood.inspection.figures import plot_alignment, plot_weights
from kernelhood.inspection.model import as_table, span_alignment
from kernelhood.kernels import InputSummary, KernelBank
from kernelhood.parallel import few_blas_threads
from kernelhood.solvers.problem import FINEST_GAP, Solution

_FEW_SVMS = 20
#: A model with a larger gap may be far from the optimum.
_WORST_TOL = 0.01


def classifies(model: Any) -> bool:
    """Return whether an estimator is a classifier."""
    return isinstance(model, ClassifierMixin)


@dataclass(kw_only=True, eq=False, repr=False)
class MultiTaskModel(BaseEstimator):
    r"""Base of the estimators that solve a `Method`.

    Parameters
    ----------
    task_column : int or str, optional
        The column of X that names the task, so that nothing has to be routed through pipelines
        and searches.
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
        For every task, or for all if they are solved jointly, the objective and the relative
        duality gap after each SVM; in MT-ONMKL's `normalized`, after each one of the last stage.
    functions_ : Functions
        What predictions need.
    targets_ : ClassTargets or NumberTargets
        What targets mean: classes, or numbers in their units.
    n_features_in_ : int
        Columns of X seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, if X was a data frame.

    Examples
    --------
    >>> import kernelhood as kh
    >>> issubclass(kh.ITLClassifier, MultiTaskModel)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "task_column": [Integral, str, None],
        "verbose": ["verbose"],
    }

    _method: ClassVar[type[Method]] = Method

    kernels: Any = "auto"
    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 100
    task_column: int | str | None = None
    n_jobs: int | None = None
    verbose: int | bool = False

    functions_: Functions = field(init=False)
    targets_: Targets = field(init=False)
    tasks_: list[Hashable] = field(init=False)
    weights_: Array = field(init=False)
    _y_is_wide: bool = field(init=False)

    def __init_subclass__(cls, **options: Any) -> None:
        """Gather the parameter constraints that the parts of an estimator declare."""
        super().__init_subclass__(**options)
        parts = [vars(part).get("_parameter_constraints", {}) for part in reversed(cls.parts())]
        cls._parameter_constraints = {name: one for part in parts for name, one in part.items()}

    @classmethod
    def parts(cls) -> list[type[Any]]:
        """Return the classes that declare parameters and attributes, the nearest first."""
        methods = [part for kind in cls._method.kinds() for part in kind.__mro__]
        found = [*cls.__mro__, *methods, *targets_type(cls).__mro__]
        return list(dict.fromkeys(found))

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
        self,
        X: Any,
        y: Any,
        task: Any,
        sample_weight: Any,
        *,
        starts: Sequence[Any] | None = None,
        unlabelled: Any = None,
    ) -> Self:
        """Fit, from the weights of every task that are given; see `fit`."""
        method = method_of(self)
        method.check()
        data = self._read(method, X, y, task, unlabelled)
        method = method.prepared(data)
        targets, problems = self._posed(method, data, sample_weight, starts)
        bank = method.fitted_bank(_summary(method, data, problems))
        with few_blas_threads(max(len(one.rows) for one in problems)):
            kernels = method.training_kernels(bank, problems)
            solved = method.solve(kernels, problems)
        self.functions_ = method.functions(bank, kernels, problems, solved)
        self._y_is_wide, self.targets_ = data.wide, targets
        self._store(problems, solved)
        self._keep_more(method, kernels, problems, solved)
        self._report(solved)
        return self

    def _read(
        self, method: Method, X: Any, y: Any, task: Any, unlabelled: Any = None
    ) -> TrainingData:
        """Return the rows of a fit, and learn their features."""
        return read_training_data(
            self,
            X,
            y,
            task,
            check=lambda given: targets_type(type(self)).checked(given, self),
            inputs_count=method.uses_inputs,
            one_function=method.one_function,
            unlabelled=unlabelled,
        )

    def _posed(
        self,
        method: Method,
        data: TrainingData,
        sample_weight: Any,
        starts: Sequence[Any] | None,
    ) -> tuple[Targets, list[TaskProblem]]:
        """Drop samples of weight 0 and write every task as a problem for the solvers."""
        shared = _check_sample_weight(
            sample_weight, data.points, dtype=np.float64, ensure_non_negative=True
        )
        kept = []
        for one in data.tasks:
            counts = shared[one.rows] > 0.0
            if not np.any(counts):
                raise ValueError(f"sample_weight is zero for every sample of task {one.name!r}.")
            kept.append(TaskRows(one.name, one.rows[counts], one.y[counts]))
        weights = [shared[one.rows] for one in kept]
        joined = method.joins_samples(vars(method))
        targets = targets_type(type(self)).of(
            vars(self),
            kept,
            weights,
            common=joined and not data.wide,
            many=method.many_classes,
        )
        if isinstance(targets, ClassTargets):
            targets.check([one.name for one in kept], joined)
        problems = [
            TaskProblem(
                one.name,
                one.rows,
                data.points[one.rows],
                targets.pairs(one, weight, number),
                weight,
                weights=None if starts is None else starts[number],
                unlabelled=data.unlabelled.get(one.name),
            )
            for number, (one, weight) in enumerate(zip(kept, weights, strict=True))
        ]
        return targets, problems

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        """Keep what the functions are made of, and the certificate."""
        functions, targets = self.functions_, self.targets_
        self.tasks_, self.weights_ = functions.tasks, functions.weights
        pairs = [(one, found.solution) for one, found in zip(problems, solved, strict=True)]
        self.support_ = [one.rows[support_of(one, found)[0]] for one, found in pairs]
        self.support_vectors_, self.dual_coef_ = functions.support, functions.coef
        self.intercept_ = functions.intercepts
        self.shared_weights_ = self.weights_.min(axis=0)
        self.specific_weights_ = self.weights_ - self.shared_weights_
        self.n_samples_ = np.array([problem.sample_weight.sum() for problem in problems])
        if isinstance(targets, ClassTargets):
            self.classes_ = targets.classes[0] if targets.same else targets.classes
        elif isinstance(targets, NumberTargets):
            self.target_centre_ = targets.units.centre[:-1]
            self.target_scale_ = targets.units.scale[:-1]
        outcomes = _outcomes(solved)
        self.objective_ = float(sum(outcome.objective for outcome in outcomes))
        self.dual_gap_ = max(outcome.gap for outcome in outcomes)
        self.n_iter_ = max(outcome.n_iter for outcome in outcomes)
        self.trace_ = [outcome.trace for outcome in outcomes]
        known = [one.neighborhood for one in solved if one.neighborhood is not None]
        if known:
            self.neighborhood_weights_ = np.array([one.weights for one in known])
            self.gram_ = np.array([one.gram for one in known])
            self.traces_ = np.array([one.traces for one in known])
            self._own_alignments = [one.alignment for one in known]

    def _keep_more(
        self, method: Any, kernels: Any, problems: list[TaskProblem], solved: list[TaskSolution]
    ) -> None:
        """Keep what a method has learned beside functions."""

    def _report(self, solved: list[TaskSolution]) -> None:
        """Print a line per task if asked, and warn of gaps that were missed."""
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

    def _query(self, X: Any, task: Any, features: Any = None) -> Query:
        """Return rows as the functions take them."""
        check_is_fitted(self)
        points, labels = read_points(self, X, task, reset=False)
        told = f"(task_column={self.task_column!r})"
        if self.task_column is None:
            told = "().set_split_request(task=True)"
        return Query(
            points,
            None if self._method.one_function else labels,
            self._y_is_wide,
            features or {},
            getattr(self, "unseen_task", "error"),
            f"In cross-validation, cv=kernelhood.TaskStratifiedKFold{told} keeps rows of every "
            "task in every training part.",
            isinstance(self.targets_, ClassTargets) and not self.targets_.same,
            self.verbose,
        )

    def _decision(self, X: Any, task: Any, features: Any = None) -> tuple[Array, AnyArray | None]:
        """Return decision values, and the number of every row's task."""
        query = self._query(X, task, features)
        return self.functions_.at(query, self.targets_.decided)

    def predict(self, X: Any, *, task: Any = None) -> AnyArray:
        """Return the predicted class, or target, of every row.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y
        """
        values, which = self._decision(X, task)
        return self.targets_.predicted(values, which)

    @available_if(classifies)
    def decision_function(self, X: Any, *, task: Any = None) -> Array:
        """Return the signed decision values; positive ones mean the task's second class.

        If a task has more than two classes, there is a column for each class of the row's task,
        by one-against-one votes and then by confidence; the largest one wins. Columns that a task
        with fewer classes has no use for are minus infinity.

        Parameters
        ----------
        X, task
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y; each with
        one more axis for the classes if there are more than two
        """
        return self._decision(X, task)[0]

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, averaged over tasks, or the share of squared error explained.

        In regression it is 1 - error / spread: the squared errors of all rows over their squared
        distances from the mean training target of their task. A model that knows the tasks' means
        and nothing else has the score 0. Sums over all tasks stay meaningful if a task has only
        a few rows here, or one, unlike an average of R^2 over tasks.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.
        """
        predicted = self.predict(X, task=task)
        found = scored_tasks(self, predicted, X, y, task, sample_weight)
        return self.targets_.total_score(found)

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
        found = scored_tasks(self, predicted, X, y, task, sample_weight)
        return {one.name: self.targets_.task_score(one) for one in found}

    @property
    def kernels_(self) -> KernelBank:
        """The base kernels of the fit, in the order of the weights; see `KernelBank.names`."""
        check_is_fitted(self)
        return self.functions_.bank

    def weights_table(self) -> Any:
        """Return the weights as a data frame with one row per task, one column per kernel.

        If pandas is not installed, the same table comes as text.
        """
        check_is_fitted(self)
        return as_table(self.weights_, self.tasks_, self.functions_.kernel_names, "task")

    def plot_weights(self, *, ax: Any = None) -> Any:
        """Draw each task's kernel weights as shares of a bar.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        return plot_weights(self.weights_, self.tasks_, self.functions_.kernel_names, ax=ax)

    def task_kernel(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the task's learned kernel ``sum_m theta_t^m k_m`` at any points.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            Points; with `task_column`, without that column.
        task : hashable
            One of ``tasks_``.
        """
        number = self._task_number(task)
        return self.functions_.bank_of(number).combine(X, Z, self.weights_[number])

    def _task_number(self, task: Hashable) -> int:
        check_is_fitted(self)
        if task not in self.tasks_:
            known = ", ".join(map(repr, self.tasks_))
            raise ValueError(f"task {task!r} was not seen in fit; known are {known}.")
        return self.tasks_.index(task)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = not self._method.one_function
        return tags


class NeighborhoodModel(MultiTaskModel):
    r"""An estimator whose method has neighborhood-defining matrices.

    Attributes
    ----------
    neighborhood_weights_ : ndarray of shape (n_tasks, n_kernels)
        :math:`\kappa`, the coefficients of the neighborhood-defining matrices, or of the part of
        them that new points see, on the base kernels.
    """

    neighborhood_weights_: Array
    gram_: Array
    traces_: Array

    def neighborhood_kernel(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the kernel ``sum_m kappa_t^m k_m`` that defines the task's neighborhood.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            Points; with `task_column`, without that column.
        task : hashable
            One of ``tasks_``.
        """
        number = self._task_number(task)
        bank = self.functions_.bank_of(number)
        return bank.combine(X, Z, self.neighborhood_weights_[number])

    def alignment(self) -> Array:
        """Return how the tasks' kernels align with the kernels that define neighborhoods.

        Entry (t, s) is the cosine between the learned kernel of task t and the neighborhood kernel
        of task s, both evaluated at the training points of task t; 0 if one of them vanishes.
        If the matrix that defines a neighborhood exists only on the task's own training points,
        the diagonal tells of the whole matrix, the rest of the part that base kernels carry.

        Returns
        -------
        ndarray of shape (n_tasks, n_tasks)
        """
        check_is_fitted(self)
        n_tasks = len(self.tasks_)
        cosines = [[self._cosine(t, s) for s in range(n_tasks)] for t in range(n_tasks)]
        for t, own in enumerate(self._own_alignments):
            cosines[t][t] = cosines[t][t] if own is None else own
        return np.array(cosines)

    def plot_alignment(self, *, ax: Any = None) -> Any:
        """Draw how the tasks' kernels align with the kernels that define neighborhoods.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        return plot_alignment(self.alignment(), self.tasks_, ax=ax)

    def _cosine(self, t: int, s: int) -> float:
        """Return the alignment of task t with the neighborhood kernel of task s."""
        return span_alignment(self.gram_[t], self.weights_[t], self.neighborhood_weights_[s])


# What a search asks of an estimator.


def method_type(model: MultiTaskModel, params: Mapping[str, Any]) -> type[Method]:
    """Return the method that an estimator solves with some parameters, as far as they decide it."""
    return model._method.kind(params)


def method_of(model: MultiTaskModel, params: Mapping[str, Any] | None = None) -> Method:
    """Return the method of an estimator.

    Parameters
    ----------
    model : estimator
        Gives the parameters.
    params : dict, optional
        Some of them in their place.
    """
    every = {**model.get_params(deep=False), **(params or {})}
    return method_type(model, every).of(every)


def read_table(model: MultiTaskModel, method: Method, X: Any, y: Any, task: Any) -> TrainingData:
    """Return the rows of a fit; the estimator learns its features."""
    return model._read(method, X, y, task)


def fit_from(
    model: Any, X: Any, y: Any, task: Any, sample_weight: Any, starts: Sequence[Any] | None
) -> Any:
    """Fit an estimator from weights of every task's problem.

    Parameters
    ----------
    model : estimator
        Not fitted.
    X, y, task, sample_weight
        As `fit` takes them.
    starts : sequence of (ndarray or None), optional
        The weights to start from.
    """
    model._validate_params()
    return model._fit(X, y, task, sample_weight, starts=starts)


def scored_tasks(
    model: MultiTaskModel,
    predicted: AnyArray,
    X: Any,
    y: Any,
    task: Any,
    sample_weight: Any,
    centres: Mapping[Hashable, float] | None = None,
) -> list[ScoredTask]:
    """Return predictions and targets by task.

    Parameters
    ----------
    model : estimator
        Fitted.
    predicted : ndarray
        What `predict` returns.
    X, y, task, sample_weight
        As `score` takes them.
    centres : dict, optional
        Mean training targets in other units than those of the fit.
    """
    check_consistent_length(predicted, y)
    y = targets_type(type(model)).checked(as_target(y), model)
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
        labels = read_points(model, X, task, reset=False)[1]
        everything = TaskRows(ONLY_TASK, np.arange(len(y), dtype=np.intp), y)
        tasks = [everything] if labels is None else split_by_label(labels, y)
        guesses = [predicted[one.rows] for one in tasks]
    shared = _check_sample_weight(sample_weight, predicted[:, None], dtype=np.float64)
    means = centres or model.targets_.centres
    middle = float(np.mean(list(means.values()))) if means else np.nan
    return [
        ScoredTask(one.name, one.y, guess, shared[one.rows], means.get(one.name, middle))
        for one, guess in zip(tasks, guesses, strict=True)
    ]


def _summary(method: Method, data: TrainingData, problems: Sequence[TaskProblem]) -> InputSummary:
    """Return what the bank has to know of the training rows."""
    if not method.needs_inputs():
        return InputSummary.of_names(data.names)
    rows, weights = [one.rows for one in problems], [one.sample_weight for one in problems]
    return InputSummary.of_tasks(data.points, rows, weights, coded=data.coded, names=data.names)


def _outcomes(solved: list[TaskSolution]) -> list[Solution]:
    """Return the solution of every task, or the one that all of them are parts of."""
    joint = solved[0].together
    return [one.solution for one in solved] if joint is None else [joint]


def _advice(outcomes: list[Solution], tol: float, max_iter: int) -> str:
    """Return what would help if gaps were missed."""
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
