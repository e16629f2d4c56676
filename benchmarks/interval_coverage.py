"""How often intervals hold the target, for rows of known tasks and of tasks left out of the fit.

    pip install 'kernelhood[grouped]'
    python benchmarks/interval_coverage.py [--splits 20] [--tables NAME ...] [--rows 1500]
        [--catboost]

A third of the tasks, and half of the rows of the others, are left out of the fit. Coverage is the
mean over tasks; "least" is that of the worst class of task sizes (at most 10 training rows, 40,
more) with 50 test rows or more over all splits. Widths are in standard deviations of the targets.
With `--catboost` there is a row for the same quantiles of the errors of CatBoost for a quarter of
the training rows (split conformal), which was trained with the others. Load and SARCOS need their
files, and are skipped without.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from _measure import print_table
from grouped import as_text
from grouped import load as load_table

import kernelhood as kh

PUBLIC = ("sleepstudy", "Oxboys", "Exam", "bdf", "Produc", "Males", "Hedonic", "Cigar")
SIZES = (0, 10, 40, 10**9)
FEWEST = 50

Rows = tuple[pd.DataFrame, np.ndarray, np.ndarray]


class Held(NamedTuple):
    """Test rows of one task: how many there are, what held, and how wide intervals are."""

    size: int
    count: int
    share: float
    width: float


def made(seed: int, rows: int) -> Rows:
    """Return 24 tasks with functions and noise of their own, of 5 to 400 training rows."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(24), 2 * rng.permutation(np.geomspace(5, 400, 24).astype(int)))
    slope, level = rng.normal(size=24), rng.normal(size=24)
    noise = 0.5 * np.exp(0.5 * rng.normal(size=24))
    X = rng.normal(size=(len(task), 3))
    y = level[task] + np.sin(2.0 * X[:, 0]) + slope[task] * X[:, 1]
    return frame(X), y + noise[task] * rng.normal(size=len(task)), task.astype(str)


def load(seed: int, rows: int) -> Rows:
    """Return the zones of Load at some hours."""
    data = kh.datasets.load_load(n_samples=rows // 20, random_state=seed)
    return frame(data.X), data.y.astype(float), data.task.astype(str)


def sarcos(seed: int, rows: int) -> Rows:
    """Return the torques of SARCOS, standardised."""
    data = kh.datasets.load_sarcos(n_samples=rows // 7, random_state=seed, scale=True)
    return frame(data.X), data.y.astype(float), data.task.astype(str)


def frame(X: np.ndarray) -> pd.DataFrame:
    """Return a table with names."""
    return pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])


def public(name: str) -> Callable[[int, int], Rows]:
    """Return a reader of a public table."""
    return lambda seed, rows: load_table(name, rows, seed)[:3]


TABLES: dict[str, Callable[[int, int], Rows]] = {
    "made": made,
    "load": load,
    "sarcos": sarcos,
    **{name: public(name) for name in PUBLIC},
}


def split(task: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows that train, other rows of their tasks, and rows of the tasks left out."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(np.unique(task))
    new = np.isin(task, names[: len(names) // 3])
    train = np.zeros(len(task), dtype=bool)
    for name in names[len(names) // 3 :]:
        own = rng.permutation(np.flatnonzero(task == name))
        train[own[: -(-len(own) // 2)]] = True
    return train, ~train & ~new, new


def ours(X, y, task, coverage):
    """Return a function that gives intervals of other rows."""
    model = kh.KernelhoodRegressor(unseen_task="shared").fit(X, y, task=task)
    return lambda new, new_task: model.predict_interval(new, task=new_task, coverage=coverage)


def catboost(X, y, task, coverage):
    """Return the same for CatBoost by split conformal prediction."""
    import catboost as cb

    judge = np.random.default_rng(0).random(len(y)) < 0.25
    table, others = as_text(X, task)
    settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = cb.CatBoostRegressor(cat_features=others, **settings).fit(table[~judge], y[~judge])
    errors = np.abs(y[judge] - model.predict(table[judge]))
    level = min(np.ceil((len(errors) + 1) * coverage) / len(errors), 1.0)
    half = np.quantile(errors, level, method="higher")

    def intervals(new, new_task):
        middle = model.predict(as_text(new, new_task)[0])
        return np.column_stack([middle - half, middle + half])

    return intervals


def held(intervals, X, y, task, sizes: dict[str, int], unit: float) -> list[Held]:
    """Return what intervals hold, by task."""
    if not len(y):
        return []
    ends = intervals(X, task)
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    width = (ends[:, 1] - ends[:, 0]) / unit
    return [
        Held(sizes.get(name, 0), int(own.sum()), inside[own].mean(), width[own].mean())
        for name in np.unique(task)
        if (own := task == name).any()
    ]


def measured(name: str, method, n_splits: int, rows: int, coverage: float) -> list[object]:
    """Return a row of the table."""
    known, new = [], []
    for seed in range(n_splits):
        X, y, task = TABLES[name](seed, rows)
        X = X.reset_index(drop=True)
        train, other, left = split(task, seed)
        intervals = method(X[train], y[train], task[train], coverage)
        names, counts = np.unique(task[train], return_counts=True)
        sizes, unit = dict(zip(names, counts.tolist(), strict=True)), y[train].std()
        known += held(intervals, X[other], y[other], task[other], sizes, unit)
        new += held(intervals, X[left], y[left], task[left], {}, unit)
    classes = [[h for h in known if low < h.size <= high] for low, high in pairwise(SIZES)]
    least = [
        np.mean([one.share for one in own])
        for own in classes
        if sum(one.count for one in own) >= FEWEST
    ]
    return [
        name,
        method.__name__,
        float(np.mean([one.share for one in known])),
        float(min(least)),
        float(np.mean([one.width for one in known])),
        float(np.mean([one.share for one in new])),
        float(np.mean([one.width for one in new])),
    ]


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--catboost", action="store_true")
    options = parser.parse_args()
    found = []
    for name in options.tables:
        for method in (ours, catboost) if options.catboost else (ours,):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row = measured(name, method, options.splits, options.rows, options.coverage)
            except FileNotFoundError as error:
                print(f"{name} skipped: {error}", flush=True)
                break
            print(row, flush=True)
            found.append(row)
    head = ["data", "method", "known tasks", "least", "width", "new tasks", "width"]
    print_table(f"Intervals of {options.coverage:g}, {options.splits} splits", head, found)


if __name__ == "__main__":
    main()
