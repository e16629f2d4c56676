"""One intercept a task or one for all: which is better where tasks share functions.

    python benchmarks/intercepts.py landmine spam letter --runs 5

Prints the accuracy (mean squared error for regression) on the validation part of the paper's
protocol, the best over the grid of `kernelhood bench`, as mean and standard error over runs.
The files are looked for where `kernelhood data` finds them.
"""

from __future__ import annotations

import argparse

import numpy as np
from _measure import print_table
from threadpoolctl import threadpool_limits

from kernelhood.experiments.data import kind_of, load
from kernelhood.experiments.methods import make_estimator, make_grid, search
from kernelhood.experiments.protocol import CLASSIFICATION, METRICS, run_seed, split_rows


def validation_score(name: str, run: int, intercept: str) -> float:
    seed = run_seed(0, name, run)
    samples, kind = load(name, None, seed), kind_of(name, None)
    classes = samples.y if kind == CLASSIFICATION else None
    split = split_rows(samples.task, samples.sample_id, classes, train_fraction=0.2, seed=seed)
    model = make_estimator("mt-onmkl-functions", kind).set_params(intercept=intercept)
    metric = METRICS["accuracy" if kind == CLASSIFICATION else "mse"]
    grid = make_grid("mt-onmkl-functions", "paper")
    data = (samples.X, samples.y, samples.task)
    return search(model, grid, data, (split.train, split.validation), metric)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for name in arguments.names:
            both = [
                [validation_score(name, run, kind) for kind in ("task", "common")]
                for run in range(arguments.runs)
            ]
            means, errors = np.mean(both, axis=0), np.std(both, axis=0) / np.sqrt(len(both))
            rows.append([name] + [f"{m:.2f} ± {e:.2f}" for m, e in zip(means, errors, strict=True)])
    print_table("Validation score", ["data set", "one a task", "one for all"], rows)


if __name__ == "__main__":
    main()
