"""The choice of a model by cross-validation: the one place that knows which search is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array
from kernelhood.automatic import MTONMKLClassifierCV, MTONMKLRegressorCV
from kernelhood.model_selection import TaskStratifiedKFold
from kernelhood.relations import TaskGroups
from kernelhood.tables.roles import CLASSIFICATION

#: "quick" chooses only how strongly to regularise; the others also what tasks share, and kernels.
SEARCHES = ("quick", "fast", "full")

_FOLDS = {"quick": 2, "fast": 5, "full": 5}
_FOLDS_TO_JUDGE = 3


def choose(
    kind: str,
    X: Array,
    y: AnyArray,
    task: AnyArray,
    *,
    kernels: Any = None,
    groups: dict[str, str] | None = None,
    search: str = "fast",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    """Return a fitted search: kernels, what tasks share, and how strongly regularised.

    Parameters
    ----------
    kind : {"classification", "regression"}
        What the targets are.
    X : ndarray of shape (n_rows, n_features)
        Encoded rows.
    y, task : ndarray of shape (n_rows,)
        Targets and tasks.
    kernels : str or KernelBank, optional
        The only bank; by default a small one and one with kernels on single features are tried.
    groups : dict of str to str, optional
        The group of each task, by which tasks may learn from each other.
    search : {"quick", "fast", "full"}
        How many models to choose from.
    n_jobs : int, optional
        Processes.
    verbose : int
        Show a progress bar.

    Returns
    -------
    MTONMKLClassifierCV or MTONMKLRegressorCV
    """
    settings: dict[str, Any] = {"kernels": kernels, "task_groups": groups, "grid": search}
    if search == "quick":
        settings = _quick(kind, kernels, groups, len(set(task.tolist())))
    make = MTONMKLClassifierCV if kind == CLASSIFICATION else MTONMKLRegressorCV
    found = make(cv=_FOLDS[search], n_jobs=n_jobs, verbose=verbose, **settings)
    return found.fit(X, y, task=task)


def _quick(kind: str, kernels: Any, groups: Any, n_tasks: int) -> dict[str, Any]:
    """Return the parameters of a search with one kind of model."""
    together = "mixed" if groups is None else TaskGroups(groups)
    settings: dict[str, Any] = {
        "kernels": "small" if kernels is None else kernels,
        "relation": together if n_tasks > 1 else "independent",
        "formulation": "corrected",
    }
    if kind != CLASSIFICATION:
        settings.update(loss="epsilon_insensitive", epsilon=0.1)
    return settings


def judging_folds(n_rows: int) -> TaskStratifiedKFold:
    """Return the folds in which rows are left out to judge the chosen model."""
    return TaskStratifiedKFold(min(_FOLDS_TO_JUDGE, n_rows), shuffle=True, random_state=1)


def described_choice(found: Any) -> dict[str, Any]:
    """Return what a search found as plain numbers and text, for people to read.

    Parameters
    ----------
    found : search
        Fitted.

    Returns
    -------
    dict
        `summary` (what was chosen, the runner-up, and how much was tried, in words), `score`,
        `path` (every model with its kind, score, spread and number of splits) and `edges` (what
        was chosen at the end of what is tried).
    """
    results = found.cv_results_
    scores, spreads = results["mean_test_score"], results["std_test_score"]
    path = [
        {
            "kind": str(results["kind"][row] if "kind" in results else results["params"][row]),
            "score": float(scores[row]),
            "spread": float(spreads[row]),
            "splits": int(results["n_splits"][row] if "n_splits" in results else found.n_splits_),
            "chosen": row == found.best_index_,
        }
        for row in range(len(scores))
        if np.isfinite(scores[row])
    ]
    summary = found.summary().splitlines()
    return {
        "summary": summary,
        "score": float(found.best_score_),
        "path": path,
        "edges": [line for line in summary if " sits at the " in line],
    }
