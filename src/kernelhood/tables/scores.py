"""Honest scores of every task, beside baselines that a model should beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV, RidgeCV

from kernelhood._typing import AnyArray, Array
from kernelhood.tables.encoder import TableEncoder
from kernelhood.tables.roles import CLASSIFICATION, Rows

#: The score of each kind; larger accuracies and smaller errors are better.
METRIC = {"classification": "accuracy", "regression": "root mean squared error"}
TASK_MEAN, POOLED_RIDGE = "task mean", "pooled ridge"

_ALPHAS = 10.0 ** np.arange(-3, 5)
_DRAWS = 500
_MANY = 3000
_Z = 1.959964


def baseline_predictions(train: Rows, test: Rows) -> dict[str, AnyArray]:
    """Return what simple models predict.

    The mean of the task, or its most frequent class; and one ridge regression for all tasks, with
    the task as a category beside the features, its penalty chosen by cross-validation.

    Parameters
    ----------
    train, test : Rows
        Rows that train, and rows to predict.

    Returns
    -------
    dict of str to ndarray of shape (n_rows,)
    """
    y, task = train.y, train.task
    typical = _most_frequent if train.kind == CLASSIFICATION else np.mean
    means = {name: typical(y[task == name]) for name in set(task.tolist())}
    overall = typical(y)
    simple = np.array([means.get(name, overall) for name in test.task.tolist()])
    if len(np.unique(y)) < 2:
        return {TASK_MEAN: simple, POOLED_RIDGE: simple}
    ridge = (RidgeClassifierCV if train.kind == CLASSIFICATION else RidgeCV)(alphas=_ALPHAS)
    names, encoder = sorted(means), TableEncoder().fit(train.frame)
    ridge.fit(np.hstack([encoder.transform(train.frame), _one_hot(task, names)]), y)
    X = np.hstack([encoder.transform(test.frame), _one_hot(test.task, names)])
    return {TASK_MEAN: simple, POOLED_RIDGE: ridge.predict(X)}


def _most_frequent(labels: AnyArray) -> Any:
    values, counts = np.unique(labels, return_counts=True)
    return values[int(np.argmax(counts))]


def _one_hot(task: AnyArray, names: list[str]) -> Array:
    return np.array([[float(one == name) for name in names] for one in task.tolist()])


def score_table(
    kind: str, y: AnyArray, task: AnyArray, predictions: dict[str, AnyArray]
) -> list[dict[str, Any]]:
    """Return the scores of every task and of all rows.

    Parameters
    ----------
    kind : {"classification", "regression"}
        What the targets are.
    y, task : ndarray of shape (n_rows,)
        Targets and tasks of rows that did not train.
    predictions : dict of str to ndarray of shape (n_rows,)
        By method; "model" has an interval as well.

    Returns
    -------
    list of dict
        `task` (None for all rows), `rows`, the score of every method, and `low` and `high`, the
        95 % interval of the model's.
    """
    table = []
    for name in [*sorted(set(task.tolist())), None]:
        rows = task == name if name is not None else np.ones(len(y), dtype=bool)
        losses = {
            method: _losses(kind, y[rows], predicted[rows])
            for method, predicted in predictions.items()
        }
        low, high = _interval(kind, losses["model"])
        scores = {method: _score(kind, own) for method, own in losses.items()}
        table.append({"task": name, "rows": int(rows.sum()), **scores, "low": low, "high": high})
    return table


def is_worse(kind: str, one: float, other: float) -> bool:
    """Return whether a score is worse than another."""
    return one < other if kind == CLASSIFICATION else one > other


def _losses(kind: str, y: AnyArray, predicted: AnyArray) -> Array:
    if kind == CLASSIFICATION:
        return np.asarray(y == predicted, dtype=np.float64)
    return np.asarray((y - predicted) ** 2, dtype=np.float64)


def _score(kind: str, losses: Array) -> float:
    mean = float(np.mean(losses))
    return mean if kind == CLASSIFICATION else float(np.sqrt(mean))


def _interval(kind: str, losses: Array) -> tuple[float, float]:
    """Return where the score would lie with other rows: Wilson's interval, or the bootstrap's."""
    n = len(losses)
    if kind == CLASSIFICATION:
        share = float(np.mean(losses))
        middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
        return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))
    if n < 2:
        return float("nan"), float("nan")
    if n > _MANY:
        error = _Z * float(np.std(losses)) / np.sqrt(n)
        low, high = np.mean(losses) - error, np.mean(losses) + error
        return float(np.sqrt(max(low, 0.0))), float(np.sqrt(high))
    draws = np.random.default_rng(0).integers(n, size=(_DRAWS, n))
    means = np.sqrt(losses[draws].mean(axis=1))
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))
