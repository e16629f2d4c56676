"""The one place that chooses hyper-parameters on the validation part."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from kernelhood._typing import AnyArray, Indices
from kernelhood.experiments.metrics import Metric, task_scores


def search(
    estimator: Any,
    grid: dict[str, list[Any]],
    data: tuple[Any, AnyArray, AnyArray],
    split: tuple[Indices, Indices],
    metric: Metric,
) -> tuple[dict[str, Any], float]:
    """Return the parameters that do best on the validation part, and their score there.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    grid : dict
        Values of each parameter.
    data : tuple
        X, y and task of all rows.
    split : tuple of ndarray of int
        Rows that train and rows that validate.
    metric : Metric
        The score; its mean over tasks decides, the earlier point of the grid where two are equal.
    """
    X, y, task = data
    train, validation = split
    sign = 1.0 if metric.greater_is_better else -1.0
    best: tuple[dict[str, Any], float] | None = None
    problem: Exception = ValueError("grid holds no point.")
    for point in ParameterGrid(grid):
        model = clone(estimator).set_params(**point)
        try:
            model.fit(X[train], y[train], task=task[train])
        except ValueError as error:  # a point outside the method's domain
            problem = error
            continue
        scores = task_scores(metric, model, X[validation], y[validation], task[validation])
        score = float(np.mean(list(scores.values())))
        if best is None or sign * score > sign * best[1]:
            best = point, score
    if best is None:
        raise problem
    return best


def paper_grid(method: str) -> dict[str, list[Any]]:
    """Return the grid of the paper for a method: C in 2^-13..2^13, eta and beta in 2^0..2^40."""
    penalties = [2.0**k for k in range(-13, 14)]
    weights = [2.0**k for k in range(41)]
    if method == "mt-onmkl":
        return {"C": penalties, "eta": weights, "beta": weights}
    own: dict[str, dict[str, list[Any]]] = {
        "rpkl": {"spread_level": [1, 2, 3]},
        "onjkl": {"rho": weights},
        "kta": {"eta": weights},
    }
    return {"C": penalties, **own.get(method, {})}
