"""What MT-ONMKL gives with the kernels of the paper and no search, for several beta.

    python benchmarks/untuned_beta.py [DATASET ...] [--runs 2]

The splits are those of `kernelhood bench`; the validation part is not used. Sets other than digits
are read from the data home, KERNELHOOD_DATA.
"""

from __future__ import annotations

import argparse

import numpy as np
from _measure import print_table

from kernelhood.paper.choice import task_scores
from kernelhood.paper.methods import make_estimator
from kernelhood.paper.protocol import (
    CLASSIFICATION,
    LOADERS,
    METRICS,
    kind_of,
    load,
    run_seed,
    split_rows,
)

FORMULATIONS = ("mt-onmkl", "mt-onmkl-corrected", "mt-onmkl-printed")
BETAS = (1.0, 1.0 / 16.0, 1e-2, 1e-3, 1e-4)


def score(dataset: str, method: str, beta: float, run: int) -> float:
    """Return the mean over tasks on the test part, with C = 1 and eta = 16."""
    seed, kind = run_seed(0, dataset, run), kind_of(dataset, None)
    data = load(dataset, None, seed)
    classes = data.y if kind == CLASSIFICATION else None
    split = split_rows(data.task, data.sample_id, classes, train_fraction=0.2, seed=seed)
    train, test = split.train, split.test
    model = make_estimator(method, kind).set_params(beta=beta)
    model.fit(data.X[train], data.y[train], task=data.task[train])
    metric = METRICS["accuracy" if kind == CLASSIFICATION else "mse"]
    scores = task_scores(metric, model, data.X[test], data.y[test], data.task[test])
    return float(np.mean(list(scores.values())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=["digits"], choices=list(LOADERS))
    parser.add_argument("--runs", type=int, default=2, help="splits of each set")
    given = parser.parse_args()
    rows = []
    for dataset in given.datasets:
        for method in FORMULATIONS:
            name = make_estimator(method, CLASSIFICATION).formulation
            means = [
                np.mean([score(dataset, method, beta, run) for run in range(given.runs)])
                for beta in BETAS
            ]
            rows.append([dataset, name, *(f"{mean:.4g}" for mean in means)])
    head = ["data", "formulation", *(f"beta {beta:g}" for beta in BETAS)]
    print_table("Test scores without a search, C = 1, eta = 16", head, rows)


if __name__ == "__main__":
    main()
