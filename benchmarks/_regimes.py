"""Data sets of many kinds, each split into training and test rows, for choosing defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets as bundled

import kernelhood as kh
from kernelhood.paper.protocol import CLASSIFICATION, LOADERS, REGRESSION, load

MOST_TRAINING_ROWS = 500


class Split(NamedTuple):
    """Rows of all tasks, and which of them train."""

    X: Any
    y: Any
    task: Any
    train: Any
    test: Any
    kind: str


def _synthetic(seed: int, kind: str, noise_columns: int = 0, **settings: Any) -> Any:
    data = kh.datasets.make_multitask(kind=kind, random_state=seed, **settings)
    extra = np.random.default_rng(seed).normal(size=(len(data.y), noise_columns))
    return np.hstack([data.X, extra]), data.y, data.task


def _one_column(seed: int, kind: str) -> Any:
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(8 * 100, 20)), np.repeat(np.arange(8), 100)
    y = np.sin(2.0 * X[:, 3]) + rng.normal(size=8)[task] + 0.2 * rng.normal(size=len(X))
    return X, (y > np.median(y)).astype(int) if kind == CLASSIFICATION else y, task


def _by_column(loader: Callable[..., Any], column: int, n_tasks: int) -> Any:
    """Return a bundled data set, split into tasks by quantiles of a column, which is taken out."""
    X, y = loader(return_X_y=True)
    places = np.quantile(X[:, column], np.linspace(0.0, 1.0, n_tasks + 1)[1:-1])
    return np.delete(X, column, axis=1), y, np.searchsorted(places, X[:, column])


_C, _R = CLASSIFICATION, REGRESSION
_TINY: dict[str, Any] = {"n_tasks": 40, "n_samples": 25, "noise": 0.3, "intercepts": 1.0}
REGIMES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "related": (_R, lambda s: _synthetic(s, _R, noise=0.3)),
    "grouped": (_R, lambda s: _synthetic(s, _R, n_tasks=8, structure="groups", noise=0.3)),
    "unrelated": (_R, lambda s: _synthetic(s, _R, relatedness=0.0, noise=0.3)),
    "tiny": (_R, lambda s: _synthetic(s, _R, **_TINY)),
    "one column": (_R, lambda s: _one_column(s, _R)),
    "noise columns": (_R, lambda s: _synthetic(s, _R, 16, noise=0.3)),
    "diabetes": (_R, lambda s: _by_column(bundled.load_diabetes, 0, 6)),
    "related, classes": (_C, lambda s: _synthetic(s, _C, noise=0.1)),
    "unrelated, classes": (_C, lambda s: _synthetic(s, _C, relatedness=0.0, noise=0.1)),
    "tiny, classes": (_C, lambda s: _synthetic(s, _C, n_tasks=40, n_samples=25)),
    "one column, classes": (_C, lambda s: _one_column(s, _C)),
    "noise columns, classes": (_C, lambda s: _synthetic(s, _C, 16, noise=0.1)),
    "breast cancer": (_C, lambda s: _by_column(bundled.load_breast_cancer, 0, 5)),
}


def _named(name: str) -> Callable[[int], Any]:
    def loaded(seed: int) -> Any:
        data = load(name, None, seed)
        return data.X, data.y, data.task

    return loaded


REGIMES.update({name: (kind, _named(name)) for name, (_, kind) in LOADERS.items()})


def split(name: str, seed: int) -> Split:
    """Return a regime with a fifth of the rows of every task for training, 500 rows at most."""
    kind, make = REGIMES[name]
    X, y, task = make(seed)
    rng, train = np.random.default_rng(seed), []
    labels = np.unique(np.asarray(task, dtype=str), return_inverse=True)[1]
    share = min(0.2, MOST_TRAINING_ROWS / len(labels))
    for number in range(labels.max() + 1):
        rows = rng.permutation(np.flatnonzero(labels == number))
        count = max(3, round(share * len(rows)))
        if kind == CLASSIFICATION:  # the first of each class
            first = [rows[y[rows] == label][:1] for label in np.unique(y[rows])]
            rows = np.array(list(dict.fromkeys([*np.concatenate(first), *rows])))
        train.append(rows[:count])
    trains = np.concatenate(train)
    test = np.setdiff1d(np.arange(len(labels)), trains)
    test = rng.permutation(test)[:3000]
    return Split(X, np.asarray(y), np.asarray(task), trains, test, kind)


def error(model: Any, part: Split) -> float:
    """Return 1 - score on the test rows: of task means, about 1; or the share of wrong classes."""
    test = part.test
    return 1.0 - float(model.score(part.X[test], part.y[test], task=part.task[test]))


def without_inputs(part: Split) -> float:
    """Return the error of task means or of each task's majority class."""
    wrong = []
    for name in np.unique(part.task):
        train = part.y[part.train[part.task[part.train] == name]]
        test = part.y[part.test[part.task[part.test] == name]]
        if len(test) and part.kind == CLASSIFICATION:
            values, counts = np.unique(train, return_counts=True)
            wrong.append(float(np.mean(test != values[np.argmax(counts)])))
    return float(np.mean(wrong)) if wrong else 1.0
