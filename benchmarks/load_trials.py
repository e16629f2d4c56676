"""What was tried to lower the error on Load beyond the table of results: the evidence.

    python benchmarks/load_trials.py [--runs 0 3] [--hours 50]

The splits are those of `kernelhood bench load`. Kernels are on all inputs, on groups of them (the
loads of the eight hours before, and the calendar), or on products of both. The last two rows learn
from a part of the hours, each zone on its own and all of them together. Files are read from the
data home, KERNELHOOD_DATA.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _measure import print_table
from threadpoolctl import threadpool_limits

import kernelhood as kh
from kernelhood.datasets import load_load
from kernelhood.paper.choice import task_scores
from kernelhood.paper.protocol import METRICS, Split, run_seed, split_rows

LAGS, CALENDAR, MONTH, WEEKDAY = tuple(range(8)), tuple(range(8, 13)), (10,), (11,)


def bank(**settings: Any) -> kh.AutoBank:
    """Return kernels on the lags, on the calendar and on more."""
    groups = {"lags": LAGS, "calendar": CALENDAR, **settings.pop("groups", {})}
    return kh.AutoBank(columns=groups, single_columns=False, **settings)


BANKS: dict[str, Any] = {
    "all inputs": "small",
    "lags and calendar": bank(),
    "and their products": bank(interactions=[("lags", "calendar")]),
    "lags times month and weekday": bank(
        groups={"month": MONTH, "weekday": WEEKDAY},
        interactions=[("lags", "month"), ("lags", "weekday")],
    ),
}


def error(data: Any, train: np.ndarray, test: np.ndarray, kernels: Any, relation: str) -> float:
    """Return the mean squared error over zones of weights that the evidence chose."""
    X, y, task = data["X"], data["y"], np.asarray(data["task"])
    model = kh.MTONMKLRegressor(
        kernels=kernels, formulation="evidence", loss="squared", relation=relation
    ).fit(X[train], y[train], task=task[train])
    scores = task_scores(METRICS["mse"], model, X[test], y[test], task[test])
    return float(np.mean(list(scores.values())))


def some_hours(task: np.ndarray, train: np.ndarray, hours: int) -> np.ndarray:
    """Return training rows at equal distances, so many of each zone."""
    own = [train[task[train] == zone] for zone in np.unique(task)]
    return np.concatenate([rows[:: max(1, len(rows) // hours)] for rows in own])


def trials(data: Any, split: Split, hours: int) -> list[float]:
    """Return the errors of all trials on one split."""
    found = [
        error(data, split.train, split.test, kernels, "independent") for kernels in BANKS.values()
    ]
    part = some_hours(np.asarray(data["task"]), split.train, hours)
    relations = ("independent", "mixed")
    return found + [error(data, part, split.test, "small", relation) for relation in relations]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[0, 3])
    parser.add_argument("--hours", type=int, default=50)
    given = parser.parse_args()
    columns = []
    for run in given.runs:
        seed = run_seed(0, "load", run)
        data = load_load(random_state=seed)
        task, objects = np.asarray(data["task"]), data["sample_id"]
        split = split_rows(task, objects, None, train_fraction=0.2, seed=seed)
        with threadpool_limits(1):
            columns.append(trials(data, split, given.hours))
    part = f"{given.hours} hours of each zone, "
    names = [*BANKS, f"{part}each alone", f"{part}all together"]
    rows = [
        [name, *(f"{value:.4f}" for value in line)]
        for name, line in zip(names, np.transpose(columns), strict=True)
    ]
    print_table("Load, MSE by the evidence", ["kernels", *(f"run {n}" for n in given.runs)], rows)


if __name__ == "__main__":
    main()
