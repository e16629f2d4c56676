"""Many samples: time and memory of low rank against scikit-learn's Nystroem, and clusters.

    python benchmarks/scale.py [--sizes 20000 50000] [--rank 100] [--kinds regression]
    python benchmarks/scale.py --sizes 20000 50000 100000 200000 --kinds regression
    python benchmarks/scale.py --task-size 10 --sizes 100000 --kinds regression
    python benchmarks/scale.py --predict 1000000
    python benchmarks/scale.py --cluster

The first form makes tasks of 100 samples with 20 features, and fits ten kernels with the relation
"mixed" beside scikit-learn's Nystroem with as many landmarks and LinearSVR or LinearSVC with the
same C, which knows the tasks by one-hot columns. Every fit is a process of its own, so that its
peak memory is known. CPU seconds tell more than seconds on a busy machine. With three sizes or more
a power law is fitted to all but the largest, and checked there. `--predict` predicts rows with a
model of 1,000 tasks, `--cluster` times a search with one and with two Dask workers.
`benchmarks/load_history.py` asks for the accuracy on real data.
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
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC, LinearSVR

import kernelhood as kh

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
    own |= {"operator": kh.Landmarks(rank)} | settings
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
    if what == "prediction":
        return predict_rows(n_samples, rank)
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
                if len(sizes) > 2:
                    what = f"{name} at {sizes[-1]} over what smaller sizes say"
                    exponents.append([kind, what, checked(sizes, taken)])
        ratios = [found[n, "kernelhood"]["cpu"] / found[n, "Nystroem"]["cpu"] for n in sizes]
        exponents.append([kind, "times Nystroem's CPU at the largest N", ratios[-1]])
    print_table(f"Tasks of {size}, rank {rank}", HEAD, rows)
    print_table("Growth with N", ["kind", "of", "exponent or ratio"], exponents)


def checked(sizes: list[int], taken: list[float]) -> float:
    """Return what was taken at the largest size over what a power law of the others says."""
    p, c = np.polyfit(np.log(sizes[:-1]), np.log(taken[:-1]), 1)
    return float(taken[-1] / np.exp(c + p * np.log(sizes[-1])))


def print_prediction(n_rows: int, rank: int) -> None:
    """Print time and peak memory of predicting rows in blocks, for two numbers of them."""
    rows = []
    for n in (n_rows // 10, n_rows):
        found = in_a_process("prediction", "regression", n, rank, SIZE)
        rows.append([n, found["seconds"], found["cpu"], found["added"], found["results"]])
    head = ["rows", "seconds", "CPU", "MB above the rows", "MB of labels and results"]
    print_table("Prediction, 1,000 tasks", head, rows)


def predict_rows(n_rows: int, rank: int) -> dict[str, Any]:
    X, y, task = make_tasks(20_000, 20)
    model = kh.MTONMKLRegressor(
        kernels="paper",
        relation="mixed",
        formulation="corrected",
        beta=BETA,
        operator=kh.Landmarks(rank),
        verbose=1,
    ).fit(X, y, task=task)
    rng = np.random.default_rng(1)
    new, of = rng.normal(size=(n_rows, N_FEATURES)), rng.integers(0, 1000, n_rows)
    before, begin, cpu = peak_megabytes(), time.perf_counter(), time.process_time()
    model.predict(new, task=of)
    return {
        "seconds": time.perf_counter() - begin,
        "cpu": time.process_time() - cpu,
        "added": max(0.0, peak_megabytes() - before),
        "results": n_rows * 8 * 4 / 2**20,
    }


def print_cluster() -> None:
    """Print how much faster two Dask workers on loopback are than one."""
    from distributed import LocalCluster

    X, y, task = make_tasks(4_000, 100)
    grid = {"C": [0.1, 1.0, 10.0], "beta": [0.01, 0.1, 1.0]}
    search = kh.KernelSearchCV(
        kh.MTONMKLRegressor(kernels="paper", relation="mixed"), grid, cv=4, n_jobs=-1, refit=False
    )
    seconds = []
    for n_workers in (1, 2):
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, host="127.0.0.1") as cluster,
            kh.parallel.on_cluster(cluster.scheduler_address),
        ):
            search.fit(X[:300], y[:300], task=task[:300])  # workers import and compile
            begin = time.perf_counter()
            search.fit(X, y, task=task)
            seconds.append(time.perf_counter() - begin)
    rows = [[1, seconds[0], 1.0], [2, seconds[1], seconds[0] / seconds[1]]]
    print_table("A search on Dask workers", ["workers", "seconds", "speed-up"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 50_000])
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--task-size", type=int, default=SIZE)
    parser.add_argument("--kinds", nargs="+", default=["regression", "classification"])
    parser.add_argument("--predict", type=int, help="how many rows to predict")
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        what, kind, *numbers = given.one
        print(json.dumps(run_one(what, kind, *map(int, numbers))))
    elif given.predict:
        print_prediction(given.predict, given.rank)
    elif given.cluster:
        print_cluster()
    else:
        print_sizes(given.kinds, given.sizes, given.rank, given.task_size)


if __name__ == "__main__":
    main()
