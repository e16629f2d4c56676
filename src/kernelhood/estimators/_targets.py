"""What a target means: two classes per task, or a number."""

from __future__ import annotations

from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from kernelhood._typing import AnyArray, Array, Flags
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.losses import DualTerms, epsilon_insensitive, hinge
from kernelhood.tasks import TaskRows, as_objects


class MultiTaskClassifier(ClassifierMixin, MultiTaskKernelModel):
    """The classifier's part of the pipeline: two classes per task, the hinge loss.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (2,), or list of these
        The two classes, per task where they differ.
    """

    _parameter_constraints: dict[str, Any] = {
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    class_weight: Any

    def __init__(
        self,
        *,
        kernels: Any = None,
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
        labels = raw if wide else np.asarray(column_or_1d(y))
        assert_all_finite(
            labels, allow_nan=wide, estimator_name=type(self).__name__, input_name="y"
        )
        return labels

    def _encode(self, tasks: list[TaskRows], sample_weights: list[Array]) -> list[DualTerms]:
        self._task_classes = [_two_classes(task) for task in tasks]
        _check_class_weight(self.class_weight, self._task_classes)
        first = self._task_classes[0]
        same = all(np.array_equal(first, other) for other in self._task_classes)
        self.classes_ = first if same else self._task_classes
        terms = []
        for task, classes, weight in zip(tasks, self._task_classes, sample_weights, strict=True):
            second = np.array([label == classes[1] for label in task.y.tolist()])
            price = _class_prices(self.class_weight, classes, second, weight)
            terms.append(hinge(np.where(second, 1.0, -1.0), self.C * weight * price))
        return terms

    def decision_function(self, X: Any, *, task: Any = None) -> Array:
        """Return the signed decision values; positive ones mean the task's second class.

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
        check_is_fitted(self)
        values, which = self._values(X, task)
        classes = _stacked(self._task_classes)
        second = (values > 0.0).astype(np.intp)
        numbers = np.arange(len(classes)) if which is None else which
        return np.asarray(classes[numbers, second])

    score = MultiTaskKernelModel.score  # the mixin's own knows no tasks

    @staticmethod
    def _metric(y: AnyArray, predicted: AnyArray, *, sample_weight: Array) -> float:
        return float(_accuracy(y, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class MultiTaskRegressor(RegressorMixin, MultiTaskKernelModel):
    """The regressor's part of the pipeline: numbers, the epsilon-insensitive loss.

    Parameters
    ----------
    epsilon : float
        Half the width of the insensitive tube, in the units of y.
    """

    _parameter_constraints: dict[str, Any] = {
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    epsilon: float

    def __init__(
        self,
        *,
        kernels: Any = None,
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
        wide = np.asarray(y).ndim == 2
        return np.asarray(
            check_array(
                y,
                ensure_2d=False,
                dtype=np.float64,
                ensure_all_finite="allow-nan" if wide else True,
                input_name="y",
                estimator=self,
            )
        )

    def _encode(self, tasks: list[TaskRows], sample_weights: list[Array]) -> list[DualTerms]:
        return [
            epsilon_insensitive(task.y, self.C * weight, self.epsilon)
            for task, weight in zip(tasks, sample_weights, strict=True)
        ]

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

    @staticmethod
    def _metric(y: AnyArray, predicted: AnyArray, *, sample_weight: Array) -> float:
        return float(r2_score(y, predicted, sample_weight=sample_weight))


def _two_classes(task: TaskRows) -> AnyArray:
    """Return the task's two classes, or raise an error that names the task."""
    classes = _distinct(task.y)
    if classes.dtype.kind == "f" and np.any(classes != np.rint(classes)):
        raise ValueError(
            f"Unknown label type: continuous. y of task {task.name!r} holds fractions, "
            "a classifier needs two classes."
        )
    if len(classes) == 1:
        raise ValueError(
            f"y holds only one class, {classes.tolist()[0]!r}, in task {task.name!r}: "
            "every task needs samples of two classes."
        )
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y holds {len(classes)} classes in task {task.name!r}."
        )
    return classes


def _distinct(y: AnyArray) -> AnyArray:
    """Return the distinct labels, sorted where they can be, as objects where no dtype fits."""
    if y.dtype.kind != "O":
        return np.unique(y)
    found = list(dict.fromkeys(y.tolist()))
    with suppress(TypeError):
        found.sort()
    if len({type(label) for label in found}) == 1 and np.ndim(found[0]) == 0:
        return np.array(found)
    return as_objects(found)


def _stacked(classes: list[AnyArray]) -> AnyArray:
    """Return all tasks' classes as one array of shape (n_tasks, 2) that changes no label."""
    if len({one.dtype.kind for one in classes}) > 1:
        classes = [one.astype(object) for one in classes]
    return np.stack(classes)


def _check_class_weight(class_weight: Any, task_classes: list[AnyArray]) -> None:
    if not isinstance(class_weight, dict):
        return
    known = {label for classes in task_classes for label in classes.tolist()}
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(f"class_weight holds {unknown}, which are classes of no task in y.")
    if not all(weight > 0.0 for weight in class_weight.values()):
        raise ValueError(f"class_weight must hold positive weights, got {class_weight}.")


def _class_prices(
    class_weight: Any, classes: AnyArray, second: Flags, sample_weight: Array
) -> Array:
    """Return the weight of each sample's class; "balanced" counts samples by their weight."""
    if class_weight is None:
        return np.ones(len(second))
    if isinstance(class_weight, dict):
        first, other = (float(class_weight.get(label, 1.0)) for label in classes.tolist())
        return np.where(second, other, first)
    half = 0.5 * sample_weight.sum()
    counted = sample_weight[second].sum()
    return np.asarray(np.where(second, half / counted, half / (2.0 * half - counted)))


def _accuracy(y: AnyArray, predicted: AnyArray, *, sample_weight: Array) -> float:
    return float(np.average(y == predicted, weights=sample_weight))
