"""What targets mean: classes by task, or numbers in units that suit them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import column_or_1d

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators.data import (
    Pair,
    ScoredTask,
    check_class_weight,
    class_codes,
    class_prices,
    class_scores,
    completed_classes,
    error_and_spread,
    explained,
    one_against_one,
    task_classes,
    task_means,
    told_classes,
)
from kernelhood.estimators.reading import TaskRows, is_fitted, numeric_target
from kernelhood.losses import EpsilonInsensitive, Loss, as_loss


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
            within tasks. Otherwise each has its own mean and standard deviation. If targets do
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
    """Return the root of a mean square; 0 if nothing is left to average."""
    return float(np.sqrt(total / count)) if count > 0.0 else 0.0


def _first_positive(values: Sequence[float], size: float) -> float:
    """Return the first value that is more than rounding of numbers of a size."""
    return next(value for value in [*values, 1.0] if value > 1e-12 * size or value == 1.0)


class Targets(ABC):
    """What the targets of a fit mean, and what functions say of them."""

    _parameter_constraints: dict[str, Any] = {}

    @classmethod
    @abstractmethod
    def checked(cls, y: Any, estimator: Any) -> AnyArray:
        """Return y as an array of one or two dimensions, or raise."""

    @classmethod
    @abstractmethod
    def key(cls, params: Mapping[str, Any]) -> Hashable:
        """Return what is equal for models with the same losses: a search keeps one set of them."""

    @classmethod
    @abstractmethod
    def of(
        cls,
        params: Mapping[str, Any],
        tasks: Sequence[TaskRows],
        weights: Sequence[Array],
        *,
        common: bool,
        many: bool = False,
        expected: Sequence[AnyArray | None] | None = None,
    ) -> Self:
        """Return what the targets of a fit mean.

        Parameters
        ----------
        params : dict
            Parameters of the estimator.
        tasks : sequence of TaskRows
            The tasks, without samples of weight 0.
        weights : sequence of ndarray
            The weights of their samples.
        common : bool
            Whether all tasks have one unit, because one SVM has the samples of all.
        many : bool
            Whether a task may have more than two classes.
        expected : sequence of (ndarray or None), optional
            The classes that tasks are known to have beyond these samples, as in a search.
        """

    @abstractmethod
    def pairs(self, one: TaskRows, weight: Array, number: int) -> list[Pair]:
        """Return the SVMs of samples of a task, -1 being the number of one not seen in the fit."""

    @abstractmethod
    def decided(self, values: Array, number: int) -> Array:
        """Return the decision values of a task, in the user's units."""

    def restored(self, values: Array, number: int) -> Array:
        """Return values of a task's function in the user's units."""
        return values

    @abstractmethod
    def predicted(self, values: Array, which: AnyArray | None) -> AnyArray:
        """Return the predictions that decision values stand for; `which` is the task of each."""

    @abstractmethod
    def task_score(self, one: ScoredTask) -> float:
        """Return the score of one task's predictions."""

    @abstractmethod
    def total_score(self, scored: list[ScoredTask]) -> float:
        """Return the score of all predictions."""

    @property
    def centres(self) -> dict[Hashable, float]:
        """The mean training target of each task, if targets are numbers."""
        return {}


@dataclass(frozen=True)
class ClassTargets(Targets):
    """The classes of each task, and the hinge loss.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of these
        The classes, per task if they differ.
    """

    _parameter_constraints = {"class_weight": [StrOptions({"balanced"}), dict, None]}

    C: float
    class_weight: Any
    classes: list[AnyArray]
    alone: list[bool] = field(default_factory=list)

    @classmethod
    def checked(cls, y: Any, estimator: Any) -> AnyArray:
        """Return labels of one or two dimensions."""
        raw = np.asarray(y)
        wide = raw.ndim == 2
        labels = raw if wide else np.asarray(column_or_1d(raw))
        name = type(estimator).__name__
        assert_all_finite(labels, allow_nan=wide, estimator_name=name, input_name="y")
        return labels

    @classmethod
    def key(cls, params: Mapping[str, Any]) -> Hashable:
        """Return C and the weights of classes."""
        weights = params["class_weight"]
        return params["C"], tuple(weights.items()) if isinstance(weights, dict) else weights

    @classmethod
    def of(
        cls,
        params: Mapping[str, Any],
        tasks: Sequence[TaskRows],
        weights: Sequence[Array],
        *,
        common: bool,
        many: bool = False,
        expected: Sequence[AnyArray | None] | None = None,
    ) -> Self:
        """Return the classes of all tasks, or raise if a task has classes that cannot be."""
        found = [task_classes(task, many) for task in tasks]
        classes = completed_classes(found, expected)
        check_class_weight(params["class_weight"], classes)
        alone = [len(own) == 1 for own in found]
        return cls(params["C"], params["class_weight"], classes, alone)

    def check(self, names: Sequence[Hashable], joined: bool) -> None:
        """Raise if there is one class in all, and warn of the tasks that have one.

        Parameters
        ----------
        names : sequence
            Of the tasks.
        joined : bool
            Whether one SVM has the samples of all tasks.
        """
        if self.width == 1:
            raise ValueError(
                f"y holds only one class, {self.classes[0].tolist()[0]!r}: there is nothing "
                "to learn without samples of two classes."
            )
        only = [repr(name) for name, alone in zip(names, self.alone, strict=True) if alone]
        if only:
            how = "by what they share with the others" if joined else "to be of it everywhere"
            warnings.warn(
                f"y holds only one class in {len(only)} of {len(names)} tasks, whose points are "
                f"predicted {how}: {', '.join(only)}.",
                UserWarning,
                stacklevel=6,
            )

    @property
    def width(self) -> int:
        """The largest number of classes of a task."""
        return max(len(classes) for classes in self.classes)

    @property
    def same(self) -> bool:
        """Whether all tasks have the same classes."""
        return all(np.array_equal(self.classes[0], other) for other in self.classes)

    def pairs(self, one: TaskRows, weight: Array, number: int) -> list[Pair]:
        """Return one SVM for each pair of classes."""
        classes = self.classes[number]
        known = classes.tolist()
        unknown = [label for label in dict.fromkeys(one.y.tolist()) if label not in known]
        if unknown:
            raise ValueError(f"y holds {unknown} in task {one.name!r}, whose classes are {known}.")
        code = class_codes(one.y, classes)
        prices = class_prices(self.class_weight, classes, code, weight)
        return one_against_one(code, self.C * weight * prices, len(classes))

    def decided(self, values: Array, number: int) -> Array:
        """Return the values of a task's pairs of classes as decision values."""
        if self.width <= 2:
            return values[:, 0]
        return class_scores(values, len(self.classes[number]), self.width)

    def predicted(self, values: Array, which: AnyArray | None) -> AnyArray:
        """Return classes."""
        return told_classes(values, which, self.classes)

    def task_score(self, one: ScoredTask) -> float:
        """Return the accuracy."""
        return float(np.average(one.y == one.predicted, weights=one.weight))

    def total_score(self, scored: list[ScoredTask]) -> float:
        """Return the accuracy, averaged over tasks."""
        return float(np.mean([self.task_score(one) for one in scored]))


