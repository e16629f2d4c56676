"""The ways to name tasks, turned into one internal form; converted only here.

A user may give a label per row (``task=``), name the column of X that holds it
(``task_column=``), give a 2-D y with one task per column, or nothing at all for a single task.
Inside, a task is a name, the rows of X that belong to it, and its targets.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelhood._typing import AnyArray, Indices

ONLY_TASK = 0
#: How many tasks a message names.
_NAMED = 5
_NEVER_MISSING = frozenset({int, str, bool})


class TaskRows(NamedTuple):
    """One task: its name, its rows in X and its targets there.

    Attributes
    ----------
    name : hashable
        What the user calls it.
    rows : ndarray of int, shape (n_samples,)
        Rows of X.
    y : ndarray of shape (n_samples,)
        Targets of these rows.
    """

    name: Hashable
    rows: Indices
    y: AnyArray


def split_by_label(task: AnyArray, y: AnyArray) -> list[TaskRows]:
    """Return one task per distinct label, sorted where the labels can be sorted.

    Examples
    --------
    >>> import numpy as np
    >>> found = split_by_label(np.array(["b", "a", "b"]), np.array([1, 2, 3]))
    >>> [(one.name, one.rows.tolist(), one.y.tolist()) for one in found]
    [('a', [1], [2]), ('b', [0, 2], [1, 3])]
    """
    return [TaskRows(name, rows, y[rows]) for name, rows in rows_by_label(task).items()]


def split_by_column(y: AnyArray) -> list[TaskRows]:
    """Return one task per column of y, each with the rows where it was observed."""
    observed = ~missing(y)
    tasks = []
    for column in range(y.shape[1]):
        rows = np.flatnonzero(observed[:, column])
        if rows.size == 0:
            raise ValueError(f"y has no observed entry in column {column}: every task needs some.")
        tasks.append(TaskRows(column, rows, y[rows, column]))
    return tasks


def rows_by_label(task: AnyArray) -> dict[Hashable, Indices]:
    """Return the rows of every label, sorted where the labels can be sorted."""
    rows: dict[Hashable, list[int]] = {}
    for row, label in enumerate(task.tolist()):
        rows.setdefault(label, []).append(row)
    try:
        names = sorted(rows)  # type: ignore[type-var]
    except TypeError:
        names = list(rows)
    return {name: np.array(rows[name], dtype=np.intp) for name in names}


def check_task(task: Any, n_samples: int, name: str = "task") -> AnyArray:
    """Return `task` as a 1-D array of hashable labels, one per sample.

    Parameters
    ----------
    task : array-like of shape (n_samples,)
        Labels.
    n_samples : int
        Rows of X.
    name : str
        What errors call it.

    Raises
    ------
    ValueError
        If its length differs from `n_samples` or a label is missing.
    """
    labels = _as_labels(task, name)
    if len(labels) != n_samples:
        raise ValueError(
            f"{name} must hold one label per row of X: got {len(labels)} labels for {n_samples} "
            "rows."
        )
    if any(is_missing(label) for label in labels.tolist() if type(label) not in _NEVER_MISSING):
        raise ValueError(f"{name} must not hold missing labels (None or NaN).")
    return labels


def _as_labels(task: Any, name: str = "task") -> AnyArray:
    if isinstance(task, str) or not hasattr(task, "__len__"):
        raise TypeError(f"{name} must be a sequence of labels, got {type(task).__name__}.")
    task = _only_column(task)
    values = task.tolist() if hasattr(task, "tolist") else list(task)
    if not all(issubclass(kind, Hashable) for kind in set(map(type, values))):
        raise ValueError(f"{name} must be 1-dimensional: one hashable label per row of X.")
    return as_objects(values)


def _only_column(task: Any) -> Any:
    """Return a table of one column as that column."""
    shape: tuple[int, ...] = getattr(task, "shape", ())
    if len(shape) != 2:
        return task
    names = list(getattr(task, "columns", range(shape[1])))
    if len(names) != 1:
        raise ValueError(
            f"task must be 1-dimensional: one hashable label per row of X, got the columns {names}."
        )
    return task[names[0]] if hasattr(task, "columns") else np.asarray(task)[:, 0]


def as_objects(values: Sequence[Any]) -> AnyArray:
    """Return a 1-D array of objects, also where they are sequences themselves."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or the missing value of pandas.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("a")
    (True, True, False)
    """
    # What pandas' own equals is not known.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def missing(y: AnyArray) -> AnyArray:
    """Return which entries are None or NaN."""
    if y.dtype.kind in "fc":
        return np.isnan(y)
    if y.dtype.kind == "O":
        flat = [is_missing(value) for value in y.ravel().tolist()]
        return np.array(flat, dtype=bool).reshape(y.shape)
    return np.zeros(y.shape, dtype=bool)


def take_column(X: Any, column: int | str) -> tuple[Any, AnyArray]:
    """Return X without one column, and that column.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The data.
    column : int or str
        Number of the column, negative from the end, or its name in a data frame.
    """
    if hasattr(X, "columns") and hasattr(X, "drop"):
        names = list(X.columns)
        if isinstance(column, str) and column not in names:
            raise ValueError(f"task_column {column!r} is not among the columns {names}.")
        name = column if isinstance(column, str) else names[_number(column, len(names))]
        return X[[other for other in names if other != name]], np.asarray(X[name])
    if isinstance(column, str):
        raise ValueError(
            f"task_column is the name {column!r}, but X is no data frame: give a column number."
        )
    if not sparse.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must be 2-dimensional to take task_column from, got {X.ndim}D.")
    number = _number(column, X.shape[1])
    others = [other for other in range(X.shape[1]) if other != number]
    if sparse.issparse(X):
        return X.tocsr()[:, others], np.asarray(X.tocsr()[:, [number]].toarray()).ravel()
    return X[:, others], X[:, number]


def _number(column: int, n_columns: int) -> int:
    if not -n_columns <= column < n_columns:
        raise ValueError(f"task_column {column} is out of range: X has {n_columns} columns.")
    return column % n_columns


def unseen_tasks(task: AnyArray, known: Collection[Hashable]) -> list[Hashable]:
    """Return the labels that are not among those known, each once."""
    seen = set(known)
    return [label for label in dict.fromkeys(task.tolist()) if label not in seen]


def known_tasks(task: AnyArray, names: Sequence[Hashable], remedy: str) -> None:
    """Raise a ValueError that names the labels that were not seen in fit, and a remedy."""
    unseen = unseen_tasks(task, names)
    if unseen:
        raise ValueError(
            f"task holds labels that were not seen in fit: {some_of(unseen)}. "
            f"Known are {some_of(names)}. {remedy}"
        )


def some_of(names: Sequence[Hashable]) -> str:
    """Return the first few names, and how many more there are.

    Examples
    --------
    >>> some_of(["a", "b"]), some_of("abcdefgh")
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 3 more")
    """
    more = len(names) - _NAMED
    return ", ".join(map(repr, names[:_NAMED])) + (f" and {more} more" if more > 0 else "")


def stack_rows(parts: list[Any]) -> Any:
    """Return the rows of dense or of sparse matrices one below the other."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.vstack(parts)
