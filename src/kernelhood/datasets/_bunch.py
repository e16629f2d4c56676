"""Put the parts of a data set together, in the one form that every loader returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from kernelhood._extras import import_extra
from kernelhood._typing import AnyArray, Indices


def pair_rows(
    rows_of: Mapping[str, Indices], pairs: Sequence[tuple[str, str]]
) -> tuple[Indices, AnyArray]:
    """Return the rows of all tasks one after another, and the name of each row's task.

    Parameters
    ----------
    rows_of : mapping of str to ndarray
        The rows of each class; a class keeps its rows in every task that uses it.
    pairs : sequence of (str, str)
        The two classes of each task.

    Returns
    -------
    rows : ndarray of shape (n_samples,)
        Row numbers, ascending within a task.
    task : ndarray of shape (n_samples,)
        Task names such as ``"c/e"``.
    """
    rows = [np.sort(np.concatenate([rows_of[a], rows_of[b]])) for a, b in pairs]
    names = np.array([f"{a}/{b}" for a, b in pairs])
    return np.concatenate(rows), np.repeat(names, [len(r) for r in rows])


def make_bunch(
    X: Any,
    y: AnyArray,
    *,
    task: AnyArray | None,
    task_names: Sequence[str],
    feature_names: Sequence[str],
    sample_id: AnyArray,
    descr: str,
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
    descr : str
        The description.
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
        DESCR=descr,
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
