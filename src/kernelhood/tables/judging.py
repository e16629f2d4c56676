"""Honest scores of every task, beside baselines that a model should beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV, RidgeCV

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.kernels.columns import LeftOut
from kernelhood.tables.model import TableModel
from kernelhood.tables.roles import CLASSIFICATION, Rows, TableEncoder

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


FEW_ROWS = 10
_NAMED = 5


def worth_a_look(model: TableModel) -> list[str]:
    """Return a sentence for everything that is worth a look.

    Parameters
    ----------
    model : TableModel
        With a record.
    """
    return [
        *_small_tasks(model),
        *_one_class(model),
        *_bad_scores(model),
        *_gap(model.estimator),
        *_columns(model),
    ]


def _small_tasks(model: TableModel) -> list[str]:
    small = [name for name, count in model.record["tasks"].items() if count < FEW_ROWS]
    if not small:
        return []
    return [f"{_tasks(small)} fewer than {FEW_ROWS} rows: {listed(small)}."]


def _one_class(model: TableModel) -> list[str]:
    names = model.record["one_class"]
    return [f"{_tasks(names)} rows of one class only: {listed(names)}."] if names else []


def _bad_scores(model: TableModel) -> list[str]:
    found, scores = [], model.record["scores"]
    worse = [
        row["task"]
        for row in scores
        if row["task"] is not None and is_worse(model.kind, row["model"], row[TASK_MEAN])
    ]
    what = "most frequent class" if model.kind == CLASSIFICATION else "mean"
    if worse:
        found.append(f"predicted worse than by the {what} of the task: {listed(worse)}.")
    if scores and is_worse(model.kind, scores[-1]["model"], scores[-1][POOLED_RIDGE]):
        found.append("over all rows, one ridge regression for all tasks predicts better.")
    judged = {row["task"] for row in scores}
    unjudged = [name for name in model.record["tasks"] if name not in judged]
    if unjudged:
        found.append(f"{_tasks(unjudged)} no row that was held out: {listed(unjudged)}.")
    return found


def _gap(estimator: Any) -> list[str]:
    gap, tol = float(estimator.dual_gap_), float(estimator.tol)
    return [f"the duality gap is {gap:.1e}, above tol={tol:g}."] if gap > tol else []


def _columns(model: TableModel) -> list[str]:
    found = []
    columns = model.estimator.columns_
    left = [one.name for one in columns if isinstance(one, LeftOut)]
    if left:
        found.append(f"columns that are left out: {listed(left)}.")
    marked = [one.name for one in columns if not isinstance(one, LeftOut) and one.indicator]
    if marked:
        found.append(f"columns with missing values: {listed(marked)}.")
    if not any(share for row in model.record["usage"]["tasks"].values() for share in row):
        found.append("no task's predictions depend on any column.")
    return found


def _tasks(names: list[str]) -> str:
    return "1 task has" if len(names) == 1 else f"{len(names)} tasks have"


def listed(names: list[str]) -> str:
    """Return the first few names."""
    return ", ".join(names[:_NAMED]) + ", ..." * (len(names) > _NAMED)


_MOST_COLUMNS = 60
_ROWS_OF_A_TASK = 60


def column_usage(estimator: Any, frame: Any, task: AnyArray) -> dict[str, Any]:
    """Return the share of each column in what moves the predictions of each task.

    The values of a column are exchanged among rows of the task, and the root mean square of the
    change in its function is compared with that of the other columns.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    frame : DataFrame of shape (n_rows, n_columns)
        Raw training rows.
    task : ndarray of shape (n_rows,)
        Their tasks.

    Returns
    -------
    dict
        `columns` that were learned from, and `tasks` with the shares by task; empty if there are
        too many columns to look at each.
    """
    columns = [one.name for one in estimator.columns_ if not isinstance(one, LeftOut)]
    if len(columns) > _MOST_COLUMNS:
        return {"columns": columns, "tasks": {}}
    rng = np.random.default_rng(0)
    rows = _some_rows(task, rng)
    points, names = frame.iloc[rows].reset_index(drop=True), task[rows]
    before = _values(estimator, points, names)
    order = _mixed(names, rng)
    moved = []
    for column in columns:
        changed = points.assign(**{column: points[column].iloc[order].reset_index(drop=True)})
        moved.append(_change(before, _values(estimator, changed, names)))
    squares = np.array(moved).reshape(len(columns), len(names))
    usage = {}
    for name in estimator.tasks_:
        sizes = np.sqrt(squares[:, names == name].mean(axis=1))
        total = float(sizes.sum())
        usage[str(name)] = (sizes / total if total > 0.0 else sizes).tolist()
    return {"columns": columns, "tasks": usage}


def _some_rows(task: AnyArray, rng: np.random.Generator) -> Indices:
    """Return at most a few dozen rows of every task."""
    parts = [np.flatnonzero(task == name) for name in dict.fromkeys(task.tolist())]
    drawn = [rng.permutation(part)[:_ROWS_OF_A_TASK] for part in parts]
    return np.sort(np.concatenate(drawn))


def _mixed(names: AnyArray, rng: np.random.Generator) -> Indices:
    """Return an order of the rows that exchanges them within tasks, none staying at its place."""
    order = np.arange(len(names))
    for name in dict.fromkeys(names.tolist()):
        own = rng.permutation(np.flatnonzero(names == name))
        order[own] = np.roll(own, 1)
    return order


def _values(estimator: Any, X: Any, task: AnyArray) -> AnyArray:
    if not hasattr(estimator, "decision_function"):
        return np.asarray(estimator.predict(X, task=task))
    values = np.asarray(estimator.decision_function(X, task=task))
    return values if values.ndim == 1 else np.asarray(estimator.predict(X, task=task))


def _change(before: AnyArray, after: AnyArray) -> Array:
    if before.dtype.kind == "f":
        return np.asarray((before - after) ** 2)
    return np.asarray(before != after, dtype=np.float64)
