"""Find out which tasks are alike, and predict a task that was never seen.

Run ``python examples/relations.py --out demo``. Twenty-four synthetic tasks belong to three groups.
A search chooses among independent tasks, one common function with deviations, and groups; then
three tasks are kept back altogether and predicted by their groups, without a label of theirs, by
what all tasks have in common, and by the group after a few labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import kernelhood as kh

N_LABELS = 6


def make_tasks(seed: int) -> Any:
    """Return tasks of three groups."""
    return kh.datasets.make_multitask(
        24,
        40,
        kind="regression",
        relatedness=0.5,
        structure="groups",
        structure_share=0.7,
        n_groups=3,
        random_state=seed,
    )


def explained(model: Any, data: Any, rows: Any, **settings: Any) -> float:
    """Return the part of the variance of some rows that a model explains."""
    guess = model.predict(data.X[rows], task=data.task[rows], **settings)
    return float(1.0 - np.mean((guess - data.y[rows]) ** 2) / np.var(data.y[rows]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Choose a relation, draw it, and predict new tasks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture")
    parser.add_argument("--seed", type=int, default=0, help="of the tasks and the split")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    data = make_tasks(given.seed)
    new = np.isin(data.task, data.task_names[-3:])
    rows = np.flatnonzero(~new)
    split = kh.TaskShuffleSplit(1, test_size=0.7, random_state=given.seed)
    train, test = (rows[part] for part in next(split.split(rows, task=data.task[rows])))

    groups = kh.TaskGroups(data.task_groups)
    relations = {"independent": "independent", "mixed": "mixed", "groups": groups}
    model = kh.MTONMKLRegressor(kernels="paper", formulation="corrected")
    print("explained variance at test rows of tasks that were seen")
    for name, relation in relations.items():
        grid = {"relation": [relation], "beta": [0.004, 0.06, 1.0]}
        search = kh.KernelSearchCV(model, grid, cv=3)
        search.fit(data.X[train], data.y[train], task=data.task[train])
        print(f"{name:>14}  {explained(search, data, test):.2f}")
    best = search.best_estimator_
    print(best.relation_table().sum(axis=1).round(2).to_string())

    late = np.flatnonzero(new)
    print("explained variance in tasks that were not seen")
    print(f"{'their group':>14}  {explained(best, data, late):.2f}")
    shared = best.shared_function(data.X[late])
    error = np.mean((shared - data.y[late]) ** 2)
    print(f"{'common only':>14}  {1.0 - error / np.var(data.y[late]):.2f}")
    labelled = np.concatenate(
        [np.flatnonzero(data.task == name)[:N_LABELS] for name in data.task_names[-3:]]
    )
    best.adapt(data.X[labelled], data.y[labelled], task=data.task[labelled])
    others = np.setdiff1d(late, labelled)
    print(f"{f'{N_LABELS} labels each':>14}  {explained(best, data, others):.2f}")

    path = given.out / "task_map.png"
    best.plot_task_map().figure.savefig(path, dpi=120, bbox_inches="tight")
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
