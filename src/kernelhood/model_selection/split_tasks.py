"""The tasks of a split: what trains, what tests, in which some tasks may be missing."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import _check_sample_weight

from kernelhood._typing import AnyArray, Array, Flags
from kernelhood.kernels import InputSummary
from kernelhood.model_selection.chain import Chain, Prepared
from kernelhood.model_selection.splitters import Split, as_splits
from kernelhood.pipeline.classes import completed_classes, task_classes
from kernelhood.pipeline.reading import TaskReader
from kernelhood.tasks import TaskRows


@dataclass(frozen=True)
class SplitTask:
    """One task of one split.

    Attributes
    ----------
    number : int
        Its place among all tasks; a split may lack some.
    train : TaskRows
        The task's training rows and targets.
    X_train, X_test : ndarray or CSR matrix
        Its points.
    y_test : ndarray
        Targets of the test points, in the user's units.
    sample_weight : ndarray of shape (n_train,)
        Weights of the training rows.
    inputs : InputSummary
        What the kernels may know of the training rows of all tasks.
    wide : bool
        Whether tasks are the columns of y.
    classes : ndarray, optional
        All classes of the task, of which the training rows may lack some.
    centre : float
        The mean of the training targets, in the user's units.
    restore : callable, optional
        Brings predictions back into the user's units.
    """

    number: int
    train: TaskRows
    X_train: Any
    X_test: Any
    y_test: AnyArray
    sample_weight: Array
    inputs: InputSummary
    wide: bool = False
    classes: AnyArray | None = None
    centre: float = 0.0
    restore: Callable[[Array], Array] | None = None

    @property
    def tested(self) -> bool:
        """Whether the split has test rows of the task."""
        return len(self.y_test) > 0

    @cached_property
    def spread(self) -> float:
        """The squared error of the mean training target at the test points."""
        return float(np.sum((self.y_test - self.centre) ** 2))


#: The tasks of every split.
SplitTasks = list[list[SplitTask]]


def split_table(
    chain: Chain, cv: Any, X: Any, y: Any, task: Any, groups: Any, sample_weight: Any
) -> tuple[list[Hashable], SplitTasks]:
    """Return the names of the tasks, and the tasks of every split.

    What stands around the model is fitted to the training rows of every split.

    Parameters
    ----------
    chain : Chain
        The estimator.
    cv : float, int, splitter or iterable
        As a search takes it.
    X, y, task, groups, sample_weight
        As a search takes them.
    """
    whole = chain.fitted(X, y)
    table = whole.prepared(X, y, task)
    labels = TaskReader._read_points(clone(chain.model), whole.at(X), task, reset=True)[1]
    weight = _check_sample_weight(
        sample_weight, table.points, dtype=np.float64, ensure_non_negative=True
    )
    classes = None
    if is_classifier(chain.model):
        many = chain.model._many_classes
        classes = completed_classes([task_classes(one, many) for one in table.tasks])
    splits = as_splits(cv, X, y, groups, labels, classes=classes is not None)
    tables = [table] * len(splits)
    if not chain.plain:
        tables = [chain.fitted(X, y, train).prepared(X, y, task) for train, _ in splits]
    return [one.name for one in table.tasks], split_tasks(splits, tables, weight, classes)


def split_tasks(
    splits: list[Split], prepared: list[Prepared], weight: Array, classes: list[AnyArray] | None
) -> list[list[SplitTask]]:
    """Return the training and test part of every task, for every split.

    A task without training rows is left out of the split; one without test rows only trains.

    Parameters
    ----------
    splits : list of pairs of ndarray of int
        Training and test rows.
    prepared : list of Prepared
        The table, as it is in each split.
    weight : ndarray of shape (n_samples,)
        Weights of all rows; rows of weight 0 do not train.
    classes : list of ndarray, optional
        The classes of every task, where targets are classes.
    """
    parts: list[list[SplitTask]] = []
    for number, ((train, test), table) in enumerate(zip(splits, prepared, strict=True)):
        trains, tests = np.zeros(len(weight), dtype=bool), np.zeros(len(weight), dtype=bool)
        trains[train], tests[test] = True, True
        trains &= weight > 0.0
        places = range(len(table.tasks))
        trained = [place for place in places if trains[table.tasks[place].rows].any()]
        sides = Sides(trains, tests, _inputs(table, trains, weight))
        parts.append(
            [
                _split_task(place, table, sides, weight, classes and classes[place])
                for place in trained
            ]
        )
        if not any(one.tested for one in parts[-1]):
            raise ValueError(f"split {number} of cv has no task with both training and test rows.")
    return parts


class Sides(NamedTuple):
    """Which rows train and which test, and what is known of the inputs of the former."""

    trains: Flags
    tests: Flags
    inputs: InputSummary


def _inputs(table: Prepared, trains: Flags, weight: Array) -> InputSummary:
    """Look at the training rows of all tasks, each of which may have several."""
    count = np.zeros(len(weight))
    for task in table.tasks:
        np.add.at(count, task.rows, weight[task.rows])
    used = np.flatnonzero(trains & (count > 0.0))
    points = table.points[used]
    return InputSummary.of(points, count[used], coded=table.coded, names=table.names)


def _split_task(
    place: int, table: Prepared, sides: Sides, weight: Array, classes: Any
) -> SplitTask:
    """Return one task of one split."""
    task, y = table.tasks[place], table.targets[place].y
    inside, outside = sides.trains[task.rows], sides.tests[task.rows]
    rows = task.rows[inside]
    centre = 0.0 if classes is not None else float(np.average(y[inside], weights=weight[rows]))
    return SplitTask(
        place,
        TaskRows(task.name, rows, task.y[inside]),
        table.points[rows],
        table.points[task.rows[outside]],
        y[outside],
        weight[rows],
        sides.inputs,
        table.wide,
        classes,
        centre,
        None if table.restore is None else partial(table.restore, place),
    )
