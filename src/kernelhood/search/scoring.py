"""Scores of one task from decision values, by any scikit-learn scorer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.metaestimators import available_if

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.base import MultiTaskKernelModel

#: Returns the probabilities of one task's classes at its test points.
Tell = Callable[[], Array]

_LEAST = np.finfo(np.float64).eps


class _Decided(BaseEstimator):
    """Something a scorer can ask: the values at the test points are known already."""

    def __init__(self, values: Array | None = None) -> None:
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _can_tell(decided: _DecidedClassifier) -> bool:
    return decided.tell is not None


class _DecidedClassifier(ClassifierMixin, _Decided):
    classes_: AnyArray
    tell: Tell | None = None

    def decision_function(self, X: Any) -> Array:
        assert self.values is not None
        return self.values

    def predict(self, X: Any) -> AnyArray:
        return np.asarray(self.classes_[_winners(self.decision_function(X))])

    @available_if(_can_tell)
    def predict_proba(self, X: Any) -> Array:
        assert self.tell is not None
        return self.tell()[:, : len(self.classes_)]


class _DecidedRegressor(RegressorMixin, _Decided):
    def predict(self, X: Any) -> Array:
        assert self.values is not None
        return self.values


class TaskScorer:
    """Turns the decision values of one task into a score, larger being better.

    Parameters
    ----------
    scoring : str, callable or None
        A scikit-learn scorer or its name; None means accuracy, or minus the sum of squared errors,
        of which `averages` makes one score for all tasks.

    Notes
    -----
    The scores that a comparison asks for by the ten thousand, accuracy and mean squared error, are
    computed here: a scorer validates its arguments for longer than a small model is solved.
    """

    def __init__(self, scoring: Any) -> None:
        self.scoring = scoring
        self._scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        if self._scorer is not None and not callable(self._scorer):
            raise ValueError(f"scoring must be a name, a callable or None, got {scoring!r}.")

    @property
    def asks_probabilities(self) -> bool:
        """Whether it asks for probabilities, as far as can be known."""
        response = getattr(self._scorer, "_response_method", None)
        first = response if isinstance(response, str) or not response else response[0]
        return first == "predict_proba"

    def needs_whole_splits(self, model: MultiTaskKernelModel) -> bool:
        """Return whether it may ask for probabilities, which all tasks calibrate together."""
        unknown = self._scorer is not None and not hasattr(self._scorer, "_response_method")
        return bool(getattr(model, "probability", False)) and (unknown or self.asks_probabilities)

    def check(self, model: Any) -> None:
        """Raise where it asks for probabilities that the model does not tell."""
        if self.asks_probabilities and not hasattr(model, "predict_proba"):
            has = hasattr(model, "probability")
            how = f"use {type(model).__name__}(probability=True)" if has else "it tells none"
            raise ValueError(
                f"scoring={self.scoring!r} needs predict_proba of {type(model).__name__}: {how}."
            )

    def __call__(
        self,
        model: MultiTaskKernelModel,
        number: int,
        values: Array,
        X: Any,
        y: AnyArray,
        tell: Tell | None = None,
    ) -> float:
        """Return the score of one task's decision values, or probabilities, at its test points."""
        if not isinstance(model, ClassifierMixin):
            if self._scorer is None:
                return -float(np.sum((y - values) ** 2))
            if self.scoring == "neg_mean_squared_error":
                return -float(np.mean((y - values) ** 2))
            return self._defined(_DecidedRegressor(values), X, y)
        classes = model._task_classes[number]
        classes = classes[[0, 0]] if len(classes) == 1 else classes
        if self._scorer is None or self.scoring == "accuracy":
            return float(np.mean(classes[_winners(values)] == y))
        if tell is not None and self.scoring in _BY_PROBABILITY:
            return _BY_PROBABILITY[self.scoring](tell(), y[:, None] == classes)
        decided = _DecidedClassifier(values)
        decided.classes_, decided.tell = classes, tell
        return self._defined(decided, X, y)

    def _defined(self, decided: _Decided, X: Any, y: AnyArray) -> float:
        """Return the score, NaN without a warning where a few rows do not define it."""
        assert self._scorer is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return float(self._scorer(decided, X, y))


def _winners(values: Array) -> Indices:
    """Return the place of the winning class: by the sign, or the largest of several columns."""
    return values.argmax(axis=1) if values.ndim == 2 else (values > 0.0).astype(np.intp)


def _neg_log_loss(told: Array, true: AnyArray) -> float:
    """Return the mean logarithm of the true classes' probabilities."""
    hit = np.sum(told[:, : true.shape[1]] * true, axis=1)
    return float(np.mean(np.log(np.clip(hit, _LEAST, 1.0))))


def _neg_brier_score(told: Array, true: AnyArray) -> float:
    """Return minus the mean squared distance from certainty, half of it with two classes."""
    miss = np.sum((told[:, : true.shape[1]] - true) ** 2, axis=1)
    return -float(np.mean(miss)) * (0.5 if true.shape[1] == 2 else 1.0)


#: Computed here, since scikit-learn's own refuse the test rows of a task that are of one class.
_BY_PROBABILITY = {"neg_log_loss": _neg_log_loss, "neg_brier_score": _neg_brier_score}

_ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class _AtTask:
    """An estimator that is asked about rows whose tasks are known."""

    def __init__(self, estimator: Any, task: Any) -> None:
        self._estimator, self._task = estimator, task

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._estimator, name)
        if name not in _ANSWERS:
            return found
        # Scorers look at the name of the method.
        return update_wrapper(partial(found, task=self._task), found)


class RoutedScorer:
    """A scorer that takes `task` and hands it to whatever method it asks."""

    def __init__(self, scoring: Any) -> None:
        self.scoring = scoring
        self._scorer = get_scorer(scoring)

    def __repr__(self) -> str:
        return f"task_scorer({self.scoring!r})"

    def __call__(
        self, estimator: Any, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the score of all rows.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X, y, task, sample_weight
            As the estimator's `score` takes them.
        """
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self._scorer(_AtTask(estimator, task), X, y, **weight))

    def get_metadata_routing(self) -> MetadataRequest:
        """Return that `task` is asked for."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="task", alias=True)
        return request


def task_scorer(scoring: Any) -> RoutedScorer:
    """Return a scorer that passes `task` on to the method it asks.

    scikit-learn's own scorers hand metadata to the metric only, so that cross-validation with
    ``params={"task": task}`` scores by the estimator's `score` or by one of these. With
    `task_column` any scorer will do.

    Parameters
    ----------
    scoring : str or scorer
        A scikit-learn scorer or its name.

    Returns
    -------
    callable
        Called as ``scorer(estimator, X, y, task=task)``. It asks for `task` where metadata is
        routed.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> X, y = np.arange(16.0)[:, None], np.repeat([0, 1, 0, 1], 4)
    >>> task = np.repeat(["a", "b"], 8)
    >>> model = kh.MTONMKLClassifier(C=100.0, probability=True).fit(X, y, task=task)
    >>> kh.task_scorer("roc_auc")(model, X, y, task=task)
    1.0
    """
    return RoutedScorer(scoring)
