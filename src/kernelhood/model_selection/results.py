"""What a search has found, in scikit-learn's form."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.stats import rankdata

from kernelhood._typing import Array
from kernelhood.model_selection.averages import mean_of_known
from kernelhood.model_selection.grids import Models
from kernelhood.model_selection.walks import GridScores


def as_results(
    models: Models,
    by_split: Array,
    by_task: dict[Hashable, Array],
    found: GridScores,
    error_score: float,
) -> dict[str, Any]:
    """Return scikit-learn's dictionary of results, one entry per point.

    Parameters
    ----------
    models : Models
        The grid and its distinct models.
    by_split : ndarray of shape (n_models, n_splits)
        Scores of the models.
    by_task : dict of ndarray of shape (n_models,)
        The same for every task alone, over all splits.
    found : GridScores
        What else is known of them.
    error_score : float
        The score of points outside the domain.
    """
    known = models.model_of >= 0

    def spread(values: Array) -> Array:
        column = np.full(len(models.points), error_score, dtype=np.float64)
        column[known] = values[models.model_of[known]]
        return column

    results: dict[str, Any] = {"mean_fit_time": spread(found.seconds)}
    for name, column in models.columns.items():
        results[f"param_{name}"] = column.masked
    results["params"] = models.points
    for number in range(by_split.shape[1]):
        results[f"split{number}_test_score"] = spread(by_split[:, number])
    means = mean_of_known(by_split, axis=1)
    deviations = mean_of_known((by_split - means[:, None]) ** 2, axis=1)
    results["mean_test_score"] = spread(means)
    results["std_test_score"] = spread(np.sqrt(deviations))
    ranks = rankdata(-np.nan_to_num(results["mean_test_score"], nan=-np.inf), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    for task, values in by_task.items():
        results[f"mean_test_score_{task}"] = spread(values)
    results["max_gap"] = spread(found.gaps)
    results["model"] = models.model_of
    status = np.full(len(models.points), "ok", dtype=object)
    for point in np.flatnonzero(known & (found.given_up[models.model_of] > 0)):
        status[point] = f"given up after {found.given_up[models.model_of[point]]} tasks"
    for number, reason in models.reasons.items():
        status[number] = reason
    results["status"] = status
    return results
