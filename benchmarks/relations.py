"""Which relation between tasks is found, and what it is worth against what one would use instead.

    python benchmarks/relations.py [--splits 3] [--regimes groups smooth tiny unrelated]

Tasks are made by `make_multitask`; all parameters are chosen by cross-validation on the training
part. Prints the error at the test points, over that of the mean of the training targets, as mean
and standard error over splits, and how often each relation was chosen. In "tiny" the tasks are so
many that functions of their own are left out, and so is the Gaussian process, which takes longer
than a quarter of an hour there.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _measure import print_table
from _opponents import OPPONENTS, relative_error
from sklearn.exceptions import ConvergenceWarning

import kernelhood as kh
from kernelhood.datasets import make_multitask
from kernelhood.relations import as_relation

SIZES = {"tiny": 300}
_BETAS = [4.0**k for k in range(-5, 2)]


def make_regime(regime: str, seed: int) -> tuple[Any, np.ndarray]:
    """Return the tasks of a regime, and which rows train."""
    rng = np.random.default_rng(seed)
    settings: dict[str, Any] = {"kind": "regression", "noise": 0.3, "random_state": seed}
    if regime == "tiny":
        train_sizes = rng.integers(4, 11, size=300)
        settings |= {"relatedness": 0.7, "intercepts": 1.0}
    else:
        train_sizes = rng.integers(10, 31, size=30)
        shares = {"groups": 0.2, "smooth": 0.2, "unrelated": 0.0, "related": 0.8}
        settings |= {"relatedness": shares[regime], "intercepts": 0.5}
    if regime in ("groups", "smooth"):
        settings |= {"structure": regime, "structure_share": 0.7, "n_groups": 3}
    sizes = train_sizes + 10
    data = make_multitask(n_tasks=len(sizes), task_sizes=sizes.tolist(), **settings)
    train = np.concatenate(
        [np.arange(size) < own for size, own in zip(sizes, train_sizes, strict=True)]
    )
    return data, train


def candidates(regime: str, data: Any) -> dict[str, Any]:
    """Return the relations to choose from."""
    found: dict[str, Any] = {"independent": "independent", "mixed": "mixed"}
    if regime != "tiny":
        found["functions"] = "functions"
    if "task_groups" in data:
        found["groups"] = kh.TaskGroups(data.task_groups)
    if "task_places" in data:
        found["similarity"] = kh.TaskSimilarity(features=data.task_places)
    return found


def search(
    relations: list[Any], data: Any, train: np.ndarray, intercept: str = "auto"
) -> kh.KernelSearchCV:
    """Choose among relations and prices by cross-validation."""
    model = kh.MTONMKLRegressor(
        kernels="paper", formulation="corrected", epsilon=0.1, intercept=intercept
    )
    grid = [
        {
            "relation": at_costs(one),
            "beta": _BETAS,
        }
        for one in relations
    ]
    found = kh.KernelSearchCV(model, grid, cv=3, average="samples")
    return found.fit(data.X[train], data.y[train], task=data.task[train])


def at_costs(relation: Any) -> list[Any]:
    """Return a relation at two costs of what tasks have for themselves, if it has any."""
    if relation == "independent":
        return [relation]
    known: Any = as_relation(relation)
    return [known.with_specific_cost(cost) for cost in (1.0, 4.0)]


def by_evidence(data: Any, train: np.ndarray) -> kh.KernelhoodRegressor:
    """Fit the estimator that needs no search."""
    return kh.KernelhoodRegressor().fit(data.X[train], data.y[train], task=data.task[train])


def errors(regime: str, seed: int, gaussian_process: bool) -> tuple[dict[str, float], str]:
    """Return the relative error of every method on one split, and the relation that was chosen."""
    data, train = make_regime(regime, seed)
    relations, found = candidates(regime, data), {}
    names = list(relations)
    for name, relation in relations.items():
        found[name] = relative_error(search([relation], data, train), data, train)
    chosen = search(list(relations.values()), data, train)
    found["chosen"] = relative_error(chosen, data, train)
    found["KernelhoodRegressor"] = relative_error(by_evidence(data, train), data, train)
    for name, fit in OPPONENTS.items():
        if name != "gaussian process" or gaussian_process:
            found[name] = relative_error(fit(data, train), data, train)
    best = chosen.best_params_["relation"]
    return found, names[[best in at_costs(one) for one in relations.values()].index(True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    every = ["groups", "smooth", "related", "tiny", "unrelated"]
    parser.add_argument("--regimes", nargs="+", default=every, choices=every)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for regime in given.regimes:
        collected: dict[str, list[float]] = {}
        chosen = []
        for seed in range(given.splits):
            found, name = errors(regime, seed, regime != "tiny")
            chosen.append(name)
            for method, error in found.items():
                collected.setdefault(method, []).append(error)
        rows = [
            [method, f"{np.mean(own):.3f}", f"{np.std(own) / np.sqrt(max(len(own) - 1, 1)):.3f}"]
            for method, own in sorted(collected.items(), key=lambda item: np.mean(item[1]))
        ]
        print_table(f"{regime} (chosen: {', '.join(chosen)})", ["method", "error", "+-"], rows)


if __name__ == "__main__":
    main()
