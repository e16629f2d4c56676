"""The tables that `users_choice.py` compares on, each split into training and test rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import kernelhood as kh
from kernelhood.paper.protocol import (
    CLASSIFICATION,
    LOADERS,
    REGRESSION,
    load,
    run_seed,
    split_rows,
)


class Table(NamedTuple):
    """Training and test rows of one split."""

    kind: str
    X: Any
    y: Any
    task: Any
    X_test: Any
    y_test: Any
    task_test: Any
    groups: Any  # what is one object in several tasks


def _zone_and_hour(seed: int) -> Any:
    """Return the Load data with a task for every zone and hour of the day."""
    calendar = ("year", "season", "month", "weekday", "holiday", "hour")
    data = kh.datasets.load_load(random_state=seed, calendar=calendar)
    hour = list(data.feature_names).index("hour")
    number = np.unique(data.X[:, hour], return_inverse=True)[1]
    task = np.array([f"{zone}, {h} h" for zone, h in zip(data.task, number, strict=True)])
    return np.delete(data.X, hour, axis=1), data.y, task, data.sample_id


def _made(seed: int, kind: str, noise_columns: int = 0, **settings: Any) -> Any:
    data = kh.datasets.make_multitask(kind=kind, random_state=seed, **settings)
    extra = 3.0 * np.random.default_rng(seed).normal(size=(len(data.y), noise_columns))
    return np.hstack([data.X, extra]), data.y, data.task, data.sample_id


def _one_column(seed: int) -> Any:
    """Return tasks whose targets are a function of one column of twenty, and of the task."""
    rng = np.random.default_rng(seed)
    data = kh.datasets.make_multitask(8, 150, n_features=1, kind="regression", random_state=seed)
    X = 3.0 * rng.normal(size=(len(data.y), 20))
    X[:, 7] = data.X[:, 0]
    return X, data.y, data.task, data.sample_id


_C, _R = CLASSIFICATION, REGRESSION
_GROUPS = {"n_tasks": 12, "structure": "groups", "structure_share": 0.6, "n_groups": 3}
_TINY = {"n_tasks": 60, "n_samples": 30, "noise": 0.5, "intercepts": 0.5}
MADE: dict[str, tuple[str, Callable[[int], Any]]] = {
    "related": (_R, lambda s: _made(s, _R, n_tasks=8, n_samples=150, relatedness=0.9)),
    "grouped": (_C, lambda s: _made(s, _C, n_samples=150, **_GROUPS)),
    "unrelated": (_R, lambda s: _made(s, _R, n_tasks=8, n_samples=150, relatedness=0.0)),
    "tiny": (_R, lambda s: _made(s, _R, **_TINY)),
    "one-column": (_R, _one_column),
    "noise-columns": (_C, lambda s: _made(s, _C, 16, n_tasks=8, n_samples=200)),
    "load-480": (_R, _zone_and_hour),
}
NAMES = ["landmine", "letter", "spam", "sarcos", "load", "load-480", "digits", *list(MADE)[:-1]]


def table(name: str, run: int, most: int | None = None) -> Table:
    """Return one split: a fifth of the rows of every task, and class, trains.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    run : int
        Number of the split.
    most : int, optional
        The largest number of training rows; the rest of them is left out.
    """
    seed = run_seed(0, name, run)
    if name in MADE:
        kind = MADE[name][0]
        X, y, task, sample_id = MADE[name][1](seed)
    else:
        kind, data = LOADERS[name][1], load(name, None, seed)
        X, y, task, sample_id = data.X, data.y, data.task, data.sample_id
    classes = y if kind == CLASSIFICATION else None
    found = split_rows(task, sample_id, classes, train_fraction=0.2, seed=seed)
    train, test = found.train, np.concatenate([found.validation, found.test])
    if most is not None and len(train) > most:
        train = np.sort(np.random.default_rng(seed).permutation(train)[:most])
        test = test[np.isin(task[test], np.unique(task[train]))]
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    groups = np.asarray(sample_id)[train]
    return Table(kind, X[train], y[train], task[train], X[test], y[test], task[test], groups)
