"""The one place that chooses hyper-parameters on the validation part."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Indices
from kernelhood.experiments.methods import Grid
from kernelhood.experiments.metrics import Metric
from kernelhood.model_selection import KernelSearchCV


def search(
    estimator: Any,
    grid: Grid,
    data: tuple[Any, AnyArray, AnyArray],
    split: tuple[Indices, Indices],
    metric: Metric,
) -> tuple[dict[str, Any], float]:
    """Return the parameters that do best on the validation part, and their score there.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    grid : dict or list of dict
        Values of each parameter.
    data : tuple
        X, y and task of all rows.
    split : tuple of ndarray of int
        Rows that train and rows that validate; no others are looked at.
    metric : Metric
        The score; its mean over tasks decides.
    """
    X, y, task = data
    rows, n_train = np.concatenate(split), len(split[0])
    places = np.arange(len(rows))
    cv = [(places[:n_train], places[n_train:])]
    found = KernelSearchCV(estimator, grid, cv=cv, scoring=metric.scoring, refit=False)
    found.fit(X[rows], y[rows], task=task[rows])
    return dict(found.best_params_), metric.from_scorer(float(found.best_score_))
