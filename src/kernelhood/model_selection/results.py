"""What a search has found, in scikit-learn's form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from kernelhood._typing import Array
from kernelhood.model_selection.grids import Models
from kernelhood.model_selection.walks import GridScores


def as_results(
    models: Models, by_split: Array, found: GridScores, error_score: float
) -> dict[str, Any]:
    """Return scikit-learn's dictionary of results, one entry per point."""
    known = models.model_of >= 0

    def spread(values: Array) -> Array:
        column = np.full(len(models.points), error_score, dtype=np.float64)
        column[known] = values[models.model_of[known]]
        return column

    results: dict[str, Any] = {"mean_fit_time": spread(found.seconds)}
    for name, values in models.columns.items():
        results[f"param_{name}"] = values.masked
    results["params"] = models.points
    for number in range(by_split.shape[1]):
        results[f"split{number}_test_score"] = spread(by_split[:, number])
    results["mean_test_score"] = spread(by_split.mean(axis=1))
    results["std_test_score"] = spread(by_split.std(axis=1))
    ranks = rankdata(-np.nan_to_num(results["mean_test_score"], nan=-np.inf), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    results["max_gap"] = spread(found.gaps)
    results["model"] = models.model_of
    status = np.full(len(models.points), "ok", dtype=object)
    for number, reason in models.reasons.items():
        status[number] = reason
    results["status"] = status
    return results
