"""How often the solution of `normalized` is not the best that there is.

    python benchmarks/concave_starts.py [landmine] [made] [--runs 3]

The problem is not convex. Each task is solved by itself at four settings, once with starts from
single kernels only and once with starts from two kernels as well, and compared with a scan: the
exact objective at every kernel alone and at three points between every two. A solution counts if it
is worse than the best of the scan by more than one percent. Landmine is read from the data home,
KERNELHOOD_DATA.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from typing import Any

import numpy as np
from _measure import print_table
from sklearn.svm import SVC

import kernelhood as kh
from kernelhood.datasets import load_landmine, make_multitask
from kernelhood.paper.protocol import run_seed, split_rows
from kernelhood.solvers import concave_path

SETTINGS = [(C, reward) for C in (1.0, 8.0) for reward in (0.03, 0.3)]
_BETWEEN = (0.25, 0.5, 0.75)
STARTS = {"single kernels": (), "and two kernels": concave_path.SHARES}


def landmine(runs: int) -> list[Any]:
    """Return the training parts of all tasks of some runs."""
    found = []
    for run in range(runs):
        seed = run_seed(0, "landmine", run)
        data = load_landmine(random_state=seed)
        task = np.asarray(data.task)
        parts = split_rows(task, data.sample_id, data.y, train_fraction=0.2, seed=seed)
        for name in dict.fromkeys(task.tolist()):
            rows = parts.train[task[parts.train] == name]
            found.append((data.X[rows], data.y[rows]))
    return found


def made(runs: int) -> list[Any]:
    """Return 32 made tasks for each run, of 12 to 42 rows, with much noise."""
    found = []
    for run in range(runs):
        sizes = np.tile([12, 22, 32, 42], 8).tolist()
        data = make_multitask(32, task_sizes=sizes, noise=0.7, random_state=run)
        for name in dict.fromkeys(data.task.tolist()):
            rows = data.task == name
            found.append((data.X[rows], data.y[rows]))
    return [(X, y) for X, y in found if len(np.unique(y)) == 2]


def scan(Ks: np.ndarray, y: np.ndarray, C: float, reward: float) -> float:
    """Return the best objective of one kernel alone, or of two at three mixtures."""
    mixtures = [np.eye(len(Ks))[m] for m in range(len(Ks))]
    for m, other in combinations(range(len(Ks)), 2):
        mixtures += [(1.0 - s) * mixtures[m] + s * mixtures[other] for s in _BETWEEN]
    G = np.einsum("mij,lij->ml", Ks, Ks)
    best = np.inf
    for theta in mixtures:
        K = np.tensordot(theta, Ks, axes=1)
        model = SVC(C=C, kernel="precomputed", tol=1e-6).fit(K, y)
        v = np.zeros(len(y))
        v[model.support_] = model.dual_coef_[0]
        value = np.abs(v).sum() - 0.5 * v @ K @ v - 0.5 * reward * theta @ G @ theta
        best = min(best, float(value))
    return best


def objective(X: np.ndarray, y: np.ndarray, C: float, reward: float, shares: Any) -> float:
    """Return the objective of the library's solution."""
    concave_path.SHARES = shares
    # The reward is 2 eta beta / (eta - 2 beta).
    settings = {"C": C, "eta": reward, "beta": 0.25 * reward, "formulation": "normalized"}
    model = kh.MTONMKLClassifier(kernels="paper", relation="independent", tol=1e-4, **settings)
    return float(model.fit(X, y).objective_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["landmine", "made"], metavar="SET")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    bank, lines = kh.default_bank(), []
    for name in given.names:
        tasks = {"landmine": landmine, "made": made}[name](given.runs)
        worse = {starts: np.zeros((len(tasks), len(SETTINGS)), bool) for starts in STARTS}
        seconds = dict.fromkeys(STARTS, 0.0)
        for t, (X, y) in enumerate(tasks):
            for place, (C, reward) in enumerate(SETTINGS):
                best = scan(bank(X), y, C, reward)
                for starts, shares in STARTS.items():
                    begin = time.process_time()
                    found = objective(X, y, C, reward, shares)
                    seconds[starts] += time.process_time() - begin
                    worse[starts][t, place] = found > best + 0.01 * abs(best)
        for starts, table in worse.items():
            tasks_worse = f"{table.any(axis=1).sum()} of {len(table)}"
            cells = [f"{table.sum()} of {table.size}", tasks_worse, f"{seconds[starts]:.1f}"]
            lines.append([name, starts, *cells])
    head = [
        "tasks",
        "starts from",
        "solutions worse",
        "tasks with one that is",
        "processor seconds",
    ]
    print_table("Solutions of `normalized` worse than a scan by more than 1 %", head, lines)


if __name__ == "__main__":
    main()
