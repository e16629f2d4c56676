"""Which columns each task uses: how far its predictions move when a column is mixed up."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.columns import LeftOut

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
