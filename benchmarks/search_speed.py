"""The whole grid of the paper against scikit-learn's search over C alone.

    python benchmarks/search_speed.py

Eight tasks of 80 training samples (Letter's sizes), and seven of 400 (SARCOS's sizes, regression):
`KernelSearchCV` over 27 x 41 x 41 points for each formulation, as a ratio to `GridSearchCV` over 27
values of C of one SVC or SVR per task on the averaged kernel, on the same split. Times are those of
the processor, in one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from _measure import print_table
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

import kernelhood as kh


def tasks_like(kind: str, n_tasks: int, n_train: int) -> tuple:
    """Return data with as many test as training samples, and the split."""
    data = kh.datasets.make_multitask(n_tasks, 2 * n_train, kind=kind, noise=0.1, random_state=0)
    split = next(kh.TaskShuffleSplit(1, random_state=0).split(data.X, data.y, task=data.task))
    return data, split


def scikit_learn_search(data, split, kind: str) -> None:
    train, test = split
    model = SVC(kernel="precomputed") if kind == "classification" else SVR(kernel="precomputed")
    for name in data.task_names:
        rows = np.flatnonzero(data.task == name)
        places = [np.flatnonzero(np.isin(rows, part)) for part in (train, test)]
        K = kh.default_bank()(data.X[rows]).mean(axis=0)
        grid = {"C": 2.0 ** np.arange(-13, 14)}
        GridSearchCV(model, grid, cv=[tuple(places)], refit=False).fit(K, data.y[rows])


def seconds_of(function) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(kind: str, n_tasks: int, n_train: int, formulations: list[str]) -> list[list]:
    data, split = tasks_like(kind, n_tasks, n_train)
    model = kh.MTONMKLClassifier if kind == "classification" else kh.MTONMKLRegressor
    base = min(seconds_of(lambda: scikit_learn_search(data, split, kind)) for _ in range(2))
    rows = []
    for formulation in formulations:
        search = kh.KernelSearchCV(
            model(kernels="paper", formulation=formulation),
            kh.paper_grid(),
            cv=[split],
            refit=False,
        )
        taken = min(
            seconds_of(lambda one=search: one.fit(data.X, data.y, task=data.task)) for _ in range(2)
        )
        gap = float(np.nanmax(search.cv_results_["max_gap"]))
        size = f"{n_tasks} x {n_train}"
        rows.append([kind, size, formulation, search.n_models_, f"{gap:.1e}", taken / base])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="all formulations on 7 x 400, too")
    arguments = parser.parse_args()
    head = ["kind", "tasks x samples", "formulation", "models", "largest gap", "ratio"]
    every = ["corrected", "printed", "normalized"]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kh.MTONMKLClassifier(kernels="paper").fit(np.eye(4), [0, 1, 0, 1])
        rows = measure("classification", 8, 80, every)
        rows += measure("regression", 7, 400, every if arguments.large else ["corrected"])
    print_table("The paper's 45,387 points, against 27 values of C in GridSearchCV", head, rows)


if __name__ == "__main__":
    main()
