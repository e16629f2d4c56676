"""What one would use instead of this library on a table with a task column, tuned."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _tables import Table
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import kernelhood as kh
from kernelhood.paper.protocol import CLASSIFICATION

_CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
_WIDTHS = np.array([0.03, 0.1, 0.3, 1.0, 3.0])
_TREES = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 8, 31], "max_iter": [100, 300]}
_FOLDS = 5
_MEGABYTES = 1000  # of kernel rows that an SVM may keep
_TUNED = 3000  # rows that parameters of an SVM are chosen by

Fitted = Callable[[Any, Any], np.ndarray]


def ours(data: Table, occasion: Any = None) -> Fitted:
    """Fit the estimator of this library that needs no argument."""
    classifies = data.kind == CLASSIFICATION
    model = kh.KernelhoodClassifier() if classifies else kh.KernelhoodRegressor()
    known = {} if occasion is None or classifies else {"occasion": occasion}
    model.fit(data.X, data.y, task=data.task, **known)
    return lambda X, task: model.predict(X, task=task)


def untuned(data: Table) -> Fitted:
    """Fit the estimator as it comes."""
    classifies = data.kind == CLASSIFICATION
    model = kh.MTONMKLClassifier() if classifies else kh.MTONMKLRegressor()
    model.fit(data.X, data.y, task=data.task)
    return lambda X, task: model.predict(X, task=task)


def _folds(kind: str, y: Any, most: int = _FOLDS) -> Any:
    """Return folds that all tasks are in, as many as the smallest class allows.

    The rows of a task follow each other: folds that are not mixed would leave out whole tasks.
    """
    if kind != CLASSIFICATION:
        return KFold(min(most, len(y)), shuffle=True, random_state=0)
    fewest = int(np.unique(y, return_counts=True)[1].min())
    return StratifiedKFold(max(2, min(most, fewest)), shuffle=True, random_state=0)


def _svm(kind: str, y: Any, n_columns: int) -> Any:
    """Return an SVM, tuned over C and gamma; targets of regression in units of their spread."""
    if kind == CLASSIFICATION:
        grid = {"svc__C": _CS, "svc__gamma": (_WIDTHS / n_columns).tolist()}
        return GridSearchCV(
            make_pipeline(StandardScaler(), SVC(cache_size=_MEGABYTES)), grid, cv=_folds(kind, y)
        )
    inner = make_pipeline(StandardScaler(), SVR(cache_size=_MEGABYTES))
    name = "regressor__svr__"
    grid = {f"{name}C": _CS, f"{name}gamma": (_WIDTHS / n_columns).tolist()}
    model = TransformedTargetRegressor(inner, transformer=StandardScaler())
    return GridSearchCV(model, grid, cv=_folds(kind, y))


def one_each(data: Table) -> Fitted:
    """Fit a tuned SVM to each task; the most frequent class where a class has a single row."""
    models: dict[Any, Any] = {}
    for name in np.unique(data.task):
        rows = data.task == name
        y = data.y[rows]
        few = data.kind == CLASSIFICATION and np.unique(y, return_counts=True)[1].min() < 2
        alone = data.kind == CLASSIFICATION and len(np.unique(y)) < 2
        model = DummyClassifier() if few or alone else _svm(data.kind, y, data.X.shape[1])
        models[name] = model.fit(data.X[rows], y)

    def predict(X: Any, task: Any) -> np.ndarray:
        found = np.empty(len(X), dtype=data.y.dtype)
        for name in np.unique(task):
            found[task == name] = models[name].predict(X[task == name])
        return found

    return predict


def _one_hot(data: Table) -> Callable[[Any, Any], np.ndarray]:
    known = OneHotEncoder(sparse_output=False).fit(data.task[:, None])
    return lambda X, task: np.hstack([X, known.transform(task[:, None])])


def _numbered(data: Table) -> Callable[[Any, Any], np.ndarray]:
    names = {name: number for number, name in enumerate(np.unique(data.task))}
    return lambda X, task: np.column_stack([X, [names[one] for one in task]])


def _encoded(model: Any, data: Table, encode: Callable[[Any, Any], np.ndarray]) -> Fitted:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(encode(data.X, data.task), data.y)
    return lambda X, task: np.asarray(model.predict(encode(X, task)))


def pooled(data: Table) -> Fitted:
    """Fit one SVM with a column for each task, tuned on 3,000 rows where there are more."""
    model, encode = _svm(data.kind, data.y, data.X.shape[1]), _one_hot(data)
    if len(data.y) > _TUNED:
        some = np.random.default_rng(0).permutation(len(data.y))[:_TUNED]
        model.fit(encode(data.X, data.task)[some], data.y[some])
        model = model.best_estimator_
    return _encoded(model, data, encode)


def linear(data: Table) -> Fitted:
    """Fit ridge or logistic regression with a column for each task."""
    if data.kind == CLASSIFICATION:
        last: Any = LogisticRegressionCV(
            Cs=np.logspace(-3, 3, 7), max_iter=2000, cv=_folds(data.kind, data.y, 3)
        )
    else:
        last = RidgeCV(np.logspace(-3, 4, 15))
    return _encoded(make_pipeline(StandardScaler(), last), data, _one_hot(data))


def boosting(data: Table) -> Fitted:
    """Fit tuned gradient boosting with the task as a category, of which it takes 255."""
    category = [data.X.shape[1]] if len(np.unique(data.task)) <= 255 else None
    classifies = data.kind == CLASSIFICATION
    kind = HistGradientBoostingClassifier if classifies else HistGradientBoostingRegressor
    encode = _numbered(data)
    distinct = max(len(np.unique(column)) for column in encode(data.X, data.task).T)
    model = kind(
        categorical_features=category,
        min_samples_leaf=5,
        max_bins=min(max(distinct, 2), 255),  # more make no other trees, and take longer
        random_state=0,
    )
    search = GridSearchCV(model, _TREES, cv=_folds(data.kind, data.y, 3))
    return _encoded(search, data, encode)


def forest(data: Table) -> Fitted:
    """Fit a random forest with a column for each task."""
    kind = RandomForestClassifier if data.kind == CLASSIFICATION else RandomForestRegressor
    return _encoded(kind(300, random_state=0), data, _one_hot(data))


RIVALS: dict[str, Callable[[Table], Fitted]] = {
    "ours": ours,
    "MT-ONMKL, untuned": untuned,
    "SVM a task": one_each,
    "pooled SVM": pooled,
    "linear": linear,
    "boosting": boosting,
    "forest": forest,
}

#: What is compared only where it is asked for.
MORE: dict[str, Callable[[Table], Fitted]] = {
    "ours, occasions": lambda data: ours(data, data.groups)  # told which rows are of one object
}
