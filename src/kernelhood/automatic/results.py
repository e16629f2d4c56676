"""What a race has found, in scikit-learn's form."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.stats import rankdata

from kernelhood.automatic.ledger import Entry, Ledger


def race_results(ledger: Ledger, tasks: list[Hashable]) -> dict[str, Any]:
    """Return scikit-learn's dictionary of results, one entry for every model of a race.

    Parameters
    ----------
    ledger : Ledger
        All models.
    tasks : list
        Names of the tasks.
    """
    entries = list(ledger.entries.values())
    counts = np.array([int(one.seen.sum()) for one in entries])
    results: dict[str, Any] = {"mean_fit_time": np.array([one.seconds for one in entries]) / counts}
    for name in dict.fromkeys(name for one in entries for name in one.params):
        results[f"param_{name}"] = _column([one.params.get(name, _OPEN) for one in entries])
    results["params"] = [one.params for one in entries]
    by_split = np.array([ledger.by_split(one) for one in entries])
    for number in range(ledger.n_splits):
        results[f"split{number}_test_score"] = by_split[:, number]
    means = np.array([ledger.mean(one) for one in entries])
    results["mean_test_score"] = np.where(np.isfinite(means), means, np.nan)
    results["std_test_score"] = np.array([_deviation(row) for row in by_split])
    results["rank_test_score"] = _ranks(means, counts)
    by_task = np.array([ledger.by_task(one) for one in entries])
    for task, values in zip(tasks, by_task.T, strict=True):
        results[f"mean_test_score_{task}"] = values
    results["max_gap"] = np.array([one.gap for one in entries])
    results["kind"] = [one.kind.name for one in entries]
    results["round"] = np.array([one.round for one in entries])
    results["n_splits"] = counts
    results["status"] = [_status(one) for one in entries]
    return results


_OPEN = object()


def _column(values: list[Any]) -> Any:
    """Return values as objects, masked where a model leaves the parameter open."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return np.ma.MaskedArray(column, mask=[value is _OPEN for value in values])


def _deviation(row: Any) -> float:
    known = row[~np.isnan(row)]
    return float(known.std()) if len(known) else np.nan


def _ranks(means: Any, counts: Any) -> Any:
    """Return ranks; models that were not evaluated on all splits come behind those that were."""
    keys = list(zip((counts == counts.max()).tolist(), means.tolist(), strict=True))
    value = {key: number for number, key in enumerate(sorted(set(keys)))}
    return rankdata([-value[key] for key in keys], method="min").astype(np.int32)


def _status(entry: Entry) -> str:
    total, count = len(entry.seen), int(entry.seen.sum())
    return "all splits" if count == total else f"dropped after {count} of {total} splits"
