"""Scores of one task from decision values, by any scikit-learn scorer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.pipeline.base import MultiTaskKernelModel


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

    def __call__(
        self, model: MultiTaskKernelModel, number: int, values: Array, X: Any, y: AnyArray
    ) -> float:
        """Return the score of one task's decision values at its test points."""
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
