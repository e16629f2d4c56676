"""The splits that models are chosen on, of all rows or of some of a long table."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import _check_sample_weight

from kernelhood._typing import AnyArray, Indices
from kernelhood.model_selection.chain import Chain
from kernelhood.model_selection.split_tasks import SplitTasks, split_tasks
from kernelhood.model_selection.splitters import as_splits
from kernelhood.pipeline.classes import completed_classes, task_classes
from kernelhood.pipeline.reading import TaskReader
from kernelhood.tasks import TaskRows

#: Rows of a task that are kept before whole tasks are left out.
_ENOUGH = 30


def split_rows(
    model: Any,
    cv: Any,
    X: Any,
    y: Any,
    task: Any,
    groups: Any,
    sample_weight: Any,
    max_samples: int | None,
    random_state: Any,
) -> tuple[list[TaskRows], SplitTasks]:
    """Return all tasks, and the tasks of every split, thinned where the table is long.

    Parameters
    ----------
    model : estimator
        Reads the table.
    cv, X, y, task, groups, sample_weight
        As a search takes them.
    max_samples : int or None
        Rows that take part.
    random_state : RandomState
        Of the rows that do.
    """
    table = Chain(model).prepared(X, y, task)
    labels = TaskReader._read_points(clone(model), X, task, reset=True)[1]
    weight = _check_sample_weight(
        sample_weight, table.points, dtype=np.float64, ensure_non_negative=True
    )
    classes = None
    if is_classifier(model):
        classes = completed_classes([task_classes(one, model._many_classes) for one in table.tasks])
    splits = as_splits(cv, X, y, groups, labels, classes=classes is not None)
    kept = some_rows(table.tasks, max_samples, classes is not None, random_state)
    if kept is not None:
        splits = [(train[kept[train]], test[kept[test]]) for train, test in splits]
    return table.tasks, split_tasks(splits, [table] * len(splits), weight, classes)


def some_rows(
    tasks: list[TaskRows], most: int | None, classes: bool, random_state: Any
) -> AnyArray | None:
    """Return which rows of a long table take part, None for all.

    Every task gives up the same part of its rows, but keeps 30; if that is not enough, whole tasks
    are left out. Classes keep their proportions within a task.

    Parameters
    ----------
    tasks : list of TaskRows
        All rows by task.
    most : int or None
        How many rows may be kept.
    classes : bool
        Whether targets are classes.
    random_state : RandomState
        Of the draws.
    """
    sizes = np.array([len(one.rows) for one in tasks])
    if most is None or sizes.sum() <= most:
        return None
    # A task's quota is a share of its rows but at least `_ENOUGH` of them, where it has as many.
    share = most / sizes.sum()
    quota = np.minimum(sizes, np.maximum(np.ceil(share * sizes), _ENOUGH)).astype(int)
    kept = np.zeros(1 + max(int(one.rows.max()) for one in tasks), dtype=bool)
    total = 0
    for number in random_state.permutation(len(tasks)):
        if total > 0 and total + quota[number] > most * (1.0 + 1.0 / len(tasks)):
            break
        kept[_drawn(tasks[number], quota[number], classes, random_state)] = True
        total += quota[number]
    return kept


def _drawn(task: TaskRows, count: int, classes: bool, random_state: Any) -> Indices:
    """Return some rows of a task, evenly over its classes."""
    order = random_state.permutation(len(task.rows))
    if classes:
        _, code = np.unique(task.y, return_inverse=True)
        place = np.empty(len(order))
        for label in range(int(code.max()) + 1):
            own = order[code[order] == label]
            place[own] = (np.arange(len(own)) + 0.5) / len(own)
        order = np.argsort(place, kind="stable")
    return np.asarray(task.rows[order[:count]])
