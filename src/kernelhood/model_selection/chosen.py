"""What a search chooses: the best point of a grid, and what the estimators fitted there answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.model_selection.grids import Models


def best_point(models: Models, scores: Array) -> tuple[int, float]:
    """Return the number of the best point of the grid, and its score.

    Parameters
    ----------
    models : Models
        The grid and its distinct models.
    scores : ndarray of shape (n_models,)
        The score of every model. Among equal ones the stronger regularisation wins, then the first
        point of the grid.
    """
    best_ones = np.flatnonzero(scores == np.nanmax(scores))
    model = int(best_ones[np.argmin(models.strength[best_ones])])
    return int(np.argmax(models.model_of == model)), float(scores[model])


def first_of(chosen: Any) -> Any:
    """Return the chosen estimator, or the first task's where every task has its own."""
    return next(iter(chosen.values())) if isinstance(chosen, dict) else chosen


def answer(chosen: Any, method: str, X: Any, task: Any) -> Any:
    """Return what the chosen estimator answers for every row.

    Parameters
    ----------
    chosen : estimator or dict of estimators by task
        The fitted one, or one for every task, whose rows it then answers.
    method : str
        The method to call.
    X, task
        Its arguments.
    """
    if not isinstance(chosen, dict):
        return getattr(chosen, method)(X, task=task)
    first = first_of(chosen)
    labels = first._read_points(X, task, reset=False)[1]
    if labels is None:
        columns = [getattr(one, method)(X) for one in chosen.values()]
        if columns[0].ndim == 1:
            return columns[0]
        return np.column_stack([values[:, k] for k, values in enumerate(columns)])
    answers = getattr(first, method)(X, task=task)
    for name, one in chosen.items():
        rows = np.array([label == name for label in labels.tolist()])
        if rows.any():
            answers[rows] = getattr(one, method)(X, task=task)[rows]
    return answers
