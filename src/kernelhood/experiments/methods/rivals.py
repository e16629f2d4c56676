"""What one would use instead of this library: one model for all tasks, told which task it is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from kernelhood._typing import AnyArray, Array
from kernelhood.experiments.protocol import CLASSIFICATION

_TREES: dict[str, list[Any]] = {
    "learning_rate": [0.1],
    "max_leaf_nodes": [4, 8, 31],
    "max_iter": [100, 300],
}
_MOST_BINS = 255
#: Of kernel rows that an SVM may keep.
_MEGABYTES = 1000
_SVM: dict[str, list[Any]] = {
    "C": [1.0, 10.0, 100.0],
    "width": [0.1, 0.3, 1.0],
}


def rival_grid(method: str, *, quick: bool) -> dict[str, list[Any]]:
    """Return the values of the hyper-parameters of a rival, the middle ones for a quick look.

    Parameters
    ----------
    method : {"boosting", "one-hot-svm"}
        The rival.
    quick : bool
        Whether a handful is enough.
    """
    grid = _TREES if method == "boosting" else _SVM
    return {
        name: [values[len(values) // 2]] if quick else list(values) for name, values in grid.items()
    }


class _Rival(BaseEstimator):
    """One model of scikit-learn for the rows of all tasks.

    Attributes
    ----------
    slow : bool
        Whether its time grows with the square of the rows.
    """

    slow = False

    def fit(self, X: Any, y: AnyArray, *, task: AnyArray) -> Self:
        """Fit the model to the rows of all tasks.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y, task : ndarray of shape (n_samples,)
            Targets, and the task of each row.
        """
        self.tasks_ = np.unique(task)
        encoded = self._encoded(X, task)
        self.model_ = self._model(encoded).fit(encoded, y)
        return self

    def predict(self, X: Any, *, task: AnyArray) -> AnyArray:
        """Return the predicted targets, an array of shape (n_samples,)."""
        return np.asarray(self.model_.predict(self._encoded(X, task)))

    def _model(self, encoded: Array) -> Any:
        raise NotImplementedError

    def _encoded(self, X: Any, task: AnyArray) -> Array:
        raise NotImplementedError


class _Boosting(_Rival):
    """Gradient boosting with the task as a category."""

    def __init__(
        self, learning_rate: float = 0.1, max_leaf_nodes: int = 31, max_iter: int = 100
    ) -> None:
        self.learning_rate, self.max_leaf_nodes = learning_rate, max_leaf_nodes
        self.max_iter = max_iter

    def _encoded(self, X: Any, task: AnyArray) -> Array:
        number = np.searchsorted(self.tasks_, task)
        return np.column_stack([number, _dense(X)])

    def _settings(self, encoded: Array) -> dict[str, Any]:
        """Return the model's parameters, with no more bins than there are values."""
        distinct = max(len(np.unique(column)) for column in encoded.T)
        bins = min(max(distinct, 2), _MOST_BINS)
        fixed = {"categorical_features": [0], "max_bins": bins, "random_state": 0}
        return {**fixed, **self.get_params()}


class BoostingClassifier(ClassifierMixin, _Boosting):
    """Gradient boosting with the task as a category, for classification."""

    def _model(self, encoded: Array) -> Any:
        return HistGradientBoostingClassifier(**self._settings(encoded))

    def decision_function(self, X: Any, *, task: AnyArray) -> Array:
        """Return the decision values, an array of shape (n_samples,)."""
        return np.asarray(self.model_.decision_function(self._encoded(X, task)))


class BoostingRegressor(RegressorMixin, _Boosting):
    """Gradient boosting with the task as a category, for regression."""

    def _model(self, encoded: Array) -> Any:
        return HistGradientBoostingRegressor(**self._settings(encoded))


class _OneHot(_Rival):
    """An SVM with standardised inputs and a column for each task."""

    slow = True

    def __init__(self, C: float = 1.0, width: float = 1.0) -> None:
        self.C, self.width = C, width

    def _encoded(self, X: Any, task: AnyArray) -> Array:
        return np.hstack([_dense(X), np.asarray(task)[:, None] == self.tasks_])

    def _machine(self, kind: type, encoded: Array) -> Any:
        gamma = self.width / (encoded.shape[1] - len(self.tasks_))
        return make_pipeline(StandardScaler(), kind(C=self.C, gamma=gamma, cache_size=_MEGABYTES))


class OneHotSVC(ClassifierMixin, _OneHot):
    """An SVM with a column for each task, for classification."""

    def _model(self, encoded: Array) -> Any:
        return self._machine(SVC, encoded)

    def decision_function(self, X: Any, *, task: AnyArray) -> Array:
        """Return the decision values, an array of shape (n_samples,)."""
        return np.asarray(self.model_.decision_function(self._encoded(X, task)))


class OneHotSVR(RegressorMixin, _OneHot):
    """An SVM with a column for each task, for regression; targets in units of their spread."""

    def _model(self, encoded: Array) -> Any:
        inner = self._machine(SVR, encoded)
        return TransformedTargetRegressor(inner, transformer=StandardScaler())


def make_rival(method: str, kind: str) -> Any:
    """Return an unfitted rival, which takes `task` as the estimators of this library do.

    Parameters
    ----------
    method : {"boosting", "one-hot-svm"}
        The rival.
    kind : {"classification", "regression"}
        What the targets are.
    """
    both = {
        "boosting": (BoostingClassifier, BoostingRegressor),
        "one-hot-svm": (OneHotSVC, OneHotSVR),
    }
    return both[method][kind != CLASSIFICATION]()


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
