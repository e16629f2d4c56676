"""Many samples: time, memory and accuracy of low rank against scikit-learn's Nystroem.

    python benchmarks/scale.py [--sizes 20000 50000] [--rank 100] [--kinds regression]
    python benchmarks/scale.py --load [--hours 400]

The first form makes tasks of 100 samples with 20 features, and fits ten kernels with the relation
"mixed" beside scikit-learn's Nystroem with as many landmarks and LinearSVR or LinearSVC with the
same C, which knows the tasks by one-hot columns. Every fit is a process of its own, so that its
peak memory is known. CPU seconds tell more than seconds on a busy machine. The second form asks on
Load how much error the approximation costs, and what gradient boosting with the zone as a category
reaches on a split by time (needs KERNELHOOD_DATA).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from _measure import growth_exponent, print_table
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC, LinearSVR

import kernelhood as kh
from kernelhood.datasets import load_load

SIZE, N_FEATURES, C, EPSILON, BETA = 100, 20, 1.0, 0.1, 0.1
HEAD = ["kind", "N", "tasks", "what", "seconds", "CPU", "MB", "gap", "SVMs", "test score", "kept"]


def make_tasks(n_samples: int, size: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return points, targets and tasks: one common function, deviations of one size."""
    rng = np.random.default_rng(seed)
    n_tasks = n_samples // size
    X, task = rng.normal(size=(n_samples, N_FEATURES)), np.repeat(np.arange(n_tasks), size)
    common = rng.normal(size=(N_FEATURES, 3)) / np.sqrt(N_FEATURES)
    own = rng.normal(size=(n_tasks, N_FEATURES)) / np.sqrt(N_FEATURES)
    f = np.sin(2.0 * X @ common[:, 0]) + (X @ common[:, 1]) ** 2 + X @ common[:, 2]
    f += 0.5 * np.einsum("ij,ij->i", X, own[task]) + 0.5 * rng.normal(size=n_tasks)[task]
    y = f + 0.3 * rng.normal(size=n_samples)
    return X, (y - y.mean()) / y.std(), task


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_ours(kind: str, rank: int, data: tuple[Any, ...], **settings: Any) -> dict[str, Any]:
    X, y, task, X_test, y_test, task_test = data
    own: dict[str, Any] = {"C": C, "relation": "mixed", "formulation": "corrected", "beta": BETA}
    own["kernels"] = "paper"
    own |= {"operator": "low_rank", "n_components": rank} | settings
    model: Any = kh.MTONMKLClassifier(**own)
    if kind == "regression":
        model = kh.MTONMKLRegressor(epsilon=EPSILON, **own)
    begin, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y, task=task)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    begin = time.perf_counter()
    score = 1.0 - np.mean((model.predict(X_test, task=task_test) - y_test) ** 2) / np.var(y_test)
    if kind == "classification":
        score = np.mean(model.predict(X_test, task=task_test) == y_test)
    return {
        "seconds": seconds,
        "cpu": cpu,
        "gap": model.dual_gap_,
        "svms": model.n_iter_,
        "score": score,
        "kept": float(model.approximation_[model.weights_.any(axis=0)].min()),
        "predict": time.perf_counter() - begin,
    }


def fit_theirs(kind: str, rank: int, data: tuple[Any, ...]) -> dict[str, Any]:
    X, y, task, X_test, y_test, task_test = data
    spread = np.sqrt(N_FEATURES)
    features = Nystroem(gamma=0.5 / spread**2, n_components=rank, random_state=0)
    shape = len(y), int(task.max()) + 1
    begin, cpu = time.perf_counter(), time.process_time()
    hot = sparse.csr_matrix((np.ones(len(y)), (np.arange(len(y)), task)), shape=shape)
    Phi = sparse.hstack([sparse.csr_matrix(features.fit_transform(X)), hot], format="csr")
    model: Any = LinearSVC(C=C, loss="hinge", max_iter=1000)
    if kind == "regression":
        model = LinearSVR(C=C, epsilon=EPSILON, max_iter=1000)
    model.fit(Phi, y)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    hot = sparse.csr_matrix(
        (np.ones(len(y_test)), (np.arange(len(y_test)), task_test)), shape=(len(y_test), shape[1])
    )
    Phi = sparse.hstack([sparse.csr_matrix(features.transform(X_test)), hot], format="csr")
    nothing = {"gap": "", "svms": "", "kept": ""}
    return {"seconds": seconds, "cpu": cpu, "score": model.score(Phi, y_test), **nothing}


