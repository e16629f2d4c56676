"""Let tasks share a function, and draw how much of its kernel each task keeps for itself.

Run ``python examples/sharing.py --out demo``. Eight synthetic tasks have most of their function in
common, except for the last one, which has nothing to do with the others. Three models see the same
18 training samples a task: every task on its own, all tasks as one, and shared plus own functions.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import kernelhood as kh

BETAS = [4.0**k for k in range(-7, 1)]
COSTS = [1.0, 2.0, 4.0, np.inf]


def make_regressor(relation: str) -> kh.MTONMKLRegressor:
    """Return the convex formulation, whose only parameter beside the cost is beta."""
    return kh.MTONMKLRegressor(kernels="paper", formulation="corrected", relation=relation)


def models() -> dict[str, tuple[object, dict[str, list[float]]]]:
    """Return the estimators to compare, with the parameters to choose from."""
    relations = [kh.relations.SharedFunctions(cost) for cost in COSTS]
    both = {"beta": BETAS, "relation": relations}
    return {
        "own kernels": (make_regressor("independent"), {"beta": BETAS}),
        "shared functions": (make_regressor("functions"), both),
        "pooled SVM": (kh.PooledRegressor(), {"C": [4.0**k for k in range(-3, 6)]}),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the models; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture")
    parser.add_argument("--seed", type=int, default=0, help="of the tasks and the split")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)

    data = kh.datasets.make_multitask(
        8, 60, kind="regression", relatedness=0.8, n_outliers=1, random_state=given.seed
    )
    split = kh.TaskShuffleSplit(1, test_size=0.7, random_state=given.seed)
    train, test = next(split.split(data.X, data.y, task=data.task))
    print(f"{'R^2 on the test part':>20}  mean  " + "  ".join(data.task_names))
    for name, (estimator, grid) in models().items():
        search = kh.KernelSearchCV(estimator, grid, cv=3)
        search.fit(data.X[train], data.y[train], task=data.task[train])
        scores = []
        for task in data.task_names:
            rows = test[data.task[test] == task]
            guess = search.best_estimator_.predict(data.X[rows], task=data.task[rows])
            rest = np.sum((data.y[rows] - guess) ** 2)
            scores.append(1.0 - rest / np.sum((data.y[rows] - data.y[rows].mean()) ** 2))
        cells = "  ".join(f"{score:6.2f}" for score in scores)
        print(f"{name:>20}  {np.mean(scores):.2f}  {cells}")
        if name == "shared functions":
            best = search.best_estimator_
    path = given.out / "sharing.png"
    axes = best.plot_sharing()
    axes.figure.savefig(path, dpi=120, bbox_inches="tight")
    print(f"chosen: beta {best.beta:g}, specific cost {best.relation.specific_cost:g}")
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
