"""Check the arguments of the loaders before any file is read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from kernelhood._support import import_extra
from kernelhood._typing import AnyArray


def check_count(name: str, value: Any, *, low: int = 1, high: int | None = None) -> int:
    """Return `value` as an int between `low` and `high`, or raise naming the argument."""
    wanted = f"an integer >= {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is not {wanted}.")
    count = int(value)
    if count < low or (high is not None and count > high):
        raise ValueError(f"{name}={value!r} is out of range; give {wanted}.")
    return count


def check_number(name: str, value: Any, *, low: float, high: float = float("inf")) -> float:
    """Return `value` as a float between `low` and `high`, or raise naming the argument."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} is not a number from {low} to {high}.")
    # The comparison is written so that nan fails it.
    if not low <= float(value) <= high or float(value) == float("inf"):
        raise ValueError(f"{name}={value!r} is out of range; give a number from {low} to {high}.")
    return float(value)


def check_flags(**flags: Any) -> None:
    """Raise for the first argument, given by name, that is neither True nor False."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name}={value!r} is neither True nor False.")


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is among `choices`, or raise naming the argument."""
    if not isinstance(value, str) or value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r} is unknown; give one of {options}.")
    return value


def check_distinct(name: str, values: Any, *, low: int = 1) -> list[Any]:
    """Return `values` as a list of at least `low` items without repeats, or raise."""
    items = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise TypeError(f"{name}={values!r} is not a sequence.")
    items = list(items)
    if len(items) < low:
        raise ValueError(f"{name} is empty; give at least one value.")
    if any(item in items[:place] for place, item in enumerate(items)):
        raise ValueError(f"{name}={values!r} holds a value twice; give each once.")
    return items


def make_bunch(
    X: Any,
    y: AnyArray,
    *,
    task: AnyArray | None,
    task_names: Sequence[str],
    feature_names: Sequence[str],
    sample_id: AnyArray,
    name: str,
    as_frame: bool,
    **extra: Any,
) -> Bunch:
    """Return a data set as a Bunch of arrays, or of pandas objects.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The inputs.
    y : ndarray of shape (n_samples,) or (n_samples, n_tasks)
        The targets; two dimensions when every row has all tasks.
    task : ndarray of shape (n_samples,) or None
        Name of each row's task; None when `y` has two dimensions.
    task_names : sequence of str
        The tasks in their order.
    feature_names : sequence of str
        One name a column of `X`.
    sample_id : ndarray of shape (n_samples,)
        Equal for rows that are the same object.
    name : str
        Name of the file that holds the description.
    as_frame : bool
        Whether to return pandas objects.
    **extra : object
        Further entries, kept as they are.

    Returns
    -------
    bunch : Bunch
        The data set.
    """
    if as_frame:
        X, y, task, sample_id = _to_pandas(X, y, task, task_names, feature_names, sample_id)
    return Bunch(
        X=X,
        y=y,
        task=task,
        task_names=list(task_names),
        feature_names=list(feature_names),
        sample_id=sample_id,
        DESCR=(Path(__file__).parent / "descr" / f"{name}.rst").read_text("utf-8"),
        **extra,
    )


def _to_pandas(
    X: Any,
    y: AnyArray,
    task: AnyArray | None,
    task_names: Sequence[str],
    feature_names: Sequence[str],
    sample_id: AnyArray,
) -> tuple[Any, Any, Any, Any]:
    pd = import_extra("pandas", "pandas")
    columns = list(feature_names)
    if sparse.issparse(X):
        frame = pd.DataFrame.sparse.from_spmatrix(X, columns=columns)
    else:
        frame = pd.DataFrame(X, columns=columns)
    target = pd.Series(y, name="y") if y.ndim == 1 else pd.DataFrame(y, columns=list(task_names))
    tasks = None if task is None else pd.Series(task, name="task")
    return frame, target, tasks, pd.Series(sample_id, name="sample_id")
