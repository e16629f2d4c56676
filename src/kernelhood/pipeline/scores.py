"""Scores of predictions, task by task: what is compared, and with what."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import AnyArray, Array
from kernelhood.tasks import TaskRows


class ScoredTask(NamedTuple):
    """Targets and predictions of one task.

    Attributes
    ----------
    name : hashable
        The task.
    y, predicted : ndarray of shape (n_samples,)
        Targets and predictions.
    weight : ndarray of shape (n_samples,)
        Weights of the samples.
    centre : float
        The mean training target of the task; of all tasks where it was not seen.
    """

    name: Hashable
    y: AnyArray
    predicted: AnyArray
    weight: Array
    centre: float


def explained(error: float, spread: float) -> float:
    """Return 1 - error / spread; without any spread 1 where there is no error, otherwise 0.

    Examples
    --------
    >>> explained(1.0, 4.0), explained(0.0, 0.0), explained(1.0, 0.0)
    (0.75, 1.0, 0.0)
    """
    return 1.0 - error / spread if spread > 0.0 else float(error == 0.0)


def task_means(tasks: list[TaskRows], sample_weight: Any) -> dict[Hashable, float]:
    """Return the mean target of every task; 0 where its samples weigh nothing.

    Parameters
    ----------
    tasks : list of TaskRows
        The tasks.
    sample_weight : array-like of shape (n_samples,), float or None
        Weights of all rows of X.
    """
    weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        return {one.name: float(np.mean(one.y)) for one in tasks}
    sums = [float(weight[one.rows].sum()) for one in tasks]
    return {
        one.name: float(weight[one.rows] @ one.y) / total if total > 0.0 else 0.0
        for one, total in zip(tasks, sums, strict=True)
    }


def error_and_spread(one: ScoredTask) -> tuple[float, float]:
    """Return the squared error of a task's predictions, and that of its mean training target."""
    error = float(one.weight @ (one.y - one.predicted) ** 2)
    return error, float(one.weight @ (one.y - one.centre) ** 2)
