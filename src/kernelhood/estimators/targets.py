"""The units of targets: standardised inside, so that C, epsilon and beta have none."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import column_or_1d

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators.base import MultiTaskKernelModel
from kernelhood.estimators.data import (
    Pair,
    ScoredTask,
    TaskProblem,
    check_class_weight,
    class_codes,
    class_prices,
    class_scores,
    completed_classes,
    error_and_spread,
    explained,
    is_fitted,
    one_against_one,
    task_classes,
    task_means,
    told_classes,
)
from kernelhood.estimators.reading import TaskRows, numeric_target
from kernelhood.losses import REGRESSION_LOSSES, EpsilonInsensitive, Loss, as_loss


class TargetUnits(NamedTuple):
    """What is taken off the targets of every task, and what they are then divided by.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_tasks + 1,)
        For every task, and last for a task that was not seen.
    """

    centre: Array
    scale: Array

    @classmethod
    def none(cls, n_tasks: int) -> TargetUnits:
        """Return units that change nothing."""
        return cls(np.zeros(n_tasks + 1), np.ones(n_tasks + 1))

    @classmethod
    def of(cls, tasks: Sequence[TaskRows], weights: Sequence[Array], common: bool) -> TargetUnits:
        """Return the units of tasks.

        Parameters
        ----------
        tasks : sequence of TaskRows
            The tasks.
        weights : sequence of ndarray
            The weights of their samples.
        common : bool
            Whether all tasks have one unit: the mean of all targets, and their standard deviation
            within tasks. Otherwise each has its own mean and standard deviation. Where targets do
            not vary, within tasks or at all, the next wider of these stands in, and at last 1.
        """
        total = float(sum(weight.sum() for weight in weights))
        means = np.array(
            [one.y[0] + np.average(one.y - one.y[0], weights=w) for one, w in _both(tasks, weights)]
        )
        counts = np.array([weight.sum() for weight in weights])
        sums = np.array(
            [w @ (one.y - m) ** 2 for (one, w), m in zip(_both(tasks, weights), means, strict=True)]
        )
        overall = means[0] + float(counts @ (means - means[0])) / total
        between = float(counts @ (means - overall) ** 2)
        within, everything = float(sums.sum()), float(sums.sum()) + between
        size = max(float(np.max(np.abs(means))), np.sqrt(everything / total))
        shared = _first_positive(
            [_root(within, total - len(tasks)), _root(everything, total), 1.0], size
        )
        if common:
            return cls(np.full(len(tasks) + 1, overall), np.full(len(tasks) + 1, shared))
        own = [
            _first_positive([_root(s, n - 1.0), 1.0], abs(m) + _root(s, n))
            for s, n, m in zip(sums, counts, means, strict=True)
        ]
        return cls(np.append(means, overall), np.append(own, shared))


def _both(tasks: Sequence[TaskRows], weights: Sequence[Array]) -> list[tuple[TaskRows, Array]]:
    return list(zip(tasks, weights, strict=True))


def _root(total: float, count: float) -> float:
    """Return the root of a mean square; 0 where nothing is left to average."""
    return float(np.sqrt(total / count)) if count > 0.0 else 0.0


def _first_positive(values: Sequence[float], size: float) -> float:
    """Return the first value that is more than rounding of numbers of a size."""
    return next(value for value in [*values, 1.0] if value > 1e-12 * size or value == 1.0)


class StandardizedTargets(MultiTaskKernelModel):
    """Targets in units of their own, and predictions in those of the user.

    Attributes
    ----------
    target_centre_, target_scale_ : ndarray of shape (n_tasks,)
        A prediction is ``target_centre_ + target_scale_ * f``. C, epsilon, ``dual_coef_``,
        ``intercept_`` and ``objective_`` are those of f, the standardised problem. Zeros and ones
        where targets are not standardised.
    """

    standardize_targets: bool | str = "auto"

    _units: TargetUnits

    def _standardizes(self) -> bool:
        """Return whether targets are standardised: "auto" means with a bank that is fitted."""
        if isinstance(self.standardize_targets, str):
            return is_fitted(self.kernels)
        return bool(self.standardize_targets)

    def _encoded(self, tasks: list[TaskRows], weights: list[Array]) -> list[list[Pair]]:
        """Return the problem of every task, in the units that the targets are solved in."""
        self._fit_units(tasks, weights)
        own = [self._in_units(one, number) for number, one in enumerate(tasks)]
        return self._encode(own, weights)

    def _fit_units(self, tasks: Sequence[TaskRows], weights: Sequence[Array]) -> None:
        params: Mapping[str, Any] = vars(self)
        common = self._joins_samples(params) and not self._y_is_wide
        self._units = TargetUnits.none(len(tasks))
        if self._standardizes():
            self._units = TargetUnits.of(tasks, weights, common)
        self.target_centre_, self.target_scale_ = self._units.centre[:-1], self._units.scale[:-1]

    def _in_units(self, task: TaskRows, number: int) -> TaskRows:
        """Return a task with the targets that the solvers see."""
        centre, scale = self._units.centre[number], self._units.scale[number]
        if centre == 0.0 and scale == 1.0:
            return task
        return task._replace(y=(task.y - centre) / scale)

    def _restored(self, values: Array, number: int) -> Array:
        """Return predictions for a task in the user's units."""
        return np.asarray(self._units.centre[number] + self._units.scale[number] * values)


