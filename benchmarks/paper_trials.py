"""What the paper may have done otherwise on Letter and Spam: the same methods, other choices.

    python benchmarks/paper_trials.py [letter] [spam] [--runs 3] [--methods NAME ...] [--only TRIAL]

Every trial changes one choice that the paper leaves open, and prints the test accuracy of all
methods beside the paper's figures. "chosen on test" lets the test part choose the parameters, which
is no honest protocol: it shows how far the choice of parameters could go. Files are read from the
data home, KERNELHOOD_DATA.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import print_table
from threadpoolctl import threadpool_limits

from kernelhood.datasets import load_letter, load_spam
from kernelhood.paper.choice import fit_found, search, task_scores
from kernelhood.paper.methods import (
    BEST,
    GROUPED,
    label,
    make_estimator,
    make_grid,
    offered_methods,
)
from kernelhood.paper.protocol import (
    CLASSIFICATION,
    METRICS,
    TABLE_1,
    published_score,
    run_seed,
    split_rows,
)

Trial = dict[str, Any]

#: All methods that have one grid for any data: groups are not known here.
FITTED_HERE = [name for name in offered_methods() if name not in (*GROUPED, BEST)]


def _by_row(data: Any) -> Any:
    """Return the data with every row as an object of its own."""
    return {**data, "sample_id": np.arange(len(data["y"]))}


def _standardised(data: Any) -> Any:
    X = np.asarray(data["X"], dtype=float)
    spread = X.std(axis=0)
    return {**data, "X": (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)}


def _unit_length(data: Any) -> Any:
    size = np.linalg.norm(data["X"], axis=1, keepdims=True)
    return {**data, "X": data["X"] / np.where(size > 0.0, size, 1.0)}


def _letter(change: Callable[[Any], Any] = dict, **settings: Any) -> Callable[[int], Any]:
    return lambda seed: change(load_letter(random_state=seed, **settings))


def _spam(**settings: Any) -> Callable[[int], Any]:
    return lambda seed: load_spam(**settings)


TRIALS: dict[str, dict[str, Trial]] = {
    "letter": {
        "ours": {"load": _letter()},
        "split by row": {"load": _letter(_by_row)},
        "pixels standardised": {"load": _letter(_standardised)},
        "images of length 1": {"load": _letter(_unit_length)},
        "400 images a letter": {"load": _letter(n_samples=400)},
        "half of the rows train": {"load": _letter(), "train_fraction": 0.5},
        "chosen on test": {"load": _letter(), "on_test": True},
    },
    "spam": {
        "ours, log counts": {"load": _spam()},
        "binary": {"load": _spam(counts="binary")},
        "raw counts": {"load": _spam(counts="raw")},
        "relative counts": {"load": _spam(counts="relative")},
        "tf-idf": {"load": _spam(counts="tfidf")},
        "3,000 words": {"load": _spam(n_words=3000)},
        "200 words": {"load": _spam(n_words=200)},
        "half of the rows train": {"load": _spam(), "train_fraction": 0.5},
        "tf-idf, half of the rows": {"load": _spam(counts="tfidf"), "train_fraction": 0.5},
        "chosen on test": {"load": _spam(), "on_test": True},
    },
}


def run_scores(name: str, trial: Trial, methods: list[str], run: int, grid: str) -> list[float]:
    """Return the test accuracies of methods on one split of a trial, in percent."""
    seed = run_seed(0, name, run)
    data = trial["load"](seed)
    share = trial.get("train_fraction", 0.2)
    split = split_rows(data["task"], data["sample_id"], data["y"], train_fraction=share, seed=seed)
    return [score(trial, method, data, split, grid) for method in methods]


def score(trial: Trial, method: str, data: Any, split: Any, grid: str) -> float:
    """Return the test accuracy of a method, in percent."""
    metric = METRICS["accuracy"]
    X, y, task = np.asarray(data["X"]), data["y"], np.asarray(data["task"])
    held = split.test if trial.get("on_test") else split.validation
    estimator = make_estimator(method, CLASSIFICATION)
    found = search(estimator, make_grid(method, grid), (X, y, task), (split.train, held), metric)
    if trial.get("on_test"):
        return 100.0 * found.score
    model = fit_found(estimator, found, X[split.train], y[split.train], task[split.train])
    scores = task_scores(metric, model, X[split.test], y[split.test], task[split.test])
    return 100.0 * float(np.mean(list(scores.values())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(TRIALS), metavar="SET")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--grid", default="quick", choices=["quick", "paper"])
    parser.add_argument("--methods", nargs="+", default=list(TABLE_1), choices=FITTED_HERE)
    parser.add_argument("--only", nargs="+", metavar="TRIAL", help="some of the trials")
    given = parser.parse_args()
    for name in given.names:
        head = ["trial", *map(label, given.methods), "mean minus the paper's"]
        known = [published_score(name, method, "accuracy") for method in given.methods]
        printed = np.array([np.nan if one is None else 100.0 * one for one in known])
        shown = ["" if np.isnan(value) else f"{value:.2f}" for value in printed]
        rows = [["the paper", *shown, ""]]
        for title, trial in TRIALS[name].items():
            if given.only and title not in given.only:
                continue
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [
                    run_scores(name, trial, given.methods, run, given.grid)
                    for run in range(given.runs)
                ]
            means = np.mean(found, axis=0)
            far = means[~np.isnan(printed)] - printed[~np.isnan(printed)]
            distance = f"{far.mean():+.2f}" if len(far) else ""
            rows.append([title, *(f"{mean:.2f}" for mean in means), distance])
            print(rows[-1], flush=True)
        print_table(f"{name}, {given.runs} splits, {given.grid} grid, accuracy %", head, rows)


if __name__ == "__main__":
    main()