def run_one(what: str, kind: str, n_samples: int, rank: int, size: int) -> dict[str, Any]:
    X, y, task = make_tasks(6 * n_samples // 5, 6 * size // 5)  # every sixth is a test sample
    if kind == "classification":
        y = (y > np.median(y)).astype(int)
    test = np.arange(len(y)) % 6 == 0
    data = X[~test], y[~test], task[~test], X[test], y[test], task[test]
    fit = fit_ours if what == "kernelhood" else fit_theirs
    return {**fit(kind, rank, data), "N": int((~test).sum()), "MB": peak_megabytes()}


def in_a_process(*arguments: Any) -> dict[str, Any]:
    """Return what a fit in a process of its own found."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def print_sizes(kinds: list[str], sizes: list[int], rank: int, size: int) -> None:
    rows, exponents = [], []
    for kind in kinds:
        found = {}
        for n in sizes:
            for what in ("kernelhood", "Nystroem"):
                one = in_a_process(what, kind, n, rank, size)
                found[n, what] = one
                gap = f"{one['gap']:.1e}" if one["gap"] else ""
                kept = f"{one['kept']:.2f}" if one["kept"] else ""
                row = [kind, one["N"], one["N"] // size, what]
                row += [
                    f"{one['seconds']:.1f}",
                    f"{one['cpu']:.1f}",
                    round(one["MB"]),
                    gap,
                    one["svms"],
                    f"{one['score']:.3f}",
                    kept,
                ]
                rows.append(row)
                print(row, flush=True)
        if len(sizes) > 1:
            for name in ("cpu", "MB"):
                taken = [found[n, "kernelhood"][name] for n in sizes]
                exponents.append([kind, name, growth_exponent(sizes, taken)])
        ratios = [found[n, "kernelhood"]["cpu"] / found[n, "Nystroem"]["cpu"] for n in sizes]
        exponents.append([kind, "times Nystroem's CPU at the largest N", ratios[-1]])
    print_table(f"Tasks of {size}, rank {rank}", HEAD, rows)
    print_table("Growth with N", ["kind", "of", "exponent or ratio"], exponents)


def print_load(hours: int, ranks: list[int], full: int, full_rank: int) -> None:
    """Print the error on Load of exact and approximated models, and of gradient boosting."""
    rows = []
    data = load_load(n_samples=None)
    order = np.unique(data.sample_id)
    for n_hours, names in ((hours, ["exact", *ranks]), (full, [full_rank])):
        step = max(1, len(order) // (2 * n_hours))
        train_hours = order[: len(order) // 2][-n_hours * step :: step][:n_hours]
        test_hours = order[len(order) // 2 :][::20]
        train, test = (np.isin(data.sample_id, h) for h in (train_hours, test_hours))
        parts = data.X[train], data.y[train], data.task[train]
        for name in names:
            own = {"operator": "on_demand" if name == "exact" else "low_rank"}
            if name != "exact":
                own["n_components"] = int(name)
            model = kh.MTONMKLRegressor(
                C=1.0, epsilon=0.01, relation="mixed", formulation="corrected", beta=BETA, **own
            )
            begin = time.process_time()
            model.fit(parts[0], parts[1], task=parts[2])
            seconds = time.process_time() - begin
            miss = model.predict(data.X[test], task=data.task[test]) - data.y[test]
            rows.append(
                [
                    int(train.sum()),
                    name if name == "exact" else f"low rank {name}",
                    seconds,
                    1e3 * np.mean(miss**2),
                ]
            )
            print(rows[-1], model.dual_gap_, flush=True)
        rows.append(boosted(data, train, test))
        print(rows[-1], flush=True)
    print_table("Load, split by time", ["N", "model", "CPU", "1000 x MSE"], rows)


def boosted(data: Any, train: Any, test: Any) -> list[Any]:
    zone = np.unique(data.task, return_inverse=True)[1]
    X = np.column_stack([data.X, zone])
    model = HistGradientBoostingRegressor(categorical_features=[X.shape[1] - 1], random_state=0)
    begin = time.process_time()
    model.fit(X[train], data.y[train])
    seconds = time.process_time() - begin
    miss = model.predict(X[test]) - data.y[test]
    return [int(train.sum()), "gradient boosting", seconds, 1e3 * float(np.mean(miss**2))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 50_000])
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--task-size", type=int, default=SIZE)
    parser.add_argument("--kinds", nargs="+", default=["regression", "classification"])
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--hours", type=int, default=400)
    parser.add_argument("--full", type=int, default=5000)
    parser.add_argument("--full-rank", type=int, default=200)
    parser.add_argument("--ranks", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        what, kind, *numbers = given.one
        print(json.dumps(run_one(what, kind, *map(int, numbers))))
    elif given.load:
        print_load(given.hours, given.ranks, given.full, given.full_rank)
    else:
        print_sizes(given.kinds, given.sizes, given.rank, given.task_size)


if __name__ == "__main__":
    main()
