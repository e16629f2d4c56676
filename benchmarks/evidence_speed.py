"""What one fit of `KernelhoodRegressor` costs beside a Gaussian process and CatBoost.

    python benchmarks/evidence_speed.py [--rows 500 1000 2000] [--tasks 40]

Processor seconds of one fit each, in the same run: ours, scikit-learn's `GaussianProcessRegressor`
with one kernel and no restarts, and CatBoost with its defaults if it is installed.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from importlib.util import find_spec

import numpy as np
from _measure import print_table
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import kernelhood as kh


def seconds(fit) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start


def made(rows: int, tasks: int):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(rows, 7)), rng.integers(tasks, size=rows)
    y = np.sin(X[:, 0]) + X[:, 1] * rng.normal(size=tasks)[task] + 0.3 * rng.normal(size=rows)
    return X, y, task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 1000, 2000])
    parser.add_argument("--tasks", type=int, default=40)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, task = made(60, 3)
    kh.KernelhoodRegressor().fit(X, y, task=task)  # imports
    table = []
    for rows in arguments.rows:
        X, y, task = made(rows, arguments.tasks)
        with_task = np.column_stack([X, np.eye(arguments.tasks)[task]])
        kernel = ConstantKernel() * RBF(3.0) + WhiteKernel()
        model = kh.KernelhoodRegressor()
        ours = seconds(lambda: model.fit(X, y, task=task))  # noqa: B023
        process = seconds(lambda: GaussianProcessRegressor(kernel).fit(with_task, y))  # noqa: B023
        row = [rows, model.weights_.size, f"{ours:.1f}", ours / process]
        if find_spec("catboost"):
            from catboost import CatBoostRegressor

            settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
            boosted = seconds(lambda: CatBoostRegressor(**settings).fit(with_task, y))  # noqa: B023
            row.append(ours / boosted)
        table.append(row)
    head = ["rows", "weights", "seconds", "in Gaussian processes", "in CatBoosts"]
    print_table("One fit", head[: len(table[0])], table)


if __name__ == "__main__":
    main()
