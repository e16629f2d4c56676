"""Quantiles of Load by pinball loss, against gradient boosting for every zone.

    python benchmarks/pinball.py [--splits 3] [--zones 6] [--train 100]

Both choose their parameters by cross-validation of the pinball loss on the training rows: ours
beta for the median, which all levels share; scikit-learn's GradientBoostingRegressor depth and
number of trees for each zone and level. Loads are standardised by zone, inputs are the eight hours
before and the calendar. Without the files of Load, `make_multitask` takes its place.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from _measure import print_table
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import GridSearchCV

import kernelhood as kh

LEVELS = (0.1, 0.5, 0.9)
N_TEST = 200


def pinball(level: float) -> Any:
    """Return a scorer of one level; larger is better."""
    return make_scorer(mean_pinball_loss, alpha=level, greater_is_better=False)


def read(zones: int, n_hours: int, seed: int) -> tuple[Any, str]:
    """Return the zones at the same hours, or tasks that are made up."""
    try:
        numbers = list(range(1, zones + 1))
        return kh.datasets.load_load(n_samples=n_hours, zones=numbers, random_state=seed), "Load"
    except FileNotFoundError:
        data = kh.datasets.make_multitask(zones, n_hours, kind="regression", random_state=seed)
        return data, "make_multitask"


def ours(X: np.ndarray, y: np.ndarray, task: np.ndarray, at: tuple[Any, Any]) -> np.ndarray:
    """Return quantiles of all zones, learned together."""
    model = kh.MTONMKLRegressor(
        loss="quantile", relation="mixed", formulation="corrected", calibration=None
    )
    grid = {"beta": [4.0**k for k in range(-7, 0, 2)]}
    search = kh.KernelSearchCV(model, grid, cv=3, scoring=pinball(0.5)).fit(X, y, task=task)
    best = search.best_estimator_
    return np.asarray(best.predict_quantiles(at[0], task=at[1], quantiles=LEVELS))


def evidence(X: np.ndarray, y: np.ndarray, task: np.ndarray, at: tuple[Any, Any]) -> np.ndarray:
    """Return quantiles of all zones by one model, without a search."""
    model = kh.KernelhoodRegressor().fit(X, y, task=task)
    return np.asarray(model.predict_quantiles(at[0], task=at[1], quantiles=LEVELS))


def boosted(X: np.ndarray, y: np.ndarray, task: np.ndarray, at: tuple[Any, Any]) -> np.ndarray:
    """Return quantiles of each zone from trees of its own."""
    found = np.empty((len(at[0]), len(LEVELS)))
    grid = {"max_depth": [1, 2, 3], "n_estimators": [50, 150]}
    for name in dict.fromkeys(task.tolist()):
        own, there = task == name, at[1] == name
        for place, level in enumerate(LEVELS):
            trees = GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0)
            search = GridSearchCV(trees, grid, cv=3, scoring=pinball(level))
            found[there, place] = search.fit(X[own], y[own]).predict(at[0][there])
    return np.sort(found, axis=1)


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--zones", type=int, default=6)
    parser.add_argument("--train", type=int, default=100)
    options = parser.parse_args()
    methods = {"kernelhood": evidence, "MT-ONMKL": ours, "gradient boosting per zone": boosted}
    losses = {name: np.zeros((options.splits, len(LEVELS))) for name in methods}
    seconds = dict.fromkeys(methods, 0.0)
    for seed in range(options.splits):
        data, source = read(options.zones, options.train + N_TEST, seed)
        place = np.zeros(len(data.y), dtype=int)
        for name in data.task_names:
            place[data.task == name] = np.arange(np.sum(data.task == name))
        train = np.random.default_rng(seed).permutation(options.train + N_TEST) < options.train
        train = train[place]
        rows = data.X[train], data.y[train], data.task[train]
        for name, method in methods.items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                values = method(*rows, (data.X[~train], data.task[~train]))
            seconds[name] += time.perf_counter() - start
            for number, level in enumerate(LEVELS):
                loss = mean_pinball_loss(data.y[~train], values[:, number], alpha=level)
                losses[name][seed, number] = 1000.0 * loss
    head = ["method", *(f"level {level:g}" for level in LEVELS), "mean", "seconds"]
    table = [
        [name, *own.mean(axis=0).tolist(), float(own.mean()), seconds[name]]
        for name, own in losses.items()
    ]
    title = f"1000 times the pinball loss, {source}, {options.zones} zones, {options.train} rows"
    print_table(title, head, table)


if __name__ == "__main__":
    main()
