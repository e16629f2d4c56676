"""The ways to name tasks, turned into one internal form; converted only here.

A user may give a label per row (``task=``), name the column of X that holds it
(``task_column=``), give a 2-D y with one task per column, or nothing at all for a single task.
Inside, a task is a name, the rows of X that belong to it, and its targets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from kernelhood._typing import AnyArray, Indices
from kernelhood.kernels import BANKS, AutoBank
from kernelhood.kernels.columns import Categories, as_numbers, find_categories

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
    """Return one task per distinct label, sorted if the labels can be sorted.

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
    """Return the rows of every label, sorted if the labels can be sorted."""
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
    if not hasattr(task, "__len__") and hasattr(task, "__array__"):
        task = np.asarray(task)
    if isinstance(task, str) or not hasattr(task, "__len__") or getattr(task, "ndim", 1) == 0:
        column = " To name a column of X, use task_column." if isinstance(task, str) else ""
        raise TypeError(
            f"{name} must be a sequence of labels, one per row of X, got {task!r}.{column}"
        )
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
    """Return a 1-D array of objects, also if they are sequences themselves."""
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
            f"task_column is the name {column!r}, but X is not a data frame: give a column number."
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


@dataclass(frozen=True)
class TrainingData:
    """The rows of a fit by task.

    Attributes
    ----------
    points : ndarray or CSR matrix of shape (n_samples, n_features)
        All rows of X, those of weight 0 and those without a target among them.
    tasks : list of TaskRows
        Rows and targets of every task.
    wide : bool
        Whether tasks are the columns of y.
    coded : list of int
        The columns that are numbers of categories.
    names : list of str, optional
        Names of the columns.
    unlabelled : dict
        Points without targets, by task.
    labels : ndarray of shape (n_samples,), optional
        The task of every row, as it was given.
    """

    points: Any
    tasks: list[TaskRows]
    wide: bool
    coded: list[int]
    names: list[str] | None
    unlabelled: Mapping[Hashable, Any]
    labels: AnyArray | None = None


def read_training_data(
    estimator: Any,
    X: Any,
    y: Any,
    task: Any,
    *,
    check: Callable[[Any], AnyArray],
    inputs_count: bool = False,
    one_function: bool = False,
    unlabelled: Any = None,
) -> TrainingData:
    """Return the rows of a fit; the estimator learns its features.

    Parameters
    ----------
    estimator : estimator
        Has `kernels`, `task_column` and, if it takes them, `missing`.
    X, y, task
        As `fit` takes them.
    check : callable
        Returns y as an array of one or two dimensions, or raises.
    inputs_count : bool
        Whether rows without a target are of use, because the relation looks at inputs.
    one_function : bool
        Whether all rows are one task, whatever their labels.
    unlabelled : tuple (X, task), optional
        More points without targets.
    """
    if y is None:
        raise ValueError(
            f"requires y to be passed, but the target y is None: {type(estimator).__name__} "
            "learns from targets."
        )
    points, labels = read_points(estimator, X, task, reset=True)
    y = _known_targets(as_target(y, inputs_count), check, inputs_count)
    check_consistent_length(points, y)
    wide, extra = y.ndim == 2, {}
    if wide and one_function:
        raise ValueError(
            "y must have one dimension: a pooled SVM has one function for all tasks, got shape "
            f"{y.shape}."
        )
    if wide and labels is not None:
        raise ValueError(
            "y of two dimensions holds one task per column: leave out task and task_column."
        )
    if wide:
        tasks = split_by_column(y)
    elif labels is None or one_function:
        tasks = [TaskRows(ONLY_TASK, np.arange(len(y), dtype=np.intp), y)]
    else:
        tasks = split_by_label(labels, y)
    if unlabelled is not None:
        extra = _read_unlabelled(estimator, unlabelled)
    if inputs_count and not wide:
        tasks = [_labelled(one, points, extra) for one in tasks]
    kept = [one for one in tasks if len(one.rows)]
    coded = sorted(categories_of(estimator))
    return TrainingData(points, kept, wide, coded, names_without_task(estimator), extra, labels)


