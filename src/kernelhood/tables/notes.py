"""What someone should look at before they rely on a model."""

from __future__ import annotations

from typing import Any

from kernelhood.columns import LeftOut
from kernelhood.tables.model import TableModel
from kernelhood.tables.roles import CLASSIFICATION
from kernelhood.tables.scores import POOLED_RIDGE, TASK_MEAN, is_worse

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
        found.append(f"{_tasks(unjudged)} no row to judge by: {listed(unjudged)}.")
    return found


def _gap(estimator: Any) -> list[str]:
    gap, tol = float(estimator.dual_gap_), float(estimator.tol)
    return [f"the duality gap is {gap:.1e}, above tol={tol:g}."] if gap > tol else []


def _columns(model: TableModel) -> list[str]:
    found = []
    columns = model.estimator.columns_
    left = [one.name for one in columns if isinstance(one, LeftOut)]
    if left:
        found.append(f"columns that tell nothing and are left out: {listed(left)}.")
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
