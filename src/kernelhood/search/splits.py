"""Splits that are stratified within every task and can keep groups of rows together.

The unit of a split is a group of rows, or a single row where there are no groups. Units that look
alike, with equally many rows in the same classes of the same tasks, are dealt out evenly. Every
task keeps a unit to train with: tasks smaller than the number of folds are tested in as many as
they have units, and the only row of a task always trains.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.estimators.base import method_of
from kernelhood.estimators.data import completed_classes, task_classes
from kernelhood.estimators.reading import (
    TaskRows,
    check_task,
    read_points,
    rows_by_label,
    take_column,
)
from kernelhood.kernels import InputSummary
from kernelhood.search.chain import Chain, Prepared

Split = tuple[Indices, Indices]


class _KnowsTasks(BaseCrossValidator):
    """What all splitters share: the tasks of the rows, from a vector or a column of X."""

    n_splits: int
    task_column: int | str | None

    def _names(self, X: Any, task: Any, n: int) -> list[Hashable]:
        if self.task_column is not None:
            task = take_column(X, self.task_column)[1]
        return [0] * n if task is None else list(check_task(task, n).tolist())

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, *, task: Any = None
    ) -> int:
        """Return the number of splits, whatever the data.

        Parameters
        ----------
        X, y, groups, task
            Not used.
        """
        return self.n_splits


class _TaskSplitter(_KnowsTasks):
    """Splits within tasks: tasks, classes and groups make lists of units."""

    random_state: Any

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, task: Any = None
    ) -> Iterator[Split]:
        """Yield training and test rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The data; with `task_column`, one column names the task.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
            Targets; classes are kept in proportion within every task.
        groups : array-like of shape (n_samples,), optional
            Rows with the same label stay together.
        task : array-like of shape (n_samples,), optional
            The task of every row.

        Yields
        ------
        train, test : ndarray of int
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        names = self._names(X, task, n)
        units = _alike_units(n, _strata(names, y), groups)
        everything = np.arange(n, dtype=np.intp)
        for number, folds in enumerate(
            self._test_units(units, check_random_state(self.random_state))
        ):
            inside = np.zeros(n, dtype=bool)
            inside[np.concatenate(folds)] = True
            _leave_some(inside, names, folds)
            if not inside.any():
                raise ValueError(
                    f"split {number} has no test row: each is the last one of its task, which has "
                    "to train. Take fewer splits, or name fewer tasks."
                )
            yield everything[~inside], everything[inside]

    def _test_units(self, units: list[list[Indices]], rng: Any) -> Iterator[list[Indices]]:
        """Yield the units of every test part."""
        raise NotImplementedError


class TaskStratifiedKFold(_TaskSplitter):
    """K folds, each with its share of every class of every task.

    Every task has rows to train with in every split: the only row of a task is in no fold, and one
    with fewer rows than folds is in as many as it has rows.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    shuffle : bool
        Whether to mix the rows first.
    random_state : int, RandomState or None
        Of the mixing.
    task_column : int or str, optional
        The column of X that names the task, for use where only X and y are passed on.

    Examples
    --------
    >>> import numpy as np
    >>> folds = TaskStratifiedKFold(2).split(np.zeros((4, 1)), [0, 0, 1, 1])
    >>> [test.tolist() for train, test in folds]
    [[0, 2], [1, 3]]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        task_column: int | str | None = None,
    ) -> None:
        if n_splits < 2:
            raise ValueError(f"n_splits must be at least 2, got {n_splits}.")
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.task_column = task_column

    def _test_units(self, units: list[list[Indices]], rng: Any) -> Iterator[list[Indices]]:
        if sum(map(len, units)) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} needs as many rows or groups, got "
                f"{sum(map(len, units))}."
            )
        folds: list[list[Indices]] = [[] for _ in range(self.n_splits)]
        dealt = 0
        for alike in units:
            order = rng.permutation(len(alike)) if self.shuffle else range(len(alike))
            for number in order:
                folds[dealt % self.n_splits].append(alike[number])
                dealt += 1
        yield from folds


class TaskShuffleSplit(_TaskSplitter):
    """Random splits, each with its share of every class of every task.

    Parameters
    ----------
    n_splits : int
        Number of splits.
    test_size : float
        Share of the rows in the test part, between 0 and 1.
    random_state : int, RandomState or None
        Of the draws.
    task_column : int or str, optional
        The column of X that names the task, for use where only X and y are passed on.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import TaskShuffleSplit
    >>> split = TaskShuffleSplit(1, test_size=0.5, random_state=0)
    >>> task = np.repeat(["a", "b"], [4, 2])
    >>> train, test = next(split.split(np.zeros((6, 1)), task=task))
    >>> sorted(task[test].tolist())
    ['a', 'a', 'b']
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float = 0.5,
        random_state: Any = None,
        task_column: int | str | None = None,
    ) -> None:
        if not 0.0 < test_size < 1.0:
            raise ValueError(f"test_size must lie between 0 and 1, got {test_size!r}.")
        if n_splits < 1:
            raise ValueError(f"n_splits must be at least 1, got {n_splits}.")
        self.n_splits = n_splits
        self.test_size = test_size
        self.random_state = random_state
        self.task_column = task_column

    def _test_units(self, units: list[list[Indices]], rng: Any) -> Iterator[list[Indices]]:
        for _ in range(self.n_splits):
            chosen: list[Indices] = []
            owed = 0.0
            for alike in units:
                owed += self.test_size * len(alike)
                count = min(len(alike), max(0, int(np.floor(owed + 0.5))))
                owed -= count
                chosen.extend(alike[number] for number in rng.permutation(len(alike))[:count])
            if not chosen:
                raise ValueError(f"test_size={self.test_size} leaves no row for the test part.")
            yield chosen


