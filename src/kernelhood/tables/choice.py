"""The choice of a model by cross-validation: the one place that knows which search is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators import MTONMKLClassifier, MTONMKLRegressor
from kernelhood.kernels import KernelBank
from kernelhood.model_selection import KernelSearchCV, TaskStratifiedKFold
from kernelhood.relations import TaskGroups
from kernelhood.tables.roles import CLASSIFICATION

SEARCHES = ("full", "fast")

N_FOLDS = 3

#: A score that is better by less says nothing about the end of a grid.
_MATTERS = 1e-3

_ALONE = {"relation": [None], "formulation": ["normalized"]}
_TOGETHER = {"formulation": ["corrected"]}
_GRIDS: dict[str, tuple[dict[str, list[Any]], dict[str, list[Any]]]] = {
    "full": (
        {"C": [2.0**k for k in (-3, 0, 3, 6)], "beta": [2.0**-12, 2.0**-6]},
        {"beta": [2.0**k for k in (-10, -6, -3, 0, 3)], "specific_cost": [1.0, 4.0]},
    ),
    "fast": ({"C": [2.0**3], "beta": [2.0**-6]}, {"beta": [2.0**-8], "specific_cost": [4.0]}),
}


def choose(
    kind: str,
    X: Array,
    y: AnyArray,
    task: AnyArray,
    *,
    kernels: KernelBank,
    groups: dict[str, str] | None = None,
    search: str = "full",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    """Return a fitted search: tasks alone or together, and how strongly regularised.

    Parameters
    ----------
    kind : {"classification", "regression"}
        What the targets are.
    X : ndarray of shape (n_rows, n_features)
        Encoded rows.
    y, task : ndarray of shape (n_rows,)
        Targets and tasks.
    kernels : KernelBank
        The base kernels.
    groups : dict of str to str, optional
        The group of each task: tasks that learn together then do so by their groups, too.
    search : {"full", "fast"}
        How many models to choose from.
    n_jobs : int, optional
        Processes.
    verbose : int
        Show a progress bar.

    Returns
    -------
    search
        With `best_estimator_`, `best_params_`, `best_score_` and `cv_results_`.
    """
    estimator = MTONMKLClassifier if kind == CLASSIFICATION else MTONMKLRegressor
    grid = make_grid(search, len(set(task.tolist())), groups)
    found = KernelSearchCV(
        estimator(kernels=kernels), grid, cv=folds(len(y)), n_jobs=n_jobs, verbose=verbose
    )
    return found.fit(X, y, task=task)


def folds(n_rows: int) -> TaskStratifiedKFold:
    """Return the folds of the choice."""
    return TaskStratifiedKFold(min(N_FOLDS, n_rows), shuffle=True, random_state=0)


def make_grid(search: str, n_tasks: int, groups: dict[str, str] | None) -> list[dict[str, Any]]:
    """Return the models to choose from."""
    if search not in SEARCHES:
        raise ValueError(f"search={search!r} is unknown; give one of {', '.join(SEARCHES)}.")
    alone, together = _GRIDS[search]
    grids: list[dict[str, Any]] = [{**_ALONE, **alone}]
    if n_tasks > 1:
        relation: Any = "mixed" if groups is None else TaskGroups(groups)
        grids.append({"relation": [relation], **_TOGETHER, **together})
    return grids


def described_choice(found: Any) -> dict[str, Any]:
    """Return what a search found as plain numbers and text, for people to read.

    Parameters
    ----------
    found : search
        Fitted.

    Returns
    -------
    dict
        `params`, `score`, `path` (every distinct model with its score and spread), `runner_up` (the
        best model with another relation of tasks, or the best other one where all have the same)
        and `edges` (parameters chosen at the end of their values).
    """
    results = found.cv_results_
    means, spreads = results["mean_test_score"], results["std_test_score"]
    numbers = results["model"]
    first = [int(np.argmax(numbers == number)) for number in dict.fromkeys(numbers[numbers >= 0])]
    path: list[dict[str, Any]] = [
        {
            "params": readable(results["params"][row]),
            "score": float(means[row]),
            "spread": float(spreads[row]),
            "chosen": bool(numbers[row] == numbers[found.best_index_]),
        }
        for row in first
        if np.isfinite(means[row])
    ]
    own = str(found.best_params_.get("relation"))
    others = [one for one in path if not one["chosen"]]
    others = [one for one in others if one["params"].get("relation") != own] or others
    return {
        "params": readable(found.best_params_),
        "score": float(found.best_score_),
        "path": path,
        "runner_up": max(others, key=lambda one: one["score"]) if others else None,
        "edges": _edges(found),
    }


def readable(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as numbers and text."""
    return {
        name: float(value) if isinstance(value, int | float) else str(value)
        for name, value in params.items()
    }


def _edges(found: Any) -> list[str]:
    """Return the numbers chosen at the end of the values tried, where the next one is worse."""
    best, results = found.best_params_, found.cv_results_
    alike = [row for row, one in enumerate(results["params"]) if _others(one, best) <= 1]
    edges = []
    for name, value in best.items():
        if not isinstance(value, int | float):
            continue
        scores = {
            results["params"][row][name]: float(results["mean_test_score"][row])
            for row in alike
            if all(results["params"][row][k] == v for k, v in best.items() if k != name)
        }
        tried = sorted(scores)
        if len(tried) < 3 or value not in (tried[0], tried[-1]):
            continue
        beside = tried[1] if value == tried[0] else tried[-2]
        if scores[value] - scores[beside] > _MATTERS:
            side = "smallest" if value == tried[0] else "largest"
            edges.append(f"{name}={value:g} is the {side} value tried")
    return edges


def _others(one: dict[str, Any], best: dict[str, Any]) -> int:
    """Return in how many parameters two points differ; many where they have not the same."""
    if set(one) != set(best):
        return len(best) + 1
    return sum(one[name] != value for name, value in best.items())
