"""What targets mean: classes by task, or numbers in units that suit them."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import column_or_1d

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.data import Pair, ScoredTask
from kernelhood.estimators.reading import TaskRows, as_objects, is_fitted, numeric_target
from kernelhood.losses import EpsilonInsensitive, Hinge, Loss, as_loss

# The classes of a task: what they are, what they weigh, and one SVM for each pair of them.

_NEGLIGIBLE = 1e-6


def task_classes(task: TaskRows, many: bool) -> AnyArray:
    """Return the classes that a task's samples have, or raise an error that names the task.

    Parameters
    ----------
    task : TaskRows
        The task.
    many : bool
        Whether there may be more than two.
    """
    classes = _distinct(task.y)
    if classes.dtype.kind == "f" and np.any(classes != np.rint(classes)):
        raise ValueError(
            f"Unknown label type: continuous. y of task {task.name!r} holds fractions, "
            "a classifier needs classes."
        )
    if len(classes) > 2 and not many:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y holds {len(classes)} classes in task {task.name!r}."
        )
    return classes


def completed_classes(
    found: list[AnyArray], expected: Sequence[AnyArray | None] | None = None
) -> list[AnyArray]:
    """Return the classes of tasks, those with a single one completed by what others have.

    A task whose samples are all of one class is taken to choose between two as the other tasks
    with this class do, if these agree. Otherwise its class stays alone.

    Parameters
    ----------
    found : list of ndarray
        The classes that each task's samples have.
    expected : sequence of (ndarray or None), optional
        The classes that each task is known to have beyond these samples, as in a search.

    Examples
    --------
    >>> import numpy as np
    >>> both, alone, another = np.array(["a", "b"]), np.array(["b"]), np.array(["c"])
    >>> [one.tolist() for one in completed_classes([both, alone, another])]
    [['a', 'b'], ['a', 'b'], ['c']]
    """
    known = [one for one in (expected or found) if one is not None]
    pairs = [one for one in known if len(one) == 2]
    if all(len(one) == 1 for one in known):
        pairs = [_distinct(as_objects([label for one in known for label in one.tolist()]))]
    fitting: dict[Any, list[AnyArray]] = {}
    for one in pairs:
        for label in one.tolist():
            fitting.setdefault(label, []).append(one)
    agreed = {label: _agreed(some) for label, some in fitting.items()}
    completed = []
    for number, own in enumerate(found):
        before = None if expected is None else expected[number]
        other = None
        if len(own) == 1:
            (label,) = own.tolist()
            other = agreed.get(label)
            if before is not None and len(before) == 2:
                other = before if label in before.tolist() else None
        completed.append(own if other is None else other)
    return completed


def _agreed(pairs: list[AnyArray]) -> AnyArray | None:
    """Return the two classes that all pairs are, None if they differ or are not two."""
    first = pairs[0]
    same = len(first) == 2 and all(np.array_equal(one, first) for one in pairs)
    return first if same else None


def _distinct(y: AnyArray) -> AnyArray:
    """Return the distinct labels, sorted if they can be, as objects if no dtype fits."""
    if y.dtype.kind != "O":
        return np.unique(y)
    found = list(dict.fromkeys(y.tolist()))
    with suppress(TypeError):
        found.sort()
    if len({type(label) for label in found}) == 1 and np.ndim(found[0]) == 0:
        return np.array(found)
    return as_objects(found)


def class_codes(y: AnyArray, classes: AnyArray) -> Indices:
    """Return the place of every label among the classes."""
    places = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([places[label] for label in y.tolist()], dtype=np.intp)


def stacked_classes(classes: list[AnyArray]) -> AnyArray:
    """Return all tasks' classes as rows of one array that changes no label.

    Rows of tasks with fewer classes are filled up with their last one.
    """
    if len({one.dtype.kind for one in classes}) > 1:
        classes = [one.astype(object) for one in classes]
    width = max(len(one) for one in classes)
    return np.stack([one[np.minimum(np.arange(width), len(one) - 1)] for one in classes])


def told_classes(values: Array, which: AnyArray | None, classes: list[AnyArray]) -> AnyArray:
    """Return the classes of decision values: by their sign, or the largest of several.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_tasks), or with an axis for the classes
        As `decision_function` returns them.
    which : ndarray of int, shape (n_samples,), or None
        The task of each row; None if there is a column for each.
    classes : list of ndarray
        The classes of each task.
    """
    stacked = stacked_classes(classes)
    code = (values > 0.0).astype(np.intp) if stacked.shape[1] <= 2 else values.argmax(axis=-1)
    numbers = np.arange(len(stacked)) if which is None else which
    return np.asarray(stacked[numbers, code])


def check_class_weight(class_weight: Any, classes: list[AnyArray]) -> None:
    """Raise if weights are not positive or given to a label that no task has."""
    if not isinstance(class_weight, dict):
        return
    known = {label for own in classes for label in own.tolist()}
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(f"class_weight holds {unknown}, which are classes of no task in y.")
    if not all(weight > 0.0 for weight in class_weight.values()):
        raise ValueError(f"class_weight must hold positive weights, got {class_weight}.")


def class_prices(
    class_weight: Any, classes: AnyArray, code: Indices, sample_weight: Array
) -> Array:
    """Return the weight of each sample's class; "balanced" counts samples by their weight."""
    if class_weight is None:
        return np.ones(len(code))
    if isinstance(class_weight, dict):
        return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])[code]
    counted = np.bincount(code, sample_weight, len(classes))
    with np.errstate(divide="ignore"):  # a class that a task has no sample of
        return np.asarray(sample_weight.sum() / (len(classes) * counted))[code]


