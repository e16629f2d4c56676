"""Turn rows of results into a matrix: one line a data set (or task), one column a method."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.datasets._extras import import_extra
from kernelhood.experiments.metrics import METRICS

NEEDED = ("dataset", "method", "score")


@dataclass(frozen=True)
class Blocks:
    """Mean scores, larger is better.

    Attributes
    ----------
    names : tuple of str
        The blocks: data sets, or tasks of data sets.
    methods : tuple of str
        The methods, in the order in which they occur.
    scores : ndarray of shape (n_blocks, n_methods)
        Means over runs; errors with the opposite sign.
    """

    names: tuple[str, ...]
    methods: tuple[str, ...]
    scores: Array


def check_results(results: Any) -> Any:
    """Return the rows that have a score, or raise where the frame is not one of results."""
    missing = [name for name in NEEDED if name not in getattr(results, "columns", ())]
    if missing:
        raise ValueError(
            f"results lack {', '.join(missing)}; give a data frame with one row for every data "
            f"set, method and run, and at least the columns {', '.join(NEEDED)}."
        )
    if "metric" in results.columns:
        unknown = sorted(set(results["metric"].dropna()) - set(METRICS))
        if unknown:
            raise ValueError(f"metric {unknown[0]!r} is unknown; give {', '.join(METRICS)}.")
        if (results.groupby("dataset")["metric"].nunique() > 1).any():
            raise ValueError("results hold two metrics for one data set; keep one.")
    return results[results["score"].notna()]


def is_error(results: Any, dataset: str) -> bool:
    """Return whether smaller scores are better on a data set; larger are where nothing is said."""
    if "metric" not in results.columns:
        return False
    names = results.loc[results["dataset"] == dataset, "metric"].dropna()
    return bool(len(names)) and not METRICS[names.iloc[0]].greater_is_better


def score_blocks(results: Any, blocks: str = "datasets") -> Blocks:
    """Return the mean scores of all methods on the blocks that all of them have.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score; and task_scores where blocks are tasks.
    blocks : {"datasets", "tasks"}
        Whether a line of the matrix is a data set or a single task of one.
    """
    if blocks not in ("datasets", "tasks"):
        raise ValueError(f"blocks={blocks!r} is unknown; give 'datasets' or 'tasks'.")
    found = check_results(results)
    methods = tuple(dict.fromkeys(found["method"]))
    rows = found[["dataset", "method", "score"]].assign(block=found["dataset"])
    if blocks == "tasks":
        rows = _task_rows(found)
    means = rows.groupby(["block", "method"], sort=False)["score"].mean().unstack("method")
    means = means.reindex(columns=list(methods)).dropna()
    origin = dict(zip(rows["block"], rows["dataset"], strict=True))
    signs = np.array([-1.0 if is_error(found, origin[name]) else 1.0 for name in means.index])
    scores = np.asarray(means, dtype=np.float64).reshape(len(means), len(methods))
    return Blocks(tuple(means.index), methods, scores * signs[:, None])


def _task_rows(found: Any) -> Any:
    """Return one row for every task of every row."""
    if "task_scores" not in found.columns:
        raise ValueError("blocks='tasks' needs the column task_scores.")
    pd = import_extra("pandas", "bench")
    rows = [
        (row.dataset, row.method, score, f"{row.dataset}: {task}")
        for row in found.itertuples()
        for task, score in json.loads(row.task_scores).items()
    ]
    return pd.DataFrame(rows, columns=["dataset", "method", "score", "block"])
