"""What one would use instead of this library: one model for the rows of all tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils import Tags

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


class Rival(BaseEstimator):
    """One model for the rows of all tasks.

    Parameters
    ----------
    kind : {"classification", "regression"}
        What the targets are.

    Attributes
    ----------
    slow : bool
        Whether its time grows with the square of the rows.
    """

    slow = False

    kind: str

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

    def decision_function(self, X: Any, *, task: AnyArray) -> Array:
        """Return the decision values of a classification, an array of shape (n_samples,)."""
        return np.asarray(self._decided(self._encoded(X, task)))

    @property
    def _classifies(self) -> bool:
        return self.kind == CLASSIFICATION

    def _settings(self) -> dict[str, Any]:
        """Return the parameters of the model."""
        return {name: value for name, value in self.get_params().items() if name != "kind"}

    def _model(self, encoded: Any) -> Any:
        raise NotImplementedError

    def _encoded(self, X: Any, task: AnyArray) -> Any:
        """Return a data frame with the task as a category."""
        pd = import_extra("pandas", "bench")
        frame = pd.DataFrame(_dense(X)).rename(columns=str)
        frame["task"] = pd.Categorical(task, categories=self.tasks_)
        return frame

    def _decided(self, encoded: Any) -> Any:
        return self.model_.decision_function(encoded)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self._classifies else "regressor"
        return tags


class Boosting(Rival):
    """Gradient boosting with the task as a category."""

    def __init__(
        self,
        kind: str,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 31,
        max_iter: int = 100,
    ) -> None:
        self.kind, self.learning_rate = kind, learning_rate
        self.max_leaf_nodes, self.max_iter = max_leaf_nodes, max_iter

    def _encoded(self, X: Any, task: AnyArray) -> Array:
        return np.column_stack([np.searchsorted(self.tasks_, task), _dense(X)])

    def _model(self, encoded: Array) -> Any:
        # No more bins than there are values.
        distinct = max(len(np.unique(column)) for column in encoded.T)
        bins = min(max(distinct, 2), _MOST_BINS)
        model = (
            HistGradientBoostingClassifier if self._classifies else HistGradientBoostingRegressor
        )
        fixed = {"categorical_features": [0], "max_bins": bins, "random_state": 0}
        return model(**fixed, **self._settings())


class OneHotSVM(Rival):
    """An SVM with standardised inputs and a column for each task."""

    slow = True

    def __init__(self, kind: str, C: float = 1.0, width: float = 1.0) -> None:
        self.kind, self.C, self.width = kind, C, width

    def _encoded(self, X: Any, task: AnyArray) -> Array:
        return np.hstack([_dense(X), np.asarray(task)[:, None] == self.tasks_])

    def _model(self, encoded: Array) -> Any:
        gamma = self.width / (encoded.shape[1] - len(self.tasks_))
        svm = (SVC if self._classifies else SVR)(C=self.C, gamma=gamma, cache_size=_MEGABYTES)
        machine = make_pipeline(StandardScaler(), svm)
        if self._classifies:
            return machine
        return TransformedTargetRegressor(machine, transformer=StandardScaler())


class LightGBM(Rival):
    """LightGBM with the task as a category."""

    def __init__(self, kind: str, num_leaves: int = 31, n_estimators: int = 100) -> None:
        self.kind, self.num_leaves, self.n_estimators = kind, num_leaves, n_estimators

    def _model(self, encoded: Any) -> Any:
        lightgbm = import_extra("lightgbm", "rivals")
        model = lightgbm.LGBMClassifier if self._classifies else lightgbm.LGBMRegressor
        return model(verbose=-1, n_jobs=1, random_state=0, **self._settings())

    def _decided(self, encoded: Any) -> Any:
        return self.model_.predict(encoded, raw_score=True)


class CatBoost(Rival):
    """CatBoost with the task as a category."""

    def __init__(self, kind: str, depth: int = 6, n_estimators: int = 1000) -> None:
        self.kind, self.depth, self.n_estimators = kind, depth, n_estimators

    def _model(self, encoded: Any) -> Any:
        catboost = import_extra("catboost", "rivals")
        model = catboost.CatBoostClassifier if self._classifies else catboost.CatBoostRegressor
        fixed = {"verbose": 0, "thread_count": 1, "random_seed": 0, "allow_writing_files": False}
        return model(cat_features=["task"], **fixed, **self._settings())

    def _decided(self, encoded: Any) -> Any:
        return self.model_.predict(encoded, prediction_type="RawFormulaVal")


class GPBoost(Rival):
    """Boosted trees with a random intercept for each task; two classes at most."""

    def __init__(self, kind: str, num_leaves: int = 31, n_estimators: int = 100) -> None:
        self.kind, self.num_leaves, self.n_estimators = kind, num_leaves, n_estimators

    def fit(self, X: Any, y: AnyArray, *, task: AnyArray) -> Self:
        """Fit the model to the rows of all tasks, which have two classes together if any."""
        likelihood = "gaussian"
        if self._classifies:
            self.classes_ = np.unique(y)
            if len(self.classes_) != 2:
                raise ValueError(
                    f"method 'gpboost' needs two classes that all tasks share, and y has "
                    f"{len(self.classes_)}: leave it out."
                )
            likelihood, y = "bernoulli_logit", (y == self.classes_[1]).astype(np.float64)
        gpboost = import_extra("gpboost", "rivals")
        effects = gpboost.GPModel(
            group_data=task, likelihood=likelihood, num_parallel_threads=1, seed=0
        )
        settings = {"num_leaves": self.num_leaves, "verbose": -1, "num_threads": 1, "seed": 0}
        self.model_ = gpboost.train(
            params=settings,
            train_set=gpboost.Dataset(_dense(X), y),
            gp_model=effects,
            num_boost_round=self.n_estimators,
        )
        return self

    def predict(self, X: Any, *, task: AnyArray) -> AnyArray:
        """Return the predicted targets, an array of shape (n_samples,)."""
        if self._classifies:
            return np.asarray(self.classes_[(self.decision_function(X, task=task) > 0.0) * 1])
        found = self.model_.predict(_dense(X), group_data_pred=task, pred_latent=False)
        return np.asarray(found["response_mean"])

    def decision_function(self, X: Any, *, task: AnyArray) -> Array:
        """Return the decision values of a classification, an array of shape (n_samples,)."""
        found = self.model_.predict(_dense(X), group_data_pred=task, pred_latent=True)
        return np.asarray(found["fixed_effect"] + found["random_effect_mean"])


_CLASSES: dict[str, type[Any]] = {
    "boosting": Boosting,
    "one-hot-svm": OneHotSVM,
    "lightgbm": LightGBM,
    "catboost": CatBoost,
    "gpboost": GPBoost,
}


def make_rival(method: str, kind: str) -> Any:
    """Return an unfitted rival, which takes `task` as the estimators of this library do.

    Parameters
    ----------
    method : str
        One of `RIVALS`.
    kind : {"classification", "regression"}
        What the targets are.
    """
    return _CLASSES[method](kind)


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