@dataclass(frozen=True)
class NumberTargets(Targets):
    """Numbers, their units and their loss.

    Parameters
    ----------
    epsilon : float
        Half the width of the insensitive tube, in the units that the targets are solved in.

    Attributes
    ----------
    target_centre_, target_scale_ : ndarray of shape (n_tasks,)
        A prediction is ``target_centre_ + target_scale_ * f``. C, epsilon, ``dual_coef_``,
        ``intercept_`` and ``objective_`` are those of f, the standardised problem. Zeros and ones
        if targets are not standardised.
    """

    _parameter_constraints = {"epsilon": [Interval(Real, 0, None, closed="left")]}

    C: float
    loss: Loss
    units: TargetUnits
    means: dict[Hashable, float]

    @classmethod
    def checked(cls, y: Any, estimator: Any) -> AnyArray:
        """Return numbers."""
        return numeric_target(y, estimator)

    @classmethod
    def key(cls, params: Mapping[str, Any]) -> Hashable:
        """Return C, the loss and the units."""
        return params["C"], _loss_of(params), _standardizes(params)

    @classmethod
    def of(
        cls,
        params: Mapping[str, Any],
        tasks: Sequence[TaskRows],
        weights: Sequence[Array],
        *,
        common: bool,
        many: bool = False,
        expected: Sequence[AnyArray | None] | None = None,
    ) -> Self:
        """Return the units of all tasks, and the loss."""
        units = TargetUnits.none(len(tasks))
        if _standardizes(params):
            units = TargetUnits.of(tasks, weights, common)
        return cls(params["C"], _loss_of(params), units, task_means(tasks, weights))

    @property
    def centres(self) -> dict[Hashable, float]:
        """The mean training target of each task."""
        return self.means

    def pairs(self, one: TaskRows, weight: Array, number: int) -> list[Pair]:
        """Return the one SVM of a task, in the units that it is solved in."""
        centre, scale = self.units.centre[number], self.units.scale[number]
        y = one.y if centre == 0.0 and scale == 1.0 else (one.y - centre) / scale
        return [Pair.whole(self.loss.at(y, self.C * weight))]

    def decided(self, values: Array, number: int) -> Array:
        """Return the values of the one function in the user's units."""
        return self.restored(values[:, 0], number)

    def restored(self, values: Array, number: int) -> Array:
        """Return values of a task in the user's units."""
        return np.asarray(self.units.centre[number] + self.units.scale[number] * values)

    def predicted(self, values: Array, which: AnyArray | None) -> AnyArray:
        """Return the values: they are the predictions."""
        return values

    def task_score(self, one: ScoredTask) -> float:
        """Return the share of squared error explained."""
        return explained(*error_and_spread(one))

    def total_score(self, scored: list[ScoredTask]) -> float:
        """Return the share of squared error explained, with sums over all tasks."""
        return explained(*np.sum([error_and_spread(one) for one in scored], axis=0).tolist())


def _loss_of(params: Mapping[str, Any]) -> Loss:
    """Return the loss that parameters name."""
    if "loss" not in params:
        return EpsilonInsensitive(float(params["epsilon"]))
    return as_loss(params["loss"], params["epsilon"])


def _standardizes(params: Mapping[str, Any]) -> bool:
    """Return whether targets are standardised: "auto" means with a bank that is fitted."""
    asked = params.get("standardize_targets", "auto")
    return is_fitted(params["kernels"]) if isinstance(asked, str) else bool(asked)


def targets_type(kind: type[Any]) -> type[Targets]:
    """Return what the targets of a class of estimators are."""
    return ClassTargets if issubclass(kind, ClassifierMixin) else NumberTargets


def two_class_tags(model: ClassifierMixin) -> Tags:
    """Return scikit-learn's tags of a classifier whose tasks have two classes each."""
    tags = ClassifierMixin.__sklearn_tags__(model)
    tags.classifier_tags.multi_class = False
    return tags
