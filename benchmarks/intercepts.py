"""Which intercept is best where tasks share functions: one a task, one for all, or shrunk.

    python benchmarks/intercepts.py landmine spam letter --runs 5
    python benchmarks/intercepts.py groups smooth related tiny unrelated --runs 3
    python benchmarks/intercepts.py --small --runs 3

For a data set of the paper it prints the accuracy (mean squared error for regression) of shared
functions on the validation part of the paper's protocol, the best over the grid of `kernelhood
bench`. For a regime of `relations.py` it prints the error at the test points, over that of the
mean of the training targets, of every relation with its parameters chosen by cross-validation.
With --small it prints that of `MTONMKLRegressor(relation="mixed")` without a search, on a hundred
tasks of few rows, for several sizes of noise and of the tasks' own constants. All are means and
standard errors over runs. Files are looked for where `kernelhood data` finds them.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import numpy as np
from _measure import print_table
from _opponents import relative_error
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import kernelhood as kh
from kernelhood.paper.choice import search
from kernelhood.paper.methods import make_estimator, make_grid
from kernelhood.paper.protocol import (
    CLASSIFICATION,
    LOADERS,
    METRICS,
    kind_of,
    load,
    run_seed,
    split_rows,
)
from relations import candidates, make_regime
from relations import search as relation_search

INTERCEPTS = ("task", "common", "shrunk")


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


def regime_errors(regime: str, run: int) -> dict[str, list[float]]:
    """Return the errors of every relation that couples tasks, one for each intercept."""
    data, train = make_regime(regime, run)
    return {
        name: [
            relative_error(relation_search([relation], data, train, kind), data, train)
            for kind in INTERCEPTS
        ]
        for name, relation in candidates(regime, data).items()
        if name != "independent"
    }


def small_errors(n_rows: int, noise: float, spread: float, run: int) -> list[float]:
    """Return the errors on a hundred small tasks, untuned, one for each intercept."""
    data = kh.datasets.make_multitask(
        100, n_rows + 30, kind="regression", noise=noise, intercepts=spread, random_state=run
    )
    place = np.concatenate([np.arange((data.task == name).sum()) for name in np.unique(data.task)])
    train = place < n_rows
    fits = [kh.MTONMKLRegressor(relation="mixed", intercept=kind) for kind in INTERCEPTS]
    rows = data.X[train], data.y[train]
    return [relative_error(fit.fit(*rows, task=data.task[train]), data, train) for fit in fits]


def small_tasks(runs: int) -> list[list[str]]:
    """Return the rows of the table of small tasks."""
    rows = []
    for case in itertools.product((3, 6, 12), (0.3, 1.0, 2.0), (0.0, 0.5, 1.5)):
        own = np.array([small_errors(*case, run) for run in range(runs)])
        rows.append([*(f"{one:g}" for one in case), *shown(own)])
    return rows


def shown(errors: np.ndarray) -> list[str]:
    """Return means and standard errors of columns."""
    spread = errors.std(axis=0) / np.sqrt(max(len(errors) - 1, 1))
    return [f"{m:.3f} ± {e:.3f}" for m, e in zip(errors.mean(axis=0), spread, strict=True)]


def scores(name: str, run: int) -> dict[str, list[float]]:
    """Return the scores of one run, by relation."""
    if name not in LOADERS:
        return regime_errors(name, run)
    return {"functions": [validation_score(name, run, kind) for kind in INTERCEPTS]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="data sets, or regimes")
    parser.add_argument("--small", action="store_true", help="a hundred small tasks, untuned")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    if not (given.names or given.small):
        parser.error("name data sets or regimes, or give --small")
    warnings.simplefilter("ignore", ConvergenceWarning)
    kinds = ["one a task", "one for all", "shrunk"]
    rows = []
    with threadpool_limits(1):
        if given.small:
            head = ["rows a task", "noise", "spread of constants", *kinds]
            print_table("Intercepts of small tasks", head, small_tasks(given.runs))
        for name in given.names:
            found = [scores(name, run) for run in range(given.runs)]
            for relation in found[0]:
                own = np.array([one[relation] for one in found])
                rows.append([name, relation, *shown(own)])
    if rows:
        print_table("Intercepts", ["data", "relation", *kinds], rows)


if __name__ == "__main__":
    main()
