"""One score for every split and every task, where not all tasks are in all splits."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import t as student_t

from kernelhood._typing import Array, Flags
from kernelhood.model_selection.split_tasks import SplitTask


def averaged(
    scores: Array, parts: list[list[SplitTask]], *, average: str, pooled: bool
) -> tuple[Array, Array]:
    """Return the scores of every model by split and by task.

    Parameters
    ----------
    scores : ndarray of shape (n_models, n_splits, n_tasks)
        NaN where a split does not test a task or its score is not defined. Where `pooled`, the
        negative sums of squared errors.
    parts : list of list of SplitTask
        The tasks of every split.
    average : {"tasks", "samples"}
        Whether every task of a split counts once or as often as it has test rows.
    pooled : bool
        Whether the score of a split is 1 - error / spread with the sums of all its tasks.

    Returns
    -------
    by_split : ndarray of shape (n_models, n_splits)
    by_task : ndarray of shape (n_models, n_tasks)
    """
    shape = scores.shape[1:]
    if pooled:
        spread = _by_place(parts, shape, [[one.spread for one in tasks] for tasks in parts])
        return _explained(scores, spread, 2), _explained(scores, spread, 1)
    sizes = _by_place(parts, shape, [[len(one.y_test) for one in tasks] for tasks in parts])
    counts = sizes if average == "samples" else np.ones(shape)
    counted = np.where(np.isnan(scores), 0.0, counts)
    with np.errstate(invalid="ignore"):
        by_split = np.nansum(scores * counts, axis=2) / counted.sum(axis=2)
    return by_split, mean_of_known(scores, axis=1)


#: How seldom a model that is as good as the leader is given up.
_LEVEL = 0.01


def contenders(scores: Array, parts: list[list[SplitTask]], *, average: str, pooled: bool) -> Flags:
    """Return which models are not clearly worse than the best over the tasks that are scored.

    The differences to the leader, one a task, are tested against 0 by Student's t: what is worse by
    chance stays, and so does everything where tasks are too few to tell.

    Parameters
    ----------
    scores, parts, average, pooled
        As for `averaged`; NaN for tasks that are not scored yet.

    Returns
    -------
    ndarray of bool of shape (n_models,)
    """
    sizes = _by_place(parts, scores.shape[1:], [[len(t.y_test) for t in tasks] for tasks in parts])
    counts = sizes if average == "samples" and not pooled else np.ones(scores.shape[1:])
    tasks = np.flatnonzero(~np.isnan(scores).any(axis=0).all(axis=0))
    by_task = np.nansum((scores * counts)[:, :, tasks], axis=1)
    if len(tasks) < 2:
        return np.ones(len(scores), dtype=np.bool_)
    behind = by_task[np.argmax(by_task.sum(axis=1))] - by_task
    error = behind.std(axis=1, ddof=1) / np.sqrt(len(tasks))
    most = student_t.ppf(1.0 - _LEVEL, len(tasks) - 1)
    return np.asarray(behind.mean(axis=1) <= most * error)


def mean_of_known(values: Array, axis: int) -> Array:
    """Return the mean of the values that are no NaN; NaN where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=axis))


def _by_place(
    parts: list[list[SplitTask]], shape: tuple[int, ...], values: list[list[float]]
) -> Array:
    """Return a number for every split and task, 0 where a split does not have the task."""
    table = np.zeros(shape)
    for row, tasks, own in zip(table, parts, values, strict=True):
        row[[one.number for one in tasks]] = own
    return table


def _explained(scores: Array, spread: Array, axis: int) -> Array:
    """Return 1 - error / spread with sums over an axis; NaN where nothing was tested."""
    known = ~np.isnan(scores)
    error = -np.where(known, scores, 0.0).sum(axis=axis)
    total = np.where(known, spread, 0.0).sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(total > 0.0, 1.0 - error / total, error == 0.0)
    return np.where(known.any(axis=axis), found, np.nan)
