"""Calibration of probabilities: ours against scikit-learn's calibrated support vector machine.

    python benchmarks/calibration.py [DATASET ...] [--runs 3] [--cost]

The splits are those of `kernelhood bench`: a fifth of the rows trains, half of the rest chooses
parameters by log loss, the other half tests. "pooled" is CalibratedClassifierCV, five folds of
sigmoids, around scikit-learn's SVC on the rows of all tasks. The expected calibration error is the
mean distance between the mean probability and the share of the second class in fifteen bins of
equally many test rows of all tasks and splits; "by task" is its mean over tasks, with five bins
each. Where the classes of tasks differ, each task's second one is told from its first. `--cost`
prints the time of a fit with and without probabilities instead. Sets other than digits are read
from the data home, KERNELHOOD_DATA.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from _measure import print_table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelhood as kh
from kernelhood.paper.protocol import load, run_seed, split_rows

OURS = [
    {"relation": relation, "C": C}
    for relation in ("independent", "mixed")
    for C in (0.25, 1.0, 4.0, 16.0)
]
SVCS = [{"C": C, "gamma": gamma} for C in (0.1, 1.0, 10.0, 100.0) for gamma in ("scale", 0.01)]


def expected_error(positive: np.ndarray, p: np.ndarray, n_bins: int = 15) -> float:
    """Return the expected calibration error in bins of equally many rows."""
    bins = np.array_split(np.argsort(p, kind="stable"), min(n_bins, len(p)))
    apart = [len(rows) * abs(p[rows].mean() - positive[rows].mean()) for rows in bins]
    return float(np.sum(apart) / len(p))


def fit_pooled(X: Any, y: np.ndarray, settings: dict[str, Any]) -> Any:
    """Return scikit-learn's calibrated machine, with fewer folds where a class is rare."""
    folds = int(min(5, np.unique(y, return_counts=True)[1].min()))
    machine = make_pipeline(StandardScaler(with_mean=isinstance(X, np.ndarray)), SVC(**settings))
    return CalibratedClassifierCV(machine, cv=folds).fit(X, y)


def tell_pooled(data: Any, train: np.ndarray, at: np.ndarray, settings: Any) -> np.ndarray:
    """Return the probability of the second class by one machine for all tasks."""
    model = fit_pooled(data.X[train], data.y[train], settings)
    return np.asarray(model.predict_proba(data.X[at])[:, 1])


def tell_ours(data: Any, train: np.ndarray, at: np.ndarray, settings: Any) -> np.ndarray:
    """Return the probability of the second class by MT-ONMKL."""
    model = kh.MTONMKLClassifier(probability=True, **settings)
    model.fit(data.X[train], data.y[train], task=data.task[train])
    p = model.predict_proba(data.X[at], task=data.task[at])
    guess = model.predict(data.X[at], task=data.task[at])
    assert np.array_equal(guess, (p[:, 1] > 0.5).astype(int))
    return np.asarray(p[:, 1])


def tell_kernelhood(data: Any, train: np.ndarray, at: np.ndarray, settings: Any) -> np.ndarray:
    """Return the probability of the second class by the evidence, with nothing to choose."""
    model = kh.KernelhoodClassifier(**settings)
    model.fit(data.X[train], data.y[train], task=data.task[train])
    return np.asarray(model.predict_proba(data.X[at], task=data.task[at])[:, 1])


METHODS = {
    "kernelhood": (tell_kernelhood, [{}]),
    "MT-ONMKL": (tell_ours, OURS),
    "pooled": (tell_pooled, SVCS),
}


def load_codes(dataset: str, run: int) -> tuple[Any, Any]:
    """Return a data set with 1 for each task's second class, and its split."""
    seed = run_seed(0, dataset, run)
    data = load(dataset, None, seed)
    split = split_rows(data.task, data.sample_id, data.y, train_fraction=0.2, seed=seed)
    last = {name: np.unique(data.y[data.task == name])[-1] for name in np.unique(data.task)}
    code = np.array([y == last[name] for y, name in zip(data.y, data.task, strict=True)])
    return replace(data, y=code.astype(int)), split


def told(dataset: str, run: int, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return classes, probabilities and tasks of the test part, of the settings chosen."""
    data, split = load_codes(dataset, run)
    tell, grid = METHODS[method]
    if len(grid) == 1:
        p = tell(data, split.train, split.test, grid[0])
        return data.y[split.test], p, data.task[split.test]
    losses = [
        log_loss(data.y[split.validation], tell(data, split.train, split.validation, settings))
        for settings in grid
    ]
    p = tell(data, split.train, split.test, grid[int(np.argmin(losses))])
    return data.y[split.test], p, data.task[split.test]


def measure(dataset: str, runs: int, method: str) -> list[float]:
    """Return calibration error, that by task, log loss and accuracy on the test rows."""
    parts = zip(*(told(dataset, run, method) for run in range(runs)), strict=True)
    y, p, task = (np.concatenate(part) for part in parts)
    by_task = [expected_error(y[task == name], p[task == name], 5) for name in np.unique(task)]
    return [
        expected_error(y, p),
        float(np.mean(by_task)),
        float(log_loss(y, p)),
        float(np.mean(y == (p > 0.5))),
    ]


def cost(dataset: str, run: int) -> list[Any]:
    """Return the seconds of a fit without and with probabilities, for both relations."""
    data, split = load_codes(dataset, run)
    train = split.train
    rows = data.X[train], data.y[train]
    cells: list[Any] = [dataset, len(train)]
    for relation in ("independent", "mixed"):
        seconds = []
        for probability in (False, True):
            model = kh.MTONMKLClassifier(relation=relation, probability=probability)
            start = time.perf_counter()
            model.fit(*rows, task=data.task[train])
            seconds.append(time.perf_counter() - start)
        cells += [*seconds, seconds[1] / seconds[0]]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sets = ["digits", "landmine", "letter", "spam"]
    parser.add_argument("datasets", nargs="*", default=["digits"], choices=sets)
    parser.add_argument("--runs", type=int, default=3, help="splits of each set")
    parser.add_argument("--cost", action="store_true", help="print times instead")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if given.cost:
        cost("digits", 0)  # compiles
        both = ["s", "with", "times"]
        head = ["data", "rows", *both, *(f"{word}, mixed" for word in both)]
        rows = [cost(dataset, 0) for dataset in given.datasets]
        print_table("Seconds of a fit without and with probabilities", head, rows)
        return
    rows = []
    for dataset in given.datasets:
        for method in METHODS:
            found = measure(dataset, given.runs, method)
            rows.append([dataset, method, *(f"{value:.4f}" for value in found)])
            print(*rows[-1], flush=True)
    head = ["data", "method", "error", "by task", "log loss", "accuracy"]
    print_table(f"Calibration, {given.runs} splits", head, rows)


if __name__ == "__main__":
    main()