class MultiTaskClassifier(ClassifierMixin, MultiTaskKernelModel):
    """The classifier's part of the pipeline: the classes of each task, the hinge loss.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of these
        The classes, per task where they differ.
    """

    _parameter_constraints: dict[str, Any] = {
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    class_weight: Any

    #: Whether a task may have more than two classes.
    _many_classes = False
    #: The classes of every task where a search knows more than its training rows.
    _expected_classes: list[AnyArray | None] | None = None

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        class_weight: Any = None,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        self.kernels = kernels
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.task_column = task_column
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_targets(self, y: Any) -> AnyArray:
        raw = np.asarray(y)
        wide = raw.ndim == 2
        labels = raw if wide else np.asarray(column_or_1d(raw))
        assert_all_finite(
            labels, allow_nan=wide, estimator_name=type(self).__name__, input_name="y"
        )
        return labels

    def _encode(self, tasks: list[TaskRows], sample_weights: list[Array]) -> list[list[Pair]]:
        found = [task_classes(task, self._many_classes) for task in tasks]
        self._alone = [len(classes) == 1 for classes in found]
        self._task_classes = completed_classes(found, self._expected_classes)
        #: The largest number of classes of a task.
        self._width = max(len(classes) for classes in self._task_classes)
        check_class_weight(self.class_weight, self._task_classes)
        first = self._task_classes[0]
        same = all(np.array_equal(first, other) for other in self._task_classes)
        self.classes_ = first if same else self._task_classes
        return [
            self._pairs_of(task, weight, number)
            for number, (task, weight) in enumerate(zip(tasks, sample_weights, strict=True))
        ]

    def _pairs_of(self, task: TaskRows, weight: Array, number: int) -> list[Pair]:
        """Return the SVMs of samples with the classes of one of the tasks."""
        classes = self._task_classes[number]
        known = classes.tolist()
        unknown = [label for label in dict.fromkeys(task.y.tolist()) if label not in known]
        if unknown:
            raise ValueError(f"y holds {unknown} in task {task.name!r}, whose classes are {known}.")
        code = class_codes(task.y, classes)
        prices = class_prices(self.class_weight, classes, code, weight)
        return one_against_one(code, self.C * weight * prices, len(classes))

    def _pose(self, points: Any, tasks: list[TaskRows], sample_weight: Any) -> list[TaskProblem]:
        problems = super()._pose(points, tasks, sample_weight)
        names = [repr(one.name) for one, alone in zip(tasks, self._alone, strict=True) if alone]
        if self._width == 1:
            raise ValueError(
                f"y holds only one class, {self._task_classes[0].tolist()[0]!r}: there is nothing "
                "to learn without samples of two classes."
            )
        if names:
            joined = self._joins_samples(vars(self))
            how = "by what they share with the others" if joined else "to be of it everywhere"
            warnings.warn(
                f"y holds only one class in {len(names)} of {len(tasks)} tasks, whose points are "
                f"predicted {how}: {', '.join(names)}.",
                UserWarning,
                stacklevel=5,
            )
        return problems

    def _loss_key(self) -> Hashable:
        weights = self.class_weight
        return self.C, tuple(weights.items()) if isinstance(weights, dict) else weights

    def _decide(self, values: Array, number: int) -> Array:
        """Return the values of a task's pairs of classes as decision values."""
        if self._width <= 2:
            return values[:, 0]
        return class_scores(values, len(self._task_classes[number]), self._width)

    def decision_function(self, X: Any, *, task: Any = None) -> Array:
        """Return the signed decision values; positive ones mean the task's second class.

        Where a task has more than two classes, there is a column for each class of the row's task,
        by one-against-one votes and then by confidence; the largest one wins. Columns that a task
        with fewer classes has no use for are minus infinity.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y; each with
        one more axis for the classes where there are more than two
        """
        return self._values(X, task)[0]

    def predict(self, X: Any, *, task: Any = None) -> AnyArray:
        """Return the predicted class of every row.

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
        return told_classes(*self._values(X, task), self._task_classes)

    score = MultiTaskKernelModel.score  # the mixin's own knows no tasks

    def _task_score(self, one: ScoredTask) -> float:
        return float(np.average(one.y == one.predicted, weights=one.weight))

    def _total_score(self, scored: list[ScoredTask]) -> float:
        return float(np.mean([self._task_score(one) for one in scored]))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._many_classes
        return tags


class MultiTaskRegressor(RegressorMixin, StandardizedTargets):
    """The regressor's part of the pipeline: numbers, the epsilon-insensitive loss.

    Parameters
    ----------
    epsilon : float
        Half the width of the insensitive tube, in the units that the targets are solved in.
    """

    _parameter_constraints: dict[str, Any] = {
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    epsilon: float
    loss: str | Loss = "epsilon_insensitive"

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = 100,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        self.kernels = kernels
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.task_column = task_column
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_targets(self, y: Any) -> AnyArray:
        return numeric_target(y, self)

    def _encode(self, tasks: list[TaskRows], sample_weights: list[Array]) -> list[list[Pair]]:
        loss = self._loss()
        return [
            [Pair.whole(loss.at(task.y, self.C * weight))]
            for task, weight in zip(tasks, sample_weights, strict=True)
        ]

    def _loss(self) -> Loss:
        """Return the loss of all tasks; the user's own where one is given."""
        return self.loss if isinstance(self.loss, Loss) else EpsilonInsensitive(float(self.epsilon))

    def _loss_key(self) -> Hashable:
        return self.C, self._loss().key, self._standardizes()

    def _decide(self, values: Array, number: int) -> Array:
        """Return the values of the one function."""
        return values[:, 0]

    def predict(self, X: Any, *, task: Any = None) -> Array:
        """Return the predicted target of every row.

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
        return self._values(X, task)[0]

    score = MultiTaskKernelModel.score  # the mixin's own knows no tasks

    def _pose(self, points: Any, tasks: list[TaskRows], sample_weight: Any) -> list[TaskProblem]:
        problems = super()._pose(points, tasks, sample_weight)
        self._centres = task_means(tasks, sample_weight)
        return problems

    def _task_score(self, one: ScoredTask) -> float:
        return explained(*error_and_spread(one))

    def _total_score(self, scored: list[ScoredTask]) -> float:
        return explained(*np.sum([error_and_spread(one) for one in scored], axis=0).tolist())


class LossChoice(MultiTaskRegressor):
    r"""The part of a regressor that chooses its loss.

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared", "quantile"} or Loss
        What a wrong prediction costs, times C: :math:`\max(0, \lvert y - f \rvert - \varepsilon)`,
        :math:`\tfrac12 (y - f)^2`, the pinball loss at the level `quantile`, or a loss of your own.
    quantile : float
        The level of the quantile that ``loss="quantile"`` predicts, between 0 and 1.
    """

    _parameter_constraints: dict[str, Any] = {
        "loss": [StrOptions(set(REGRESSION_LOSSES)), Loss],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    quantile: float

    def _loss(self) -> Loss:
        return as_loss(self.loss, self.epsilon, self.quantile)

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Leave out the parameters of losses that are not in use."""
        same = super()._canonical(params)
        if params["loss"] != "epsilon_insensitive":
            same["epsilon"] = 0.0
        if params["loss"] != "quantile":
            same["quantile"] = 0.5
        return same
