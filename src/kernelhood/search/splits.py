"""Splits that are stratified within every task and can keep groups of rows together.

The unit of a split is a group of rows, or a single row if there are no groups. Units that look
alike, with equally many rows in the same classes of the same tasks, are dealt out evenly. Every
task keeps a unit to train with: tasks smaller than the number of folds are tested in as many as
they have units, and the only row of a task always trains.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.reading import (
    as_objects,
    check_task,
    rows_by_label,
    take_column,
)

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
        Whether to shuffle the rows first.
    random_state : int, RandomState or None
        Seed of the shuffling.
    task_column : int or str, optional
        The column of X that names the task, for use if only X and y are passed on.

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
        The column of X that names the task, for use if only X and y are passed on.

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
    """Return the task of every row, with its class if there are classes."""
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
    is taken as it is. Targets that are not classes are not strata, even if they are whole numbers.
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


#: Nanoseconds.
_DAY = 86_400e9


class TaskTimeSplit(_KnowsTasks):
    """Splits that train with the past and test with the future.

    The rows are cut into blocks of time with as many rows each. The first block trains for the
    second, the first two for the third, and so on.

    Parameters
    ----------
    n_splits : int
        Number of splits, one less than blocks.
    gap : float
        How much time there is at least between a training row and the test rows; in days if times
        are dates.
    by_task : bool
        Whether each task has blocks of its own. By default all tasks have the same, so that no
        training row of any task is later than a test row. Tasks that begin later are new there.
    task_column, time_column : int or str, optional
        The columns of X that hold task and time, for use if only X and y are passed on.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import TaskTimeSplit
    >>> year = np.array([1, 2, 3, 1, 2, 3])
    >>> splits = TaskTimeSplit(2).split(np.zeros((6, 1)), task=[0, 0, 0, 1, 1, 1], time=year)
    >>> [(year[train].tolist(), year[test].tolist()) for train, test in splits]
    [([1, 1], [2, 2]), ([1, 2, 1, 2], [3, 3])]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        gap: float = 0.0,
        by_task: bool = False,
        task_column: int | str | None = None,
        time_column: int | str | None = None,
    ) -> None:
        if n_splits < 1:
            raise ValueError(f"n_splits must be at least 1, got {n_splits}.")
        if not gap >= 0.0:
            raise ValueError(f"gap must not be negative, got {gap!r}.")
        self.n_splits = n_splits
        self.gap = gap
        self.by_task = by_task
        self.task_column = task_column
        self.time_column = time_column

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, task: Any = None, time: Any = None
    ) -> Iterator[Split]:
        """Yield training and test rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The data; with `task_column` and `time_column`, columns name task and time.
        y, groups
            Not used.
        task : array-like of shape (n_samples,), optional
            The task of every row.
        time : array-like of shape (n_samples,)
            Numbers, or dates.

        Yields
        ------
        train, test : ndarray of int
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        names = self._names(X, task, n)
        if self.time_column is not None:
            time = take_column(X, self.time_column)[1]
        when = _numbers_of(time, n)
        series = rows_by_label(as_objects(names)).values() if self.by_task else [np.arange(n)]
        block = np.empty(n, dtype=np.intp)
        for rows in series:
            block[rows] = _blocks(when[rows], self.n_splits + 1)
        for number in range(1, self.n_splits + 1):
            train, test = np.zeros(n, dtype=np.bool_), block == number
            for rows in series:
                if test[rows].any():
                    begin = when[rows][test[rows]].min()
                    train[rows] = (block[rows] < number) & (when[rows] <= begin - self.gap)
                else:  # its rows are all of other blocks
                    train[rows] = block[rows] < number
            if not (train.any() and test.any()):
                raise ValueError(
                    f"split {number - 1} has no {'test' if train.any() else 'training'} row: "
                    "take fewer splits, or a smaller gap."
                )
            yield np.flatnonzero(train), np.flatnonzero(test)


def _numbers_of(time: Any, n: int) -> Array:
    """Return times as numbers, dates as days."""
    if time is None:
        raise ValueError("time is needed: pass the time of every row, or set time_column.")
    values = np.asarray(time)
    try:
        if values.dtype.kind not in "iuf":
            dates = values.astype("datetime64[ns]")
            values = np.where(np.isnat(dates), np.nan, dates.astype(np.int64) / _DAY)
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("time must hold numbers or dates such as 2024-05-17.") from error
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"time must hold a number or a date for each of the {n} rows.")
    return found


def _blocks(when: Array, count: int) -> Indices:
    """Return the block of every time, from 0; rows of one time are in one block."""
    order = np.sort(when, kind="stable")
    starts = order[[len(order) * number // count for number in range(1, count)]]
    return np.searchsorted(starts, when, side="right")


class LeaveTasksOut(_KnowsTasks):
    """Splits that test with tasks of which no row trains.

    Parameters
    ----------
    n_splits : int or None
        Number of folds, to which tasks are assigned at random; None leaves out one task at a time.
    random_state : int, RandomState or None
        Seed of the assignment.
    task_column : int or str, optional
        The column of X that names the task, for use if only X and y are passed on.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import LeaveTasksOut
    >>> task = np.repeat(["a", "b", "c"], 2)
    >>> splits = LeaveTasksOut(None).split(np.zeros((6, 1)), task=task)
    >>> [task[test].tolist() for train, test in splits]
    [['a', 'a'], ['b', 'b'], ['c', 'c']]
    """

    def __init__(
        self,
        n_splits: int | None = 5,
        *,
        random_state: Any = None,
        task_column: int | str | None = None,
    ) -> None:
        if n_splits is not None and n_splits < 2:
            raise ValueError(f"n_splits must be at least 2 or None, got {n_splits}.")
        self.n_splits = n_splits  # type: ignore[assignment]
        self.random_state = random_state
        self.task_column = task_column

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, task: Any = None
    ) -> Iterator[Split]:
        """Yield training and test rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The data; with `task_column`, one column names the task.
        y, groups
            Not used.
        task : array-like of shape (n_samples,), optional
            The task of every row.

        Yields
        ------
        train, test : ndarray of int
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        rows = list(rows_by_label(as_objects(self._names(X, task, n))).values())
        count = len(rows) if self.n_splits is None else self.n_splits
        if not 2 <= count <= len(rows):
            raise ValueError(
                f"n_splits={count} needs as many tasks, and at least 2: got {len(rows)}."
            )
        order = np.arange(len(rows))
        if self.n_splits is not None:
            order = check_random_state(self.random_state).permutation(len(rows))
        for fold in range(count):
            test = np.sort(np.concatenate([rows[place] for place in order[fold::count]]))
            yield np.setdiff1d(np.arange(n), test), test

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, *, task: Any = None
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
            The data, if one task is left out at a time.
        y, groups
            Not used.
        task : array-like of shape (n_samples,), optional
            The task of every row, likewise.
        """
        if self.n_splits is not None:
            return self.n_splits
        n = len(task) if X is None else X.shape[0] if hasattr(X, "shape") else len(X)
        return len(set(self._names(X, task, n)))