def _known_targets(y: Any, check: Callable[[Any], AnyArray], inputs_count: bool) -> AnyArray:
    """Return targets, of which rows that only tell where inputs lie may lack some."""
    values = np.asarray(y, dtype=object)
    if values.ndim != 1 or not inputs_count or not missing(values).any():
        return check(y)
    unknown = missing(values)
    if unknown.all():
        raise ValueError("y holds no target at all: every value is missing.")
    known = check(np.array(values[~unknown].tolist()))
    whole = np.full(len(values), np.nan if known.dtype.kind == "f" else None)
    whole[~unknown] = known
    return whole


def _labelled(one: TaskRows, points: Any, extra: dict[Hashable, Any]) -> TaskRows:
    """Return the rows of a task that have a target; the others join those without."""
    unknown = missing(one.y)
    if not unknown.any():
        return one
    without = points[one.rows[unknown]]
    extra[one.name] = stack_rows([extra[one.name], without]) if one.name in extra else without
    return TaskRows(one.name, one.rows[~unknown], np.array(one.y[~unknown].tolist()))


def _read_unlabelled(estimator: Any, given: Any) -> dict[Hashable, Any]:
    """Return the points without targets of each task."""
    if estimator.task_column is not None:
        given = (given, None)
    if not isinstance(given, tuple) or len(given) != 2:
        raise ValueError(
            "unlabelled must be a pair (X, task) of points and the task of each: got "
            f"{type(given).__name__}."
        )
    points, labels = read_points(estimator, *given, reset=False)
    if labels is None:
        raise ValueError("unlabelled must name the task of every row: got None for task.")
    return {name: points[rows] for name, rows in rows_by_label(labels).items()}


def read_points(estimator: Any, X: Any, task: Any, *, reset: bool) -> tuple[Any, AnyArray | None]:
    """Return the validated features and the task labels, from wherever they were given.

    Parameters
    ----------
    estimator : estimator
        As for `read_training_data`.
    X, task
        As `fit` or `predict` take them.
    reset : bool
        Whether the estimator learns its features here.
    """
    accept: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
    if getattr(estimator, "missing", "error") == "indicator" and not sparse.issparse(X):
        accept["ensure_all_finite"] = "allow-nan"
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise TypeError(f"X is a {type(X).__name__}, which holds no rows yet: collect() it.")
    if estimator.task_column is not None:
        if task is not None:
            raise ValueError("task and task_column both name the tasks: give only one of them.")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        X, task = take_column(X, estimator.task_column)
    _refuse_dates(X)
    if reset:
        table = hasattr(X, "columns") and is_fitted(estimator.kernels)
        estimator._categories = find_categories(X) if table else {}
    categories = categories_of(estimator)
    try:
        if categories or estimator.task_column is not None:
            if estimator.task_column is None:
                validate_data(estimator, X, reset=reset, skip_check_array=True)
            numbers = as_numbers(X, categories) if categories else X
            points = check_array(numbers, estimator=estimator, input_name="X", **accept)
        else:
            points = validate_data(estimator, X, reset=reset, **accept)
    except (ValueError, TypeError) as error:
        where = wrong_columns(X, categories)
        if not where:
            raise
        if "missing values" in where and hasattr(estimator, "missing"):
            where += ' Set missing="indicator" to learn from rows that lack some.'
        kind = TypeError if "neither numbers nor text" in where else ValueError
        raise kind(f"{where} {error}") from error
    return points, None if task is None else check_task(task, points.shape[0])


def categories_of(estimator: Any) -> Categories:
    """Return the categories of the columns of a fit, by the places of the columns."""
    found: Categories = estimator._categories
    return found


def is_fitted(kernels: Any) -> bool:
    """Return whether the parameter `kernels` stands for a bank that is fitted to the inputs.

    Examples
    --------
    >>> is_fitted("auto"), is_fitted("paper")
    (True, False)
    """
    return isinstance(kernels, AutoBank) or (isinstance(kernels, str) and kernels in BANKS)


