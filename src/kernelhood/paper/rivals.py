"""What one would use instead of this library: one model for the rows of all tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from kernelhood._support import import_extra
from kernelhood._typing import AnyArray, Array
from kernelhood.paper.protocol import CLASSIFICATION

#: What one would use instead, and the package that a rival needs beside scikit-learn.
RIVALS = {
    "boosting": None,
    "one-hot-svm": None,
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "gpboost": "gpboost",
}

_GRIDS: dict[str, dict[str, list[Any]]] = {
    "boosting": {"learning_rate": [0.1], "max_leaf_nodes": [4, 8, 31], "max_iter": [100, 300]},
    "one-hot-svm": {"C": [1.0, 10.0, 100.0], "width": [0.1, 0.3, 1.0]},
    "lightgbm": {"num_leaves": [4, 8, 31], "n_estimators": [100, 300]},
    "catboost": {"depth": [4, 6], "n_estimators": [300, 1000]},
    "gpboost": {"num_leaves": [4, 8, 31], "n_estimators": [100, 300]},
}
_MOST_BINS = 255
#: Of kernel rows that an SVM may keep.
_MEGABYTES = 1000


def rival_grid(method: str, *, quick: bool) -> dict[str, list[Any]]:
    """Return the values of the hyper-parameters of a rival, the middle ones for a quick look.

    Parameters
    ----------
    method : str
        One of `RIVALS`.
    quick : bool
        Whether a handful is enough.
    """
    return {
        name: [values[len(values) // 2]] if quick else list(values)
        for name, values in _GRIDS[method].items()
    }


def check_installed(methods: Iterable[str]) -> None:
    """Raise for the first rival whose package is not there.

    Parameters
    ----------
    methods : iterable of str
        Names of methods.
    """
    for method in methods:
        package = RIVALS.get(method)
        if package is not None:
            import_extra(package, "rivals")


class _Rival(BaseEstimator):
    """One model for the rows of all tasks.

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
        return np.column_stack([np.searchsorted(self.tasks_, task), _dense(X)])

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


class _Framed(_Rival):
    """Trees that take a data frame, with the task as a category."""

    def _encoded(self, X: Any, task: AnyArray) -> Any:
        pd = import_extra("pandas", "bench")
        frame = pd.DataFrame(_dense(X)).rename(columns=str)
        frame["task"] = pd.Categorical(task, categories=self.tasks_)
        return frame


class _LightGBM(_Framed):
    """LightGBM with the task as a category."""

    def __init__(self, num_leaves: int = 31, n_estimators: int = 100) -> None:
        self.num_leaves, self.n_estimators = num_leaves, n_estimators

    def _machine(self, name: str) -> Any:
        lightgbm = import_extra("lightgbm", "rivals")
        fixed = {"verbose": -1, "n_jobs": 1, "random_state": 0}
        return getattr(lightgbm, name)(**fixed, **self.get_params())


class LightGBMClassifier(ClassifierMixin, _LightGBM):
    """LightGBM with the task as a category, for classification."""

    def _model(self, encoded: Array) -> Any:
        return self._machine("LGBMClassifier")

    def decision_function(self, X: Any, *, task: AnyArray) -> Array:
        """Return the decision values, an array of shape (n_samples,)."""
        return np.asarray(self.model_.predict(self._encoded(X, task), raw_score=True))


class LightGBMRegressor(RegressorMixin, _LightGBM):
    """LightGBM with the task as a category, for regression."""

    def _model(self, encoded: Array) -> Any:
        return self._machine("LGBMRegressor")


class _CatBoost(_Framed):
    """CatBoost with the task as a category."""

    def __init__(self, depth: int = 6, n_estimators: int = 1000) -> None:
        self.depth, self.n_estimators = depth, n_estimators

    def _machine(self, name: str) -> Any:
        catboost = import_extra("catboost", "rivals")
        fixed = {"verbose": 0, "thread_count": 1, "random_seed": 0, "allow_writing_files": False}
        return getattr(catboost, name)(cat_features=["task"], **fixed, **self.get_params())