def one_against_one(code: Indices, cost: Array, n_classes: int) -> list[Pair]:
    """Return one SVM for each pair of classes, the second of them being positive.

    A class that is alone makes one SVM, which is positive everywhere. It should tell other tasks
    nothing, so that it costs next to nothing.

    Parameters
    ----------
    code : ndarray of int, shape (n_samples,)
        The class of each sample.
    cost : ndarray of shape (n_samples,)
        C times the weight of each sample.
    n_classes : int
        How many classes there are.
    """
    if n_classes == 1:
        return [Pair.whole(Hinge().box(np.ones(len(code)), _NEGLIGIBLE * cost))]
    pairs = []
    for first, second in combinations(range(n_classes), 2):
        own = np.flatnonzero((code == first) | (code == second))
        pairs.append(Pair(own, Hinge().box(np.where(code[own] == second, 1.0, -1.0), cost[own])))
    return pairs


def class_scores(values: Array, n_classes: int, width: int) -> Array:
    """Return a column for each class: its votes, and a confidence that only breaks ties.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_pairs)
        The function of each pair of classes.
    n_classes, width : int
        Number of classes, and of columns; what is left over is minus infinity.
    """
    scores = np.full((len(values), width), -np.inf)
    votes = _ovr_decision_function(values > 0.0, values, n_classes)
    scores[:, :n_classes] = votes
    return scores


# Targets, in units that suit them.


def explained(error: float, spread: float) -> float:
    """Return 1 - error / spread; without any spread 1 if there is no error, otherwise 0.

    Examples
    --------
    >>> explained(1.0, 4.0), explained(0.0, 0.0), explained(1.0, 0.0)
    (0.75, 1.0, 0.0)
    """
    return 1.0 - error / spread if spread > 0.0 else float(error == 0.0)


def task_means(tasks: Sequence[TaskRows], weights: Sequence[Array]) -> dict[Hashable, float]:
    """Return the mean target of every task; 0 if its samples weigh nothing.

    Parameters
    ----------
    tasks : sequence of TaskRows
        The tasks.
    weights : sequence of ndarray
        The weights of their samples.
    """
    return {
        one.name: float(weight @ one.y) / weight.sum() if weight.any() else 0.0
        for one, weight in zip(tasks, weights, strict=True)
    }


def error_and_spread(one: ScoredTask) -> tuple[float, float]:
    """Return the squared error of a task's predictions, and that of its mean training target."""
    error = float(one.weight @ (one.y - one.predicted) ** 2)
    return error, float(one.weight @ (one.y - one.centre) ** 2)


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


@dataclass(frozen=True)
class ClassTargets:
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
        """Return the classes of all tasks, or raise if a task has classes that cannot be.

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

    @property
    def centres(self) -> dict[Hashable, float]:
        """Nothing: classes have no mean."""
        return {}

    def restored(self, values: Array, number: int) -> Array:
        """Return the values: decision values have no unit."""
        return values

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
class NumberTargets:
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
        """Return the units of all tasks, and the loss; see `ClassTargets.of`."""
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


#: What the targets of a fit mean, and what functions say of them.
Targets = ClassTargets | NumberTargets


def targets_type(kind: type[Any]) -> type[ClassTargets] | type[NumberTargets]:
    """Return what the targets of a class of estimators are."""
    return ClassTargets if issubclass(kind, ClassifierMixin) else NumberTargets


def two_class_tags(model: ClassifierMixin) -> Tags:
    """Return scikit-learn's tags of a classifier whose tasks have two classes each."""
    tags = ClassifierMixin.__sklearn_tags__(model)
    tags.classifier_tags.multi_class = False
    return tags