def names_without_task(estimator: Any) -> list[str] | None:
    """Return the names of the features, without the column of the task."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return None
    kept, column = list(names), estimator.task_column
    if column is not None:
        kept.remove(names[column] if isinstance(column, Integral) else column)
    return kept


def as_target(y: Any, allow_none: bool = False) -> Any:
    """Return y with a single column as one dimension, as scikit-learn does, with its warning.

    Parameters
    ----------
    y : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_tasks)
        Targets.
    allow_none : bool
        Whether None may be among those of one dimension: it is neither a class nor a number.
    """
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        y = values = column_or_1d(values, warn=True)
    if values.ndim == 1 and values.dtype == object and not allow_none:
        rows = [row for row, value in enumerate(values.tolist()) if _is_none(value)]
        if rows:
            name = getattr(y, "name", None) or ""
            raise ValueError(
                f"y{name and f' ({name!r})'} holds None in {len(rows)} rows, the "
                f"first of them row {rows[0]}: give every row a target, or leave these rows out."
            )
    return y


def _is_none(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType"


#: Beyond these a square is not a floating point number.
_LARGEST, _SMALLEST = 1e150, 1e-150


def numeric_target(y: Any, estimator: Any, allow_missing: bool = False) -> AnyArray:
    """Return targets of regression as numbers whose squares are numbers, too, or raise.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_tasks)
        Targets; those of two dimensions may lack some.
    estimator : estimator
        Named in errors.
    allow_missing : bool
        Whether those of one dimension may lack some, too.
    """
    given = np.asarray(y)
    finite: Any = "allow-nan" if given.ndim == 2 or allow_missing else True
    settings = {"ensure_2d": False, "dtype": np.float64, "ensure_all_finite": finite}
    try:
        values = np.asarray(check_array(y, input_name="y", estimator=estimator, **settings))
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(
            f"y holds text, and {type(estimator).__name__} needs numbers: for classes use a "
            f"classifier. {error}"
        ) from error
    size = float(np.nanmax(np.abs(values), initial=0.0))
    if size > _LARGEST or 0.0 < size < _SMALLEST:
        raise ValueError(
            f"y holds numbers of the size {size:.0e}, whose squares are beyond floating point: "
            "multiply y by a constant."
        )
    return values


def wrong_columns(X: Any, categories: Categories | None = None) -> str:
    """Return a sentence that names the columns of a table that are not finite numbers.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        What was refused. The sentence is empty if no column is to blame.
    categories : dict, optional
        The columns that may hold categories, of which only missing ones are wrong.
    """
    if not hasattr(X, "columns") and (sparse.issparse(X) or np.ndim(X) != 2):
        return ""
    values = np.asarray(X)
    names = list(X.columns) if hasattr(X, "columns") else list(range(values.shape[1]))
    if categories:
        values = values.astype(object)
        values[:, list(categories)] = as_numbers(X, categories)[:, list(categories)]
    faults = [(name, _fault(values[:, place])) for place, name in enumerate(names)]
    listed = [f"{name!r} holds {fault}" for name, fault in faults if fault]
    more = f", and {len(listed) - 5} more columns" if len(listed) > 5 else ""
    return f"In X, column {', column '.join(listed[:5])}{more}." if listed else ""


_DATES = "dates or times: turn them into numbers, such as (day - day.min()).dt.days"


def _refuse_dates(X: Any) -> None:
    """Raise if a column holds dates, whose numbers would be those of nanoseconds."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        kinds = zip(X.columns, X.dtypes, strict=True)
        dated = [name for name, kind in kinds if str(kind).lower().startswith(_DATED)]
    else:
        dated = [0] if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M") else []
    if dated:
        raise ValueError(f"In X, column {dated[0]!r} holds {_DATES}.")


#: How the names of such types begin, in pandas and polars.
_DATED = ("date", "time", "duration", "period")


def _fault(column: AnyArray) -> str:
    """Return what keeps a column from being finite numbers."""
    if column.dtype.kind == "c":
        return "complex numbers"
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError) as error:
        if any(isinstance(value, (date, timedelta)) for value in column.tolist()):
            return _DATES
        if isinstance(error, TypeError):
            return "values that are neither numbers nor text"
        return (
            "text: encode it, or name it as task_column if it tells the task, or give it in a data "
            'frame and use kernels="auto"'
        )
    if np.isnan(numbers).any():
        return "missing values"
    return "" if np.isfinite(numbers).all() else "infinite values"