class CatBoostClassifier(ClassifierMixin, _CatBoost):
    """CatBoost with the task as a category, for classification."""

    def _model(self, encoded: Any) -> Any:
        return self._machine("CatBoostClassifier")

    def decision_function(self, X: Any, *, task: AnyArray) -> Array:
        """Return the decision values, an array of shape (n_samples,)."""
        return np.asarray(
            self.model_.predict(self._encoded(X, task), prediction_type="RawFormulaVal")
        )


class CatBoostRegressor(RegressorMixin, _CatBoost):
    """CatBoost with the task as a category, for regression."""

    def _model(self, encoded: Any) -> Any:
        return self._machine("CatBoostRegressor")


class _GPBoost(_Rival):
    """Boosted trees with a random intercept for each task."""

    def __init__(self, num_leaves: int = 31, n_estimators: int = 100) -> None:
        self.num_leaves, self.n_estimators = num_leaves, n_estimators

    def _trained(self, X: Any, y: Array, task: AnyArray, likelihood: str) -> Any:
        gpboost = import_extra("gpboost", "rivals")
        effects = gpboost.GPModel(
            group_data=task, likelihood=likelihood, num_parallel_threads=1, seed=0
        )
        settings = {"num_leaves": self.num_leaves, "verbose": -1, "num_threads": 1, "seed": 0}
        return gpboost.train(
            params=settings,
            train_set=gpboost.Dataset(_dense(X), y),
            gp_model=effects,
            num_boost_round=self.n_estimators,
        )

    def _predicted(self, X: Any, task: AnyArray, *, latent: bool) -> Array:
        found = self.model_.predict(_dense(X), group_data_pred=task, pred_latent=latent)
        if not latent:
            return np.asarray(found["response_mean"])
        return np.asarray(found["fixed_effect"] + found["random_effect_mean"])


class GPBoostClassifier(ClassifierMixin, _GPBoost):
    """Boosted trees with a random intercept for each task, for two classes."""

    def fit(self, X: Any, y: AnyArray, *, task: AnyArray) -> Self:
        """Fit the model to the rows of all tasks, which have two classes together."""
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(
                f"method 'gpboost' needs two classes that all tasks share, and y has "
                f"{len(self.classes_)}: leave it out."
            )
        second = (y == self.classes_[1]).astype(np.float64)
        self.model_ = self._trained(X, second, task, "bernoulli_logit")
        return self

    def predict(self, X: Any, *, task: AnyArray) -> AnyArray:
        """Return the predicted classes, an array of shape (n_samples,)."""
        return np.asarray(
            self.classes_[np.asarray(self.decision_function(X, task=task) > 0.0, int)]
        )

    def decision_function(self, X: Any, *, task: AnyArray) -> Array:
        """Return the decision values, an array of shape (n_samples,)."""
        return self._predicted(X, task, latent=True)


class GPBoostRegressor(RegressorMixin, _GPBoost):
    """Boosted trees with a random intercept for each task, for regression."""

    def fit(self, X: Any, y: AnyArray, *, task: AnyArray) -> Self:
        """Fit the model to the rows of all tasks."""
        self.model_ = self._trained(X, y, task, "gaussian")
        return self

    def predict(self, X: Any, *, task: AnyArray) -> Array:
        """Return the predicted targets, an array of shape (n_samples,)."""
        return self._predicted(X, task, latent=False)


def make_rival(method: str, kind: str) -> Any:
    """Return an unfitted rival, which takes `task` as the estimators of this library do.

    Parameters
    ----------
    method : str
        One of `RIVALS`.
    kind : {"classification", "regression"}
        What the targets are.
    """
    both = {
        "boosting": (BoostingClassifier, BoostingRegressor),
        "one-hot-svm": (OneHotSVC, OneHotSVR),
        "lightgbm": (LightGBMClassifier, LightGBMRegressor),
        "catboost": (CatBoostClassifier, CatBoostRegressor),
        "gpboost": (GPBoostClassifier, GPBoostRegressor),
    }
    return both[method][kind != CLASSIFICATION]()


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