def _strata(names: list[Hashable], y: Any) -> list[Hashable]:
    """Return the task of every row, with its class where there are classes."""
    if y is None or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
        return names
    labels = np.asarray(y).ravel()
    if labels.dtype.kind == "f" and type_of_target(labels) == "continuous":
        return names
    return list(zip(names, labels.tolist(), strict=True))


def _leave_some(inside: AnyArray, names: list[Hashable], units: list[Indices]) -> None:
    """Take units out of the test rows until every task has something to train with."""
    trained = {name for name, tested in zip(names, inside.tolist(), strict=True) if not tested}
    for rows in units:
        own = {names[row] for row in rows.tolist()}
        if not own <= trained:
            inside[rows] = False
            trained |= own


def _alike_units(n: int, strata: list[Hashable], groups: Any) -> list[list[Indices]]:
    """Return lists of units that have the same rows by stratum, in order of first appearance."""
    if groups is None:
        return [[rows[k : k + 1] for k in range(len(rows))] for rows in _by_stratum(strata)]
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must hold one label per row: got {labels.shape} for {n} rows.")
    alike: dict[Hashable, list[Indices]] = {}
    for rows in rows_by_label(labels).values():
        signature = tuple(sorted(repr(strata[row]) for row in rows))
        alike.setdefault(signature, []).append(rows)
    return list(alike.values())


def _by_stratum(strata: list[Hashable]) -> list[Indices]:
    rows: dict[Hashable, list[int]] = {}
    for row, stratum in enumerate(strata):
        rows.setdefault(stratum, []).append(row)
    return [np.array(found, dtype=np.intp) for found in rows.values()]


def as_splits(
    cv: Any, X: Any, y: Any, groups: Any, task: Any, *, classes: bool = True
) -> list[Split]:
    """Return the splits of whatever a user gives as `cv`.

    A float is the test share of one random split, an integer the number of folds; splitters of
    this module are told the tasks, those of scikit-learn are not, and an iterable of index pairs
    is taken as it is. Targets that are no classes are no strata, even where they are whole numbers.
    """
    if isinstance(cv, (float, np.floating)):
        cv = TaskShuffleSplit(1, test_size=float(cv), random_state=0)
    elif isinstance(cv, (int, np.integer)):
        cv = TaskStratifiedKFold(int(cv))
    if isinstance(cv, _KnowsTasks):
        own = None if cv.task_column is not None else task
        pairs = cv.split(X, y if classes else None, groups, task=own)
    elif hasattr(cv, "split"):
        pairs = cv.split(X, y, groups)
    else:
        pairs = iter(cv)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    if not splits:
        raise ValueError("cv gave no split: at least one pair of training and test rows is needed.")
    return splits


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
    labels = read_points(clone(chain.model), whole.at(X), task, reset=True)[1]
    weight = _check_sample_weight(
        sample_weight, table.points, dtype=np.float64, ensure_non_negative=True
    )
    classes = None
    if is_classifier(chain.model):
        many = method_of(chain.model).many_classes
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
