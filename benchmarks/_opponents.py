"""What one would use instead of this library on a table with a task column, tuned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import kernelhood as kh

_GRID = {"svr__C": [0.1, 1.0, 10.0, 100.0], "svr__gamma": [0.01, 0.03, 0.1, 0.3, 1.0]}

#: Rows of a task follow each other: folds that are not mixed would leave out whole tasks.
_FOLDS = KFold(3, shuffle=True, random_state=0)

_BANK = kh.KernelBank([*kh.default_bank(), kh.Constant()])

Fit = Callable[[Any, np.ndarray], Any]


def relative_error(model: Any, data: Any, train: np.ndarray) -> float:
    """Return the squared error at the other rows over that of the mean training target."""
    test = ~train
    found = model.predict(data.X[test], task=data.task[test])
    base = np.mean((data.y[test] - data.y[train].mean()) ** 2)
    return float(np.mean((found - data.y[test]) ** 2) / base)


@dataclass
class _Encoded:
    """A scikit-learn model on inputs that say the task in some way."""

    model: Any
    encode: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def fit(self, data: Any, train: np.ndarray) -> _Encoded:
        self.model.fit(self.encode(data.X[train], data.task[train]), data.y[train])
        return self

    def predict(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict(self.encode(X, task)))


def _one_hot(data: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    known = OneHotEncoder(sparse_output=False).fit(data.task[:, None])
    return lambda X, task: np.hstack([X, known.transform(task[:, None])])


def _numbered(data: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    names = {name: number for number, name in enumerate(np.unique(data.task))}
    return lambda X, task: np.column_stack([X, [names[one] for one in task]])


def _plain(X: np.ndarray, task: np.ndarray) -> np.ndarray:
    return X


def _svr() -> GridSearchCV:
    return GridSearchCV(make_pipeline(StandardScaler(), SVR()), _GRID, cv=_FOLDS)


def pooled(data: Any, train: np.ndarray) -> _Encoded:
    """Fit one tuned SVM to all rows, whatever their task."""
    return _Encoded(_svr(), _plain).fit(data, train)


def pooled_one_hot(data: Any, train: np.ndarray) -> _Encoded:
    """Fit one tuned SVM with a column for each task."""
    return _Encoded(_svr(), _one_hot(data)).fit(data, train)


def ridge_one_hot(data: Any, train: np.ndarray) -> _Encoded:
    """Fit ridge regression with a column for each task."""
    return _Encoded(RidgeCV(np.logspace(-3, 4, 15)), _one_hot(data)).fit(data, train)


def boosting(data: Any, train: np.ndarray) -> _Encoded:
    """Fit gradient boosting with the task as a category, of which it takes 255."""
    category = [data.X.shape[1]] if len(np.unique(data.task)) <= 255 else None
    grid = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 8, 31], "max_iter": [100, 300]}
    model = HistGradientBoostingRegressor(
        categorical_features=category, min_samples_leaf=5, random_state=0
    )
    return _Encoded(GridSearchCV(model, grid, cv=_FOLDS), _numbered(data)).fit(data, train)


@dataclass
class _ByTask:
    models: dict[Any, Any]

    def predict(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        found = np.empty(len(X))
        for name in np.unique(task):
            found[task == name] = self.models[name].predict(X[task == name])
        return found


def one_each(data: Any, train: np.ndarray) -> _ByTask:
    """Fit a tuned SVM to each task."""
    models = {}
    for name in np.unique(data.task):
        rows = train & (data.task == name)
        models[name] = _svr().fit(data.X[rows], data.y[rows])
    return _ByTask(models)


class _Mixed(Kernel):
    """The kernels of relation="mixed" for a Gaussian process; the task is the last column."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    @property
    def hyperparameter_weights(self) -> Hyperparameter:
        return Hyperparameter("weights", "numeric", (1e-5, 1e3), len(self.weights))

    def __call__(
        self, X: np.ndarray, Y: np.ndarray | None = None, eval_gradient: bool = False
    ) -> Any:
        Z = X if Y is None else Y
        Ks, same = _BANK(X[:, :-1], Z[:, :-1]), X[:, -1:] == Z[:, -1]
        stack = np.concatenate([Ks, Ks * same])
        K = np.tensordot(self.weights, stack, 1)
        if not eval_gradient:
            return K
        return K, np.moveaxis(stack * np.asarray(self.weights)[:, None, None], 0, 2)

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.array([self(row[None])[0, 0] for row in X])

    def is_stationary(self) -> bool:
        return False


def gaussian_process(data: Any, train: np.ndarray) -> _Encoded:
    """Fit a Gaussian process with the kernels of relation="mixed", by marginal likelihood."""
    kernel = _Mixed(np.full(2 * len(_BANK), 0.5 / len(_BANK))) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True)
    return _Encoded(model, _numbered(data)).fit(data, train)


OPPONENTS: dict[str, Fit] = {
    "one SVM a task": one_each,
    "pooled SVM": pooled,
    "pooled SVM, one-hot": pooled_one_hot,
    "ridge, one-hot": ridge_one_hot,
    "gradient boosting": boosting,
    "gaussian process": gaussian_process,
}
