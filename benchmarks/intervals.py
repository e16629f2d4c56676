"""How often intervals and quantiles hold the target, on tasks of 10 to 400 samples.

    python benchmarks/intervals.py [--splits 20] [--sets synthetic load sarcos]

Load and SARCOS need their files, and are skipped without. Targets are in units of each task's
training spread. Prints the coverage of `predict_interval` at new rows: the mean over tasks and
splits, the least of a task size, those of small and of large tasks, and the intervals' mean width.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from _measure import print_table
from sklearn.exceptions import ConvergenceWarning

import kernelhood as kh

SMALL = 40
N_TEST = 100

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def sizes_of(n_tasks: int) -> np.ndarray:
    """Return sizes from 10 to 400, equally far apart in their logarithm."""
    return np.geomspace(10, 400, n_tasks).astype(int)


def synthetic(seed: int) -> Rows:
    """Return twelve tasks with functions, and noise, of their own."""
    rng = np.random.default_rng(seed)
    sizes = sizes_of(12) + N_TEST
    task = np.repeat(np.arange(12), sizes)
    slope, noise = rng.normal(size=12), 0.5 * np.exp(0.5 * rng.normal(size=12))
    X = rng.normal(size=(len(task), 3))
    y = np.sin(2.0 * X[:, 0]) + slope[task] * X[:, 1] + noise[task] * rng.normal(size=len(task))
    return X, y, task


def load(seed: int) -> Rows:
    """Return the twenty zones of Load at the same hours."""
    data = _all_hours()
    hours = np.random.default_rng(seed).choice(np.unique(data.sample_id), 500, replace=False)
    some = np.isin(data.sample_id, hours)
    return data.X[some], data.y[some], data.task[some]


@cache
def _all_hours() -> Any:
    return kh.datasets.load_load(n_samples=4000, random_state=0)


def sarcos(seed: int) -> Rows:
    """Return the seven torques of SARCOS."""
    data = kh.datasets.load_sarcos(n_samples=500, random_state=seed, scale=True)
    return data.X, data.y, data.task


SETS: dict[str, tuple[Callable[[int], Rows], str]] = {
    "synthetic": (synthetic, "mixed"),
    "load": (load, "mixed"),
    "sarcos": (sarcos, "independent"),
}


def split(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Return training rows of very different number for each task, and `N_TEST` other ones.

    Targets are centred and scaled by those that train.
    """
    X, y, task = rows
    rng, y = np.random.default_rng(seed), y.astype(np.float64)
    names = list(dict.fromkeys(task.tolist()))
    train, test = [], []
    for name, size in zip(rng.permutation(len(names)), sizes_of(len(names)), strict=True):
        own = rng.permutation(np.flatnonzero(task == names[name]))
        train.append(own[N_TEST : N_TEST + size])
        test.append(own[:N_TEST])
        y[own] = (y[own] - y[train[-1]].mean()) / y[train[-1]].std()
    first, last = np.concatenate(train), np.concatenate(test)
    return (X[first], y[first], task[first]), (X[last], y[last], task[last])


def measured(name: str, n_splits: int, coverage: float, new: bool) -> list[object]:
    """Return a row of the table."""
    read, relation = SETS[name]
    covered, sizes, widths = [], [], []
    for seed in range(n_splits):
        train, (X, y, task) = split(read(seed), seed)
        model = (
            kh.KernelhoodRegressor()
            if new
            else kh.MTONMKLRegressor(
                loss="squared",
                relation=relation,
                formulation="corrected",
                beta=0.01,
                calibration=0.2,
            )
        )
        model.fit(train[0], train[1], task=train[2])
        ends = model.predict_interval(X, task=task, coverage=coverage)
        held = (ends[:, 0] <= y) & (y <= ends[:, 1])
        for one in model.tasks_:
            covered.append(held[task == one].mean())
            sizes.append(int(np.sum(train[2] == one)))
            widths.append(float(np.mean(np.diff(ends[task == one], axis=1))))
    share, size = np.array(covered), np.array(sizes)
    by_size = [share[size == one].mean() for one in np.unique(size)]
    small, large = share[size <= SMALL].mean(), share[size > SMALL].mean()
    return [name, share.mean(), min(by_size), small, large, float(np.mean(widths))]


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--sets", nargs="+", choices=sorted(SETS), default=list(SETS))
    options = parser.parse_args()
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in options.sets:
            try:
                rows.append(measured(name, options.splits, options.coverage, True))
                rows.append(measured(name, options.splits, options.coverage, False))
            except FileNotFoundError as error:
                print(f"{name} skipped: {error}")
    head = ["data", "mean", "worst size", f"at most {SMALL} rows", "more rows", "width"]
    title = f"Coverage of predict_interval({options.coverage:g}), {options.splits} splits"
    print_table(title, head, rows)


if __name__ == "__main__":
    main()
