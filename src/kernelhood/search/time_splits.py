"""Splits for other purposes than new rows of known tasks: later rows, and whole new tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelhood._typing import Array, Indices
from kernelhood.estimators.reading import as_objects, rows_by_label, take_column
from kernelhood.search.splits import Split, _KnowsTasks

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
        The columns of X that hold task and time, for use where only X and y are passed on.

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
            values = values.astype("datetime64[ns]").astype(np.int64) / _DAY
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
        Number of folds that the tasks are dealt to at random; None leaves out one task at a time.
    random_state : int, RandomState or None
        Of the deal.
    task_column : int or str, optional
        The column of X that names the task, for use where only X and y are passed on.

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
