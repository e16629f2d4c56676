"""Scores of one task from decision values, by any scikit-learn scorer."""

from __future__ import annotations

import warnings
from functools import partial, update_wrapper
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRequest

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.targets import ClassTargets, Targets


class _Decided(BaseEstimator):
    """Something a scorer can ask: the values at the test points are known already."""

    def __init__(self, values: Array | None = None) -> None:
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _DecidedClassifier(ClassifierMixin, _Decided):
    classes_: AnyArray

    def decision_function(self, X: Any) -> Array:
        assert self.values is not None
        return self.values

    def predict(self, X: Any) -> AnyArray:
        return np.asarray(self.classes_[_winners(self.decision_function(X))])


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

    def check(self, model: Any) -> None:
        """Raise where it asks for probabilities, which no model that is searched has."""
        response = getattr(self._scorer, "_response_method", None)
        first = response if isinstance(response, str) or not response else response[0]
        if first == "predict_proba":
            raise ValueError(
                f"scoring={self.scoring!r} needs predict_proba, which {type(model).__name__} does "
                "not have: score decision values, such as by 'roc_auc', or use "
                "KernelhoodClassifier."
            )

    def __call__(self, targets: Targets, number: int, values: Array, X: Any, y: AnyArray) -> float:
        """Return the score of one task's decision values at its test points."""
        if not isinstance(targets, ClassTargets):
            if self._scorer is None:
                return -float(np.sum((y - values) ** 2))
            if self.scoring == "neg_mean_squared_error":
                return -float(np.mean((y - values) ** 2))
            return self._defined(_DecidedRegressor(values), X, y)
        classes = targets.classes[number]
        classes = classes[[0, 0]] if len(classes) == 1 else classes
        if self._scorer is None or self.scoring == "accuracy":
            return float(np.mean(classes[_winners(values)] == y))
        decided = _DecidedClassifier(values)
        decided.classes_ = classes
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
    >>> model = kh.MTONMKLClassifier(C=100.0).fit(X, y, task=task)
    >>> kh.task_scorer("roc_auc")(model, X, y, task=task)
    1.0
    """
    return RoutedScorer(scoring)
