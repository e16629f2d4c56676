"""Many rows: time and memory beside scikit-learn's Nystroem and LightGBM.

    python benchmarks/scale.py [--sizes 20000 50000] [--task-size 100] [--kinds regression]
    python benchmarks/scale.py --sizes 20000 100000 400000 --kinds regression
    python benchmarks/scale.py --methods MT-ONMKL "Nystroem, SVM" --rank 100
    python benchmarks/scale.py --predict 1000000
    python benchmarks/scale.py --exact 4000
    python benchmarks/scale.py --cluster

The first form makes tasks of 100 rows with 20 features. `KernelhoodRegressor` or
`KernelhoodClassifier` is compared with `Nystroem` of as many landmarks as ours has used and RidgeCV
or logistic regression, with one-hot tasks, and with LightGBM, 500 trees and the task as a category,
if it is installed. "MT-ONMKL" is MTONMKLRegressor with landmarks, "Nystroem, SVM" its rival. Every
fit is a process of its own, so that its peak memory is known. CPU seconds tell more than seconds on
a busy machine. `--predict` predicts rows with a model of 1,000 tasks, `--exact` compares landmarks
with a dense fit, `--cluster` times a search with one and with two Dask workers.
`benchmarks/load_history.py` asks for the accuracy on real data.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import resource
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from _measure import growth_exponent, print_table
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.svm import LinearSVC, LinearSVR

import kernelhood as kh

SIZE, N_FEATURES, C, EPSILON, BETA = 100, 20, 1.0, 0.1, 0.1
METHODS = ("kernelhood", "Nystroem", "LightGBM")
HEAD = ["kind", "N", "tasks", "what", "seconds", "CPU", "MB", "gap", "rank", "test score"]


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


def one_hot(task: Any, n_tasks: int) -> Any:
    return sparse.csr_matrix(
        (np.ones(len(task)), (np.arange(len(task)), task)), shape=(len(task), n_tasks)
    )


class Ours:
    """The estimators of the first line."""

    def __init__(self, kind: str, rank: int) -> None:
        self.model: Any = kh.KernelhoodRegressor()
        if kind == "classification":
            self.model = kh.KernelhoodClassifier()

    def fit(self, X: Any, y: Any, task: Any) -> dict[str, Any]:
        self.model.fit(X, y, task=task)
        return {"gap": self.model.dual_gap_, "rank": self.model.n_landmarks_}

    def predict(self, X: Any, task: Any) -> Any:
        return self.model.predict(X, task=task)


class MTONMKL(Ours):
    """An SVM of all tasks with ten kernels by landmarks."""

    def __init__(self, kind: str, rank: int) -> None:
        own: dict[str, Any] = {"C": C, "relation": "mixed", "formulation": "corrected"}
        own |= {"kernels": "paper", "beta": BETA, "operator": kh.Landmarks(rank)}
        self.model: Any = kh.MTONMKLRegressor(epsilon=EPSILON, **own)
        if kind == "classification":
            self.model = kh.MTONMKLClassifier(**own)

    def fit(self, X: Any, y: Any, task: Any) -> dict[str, Any]:
        self.model.fit(X, y, task=task)
        return {"gap": self.model.dual_gap_}


class Features:
    """Scikit-learn's landmarks of one kernel, and one-hot tasks."""

    def __init__(self, kind: str, rank: int) -> None:
        self.rank = rank
        self.model: Any = RidgeCV(alphas=(0.1, 1.0, 10.0))
        if kind == "classification":
            self.model = LogisticRegression(C=C, max_iter=200)

    def fit(self, X: Any, y: Any, task: Any) -> dict[str, Any]:
        gamma = 0.5 / X.shape[1]
        self.map = Nystroem(gamma=gamma, n_components=self.rank, random_state=0).fit(X)
        self.n_tasks = int(task.max()) + 1
        self.model.fit(self.features(X, task), y)
        return {"rank": self.rank}

    def features(self, X: Any, task: Any) -> Any:
        both = [sparse.csr_matrix(self.map.transform(X)), one_hot(task, self.n_tasks)]
        return sparse.hstack(both, format="csr")

    def predict(self, X: Any, task: Any) -> Any:
        return self.model.predict(self.features(X, task))


class SVM(Features):
    """The same with a linear SVM."""

    def __init__(self, kind: str, rank: int) -> None:
        super().__init__(kind, rank)
        self.model = LinearSVR(C=C, epsilon=EPSILON, max_iter=1000)
        if kind == "classification":
            self.model = LinearSVC(C=C, loss="hinge", max_iter=1000)


class Boosting:
    """LightGBM, 500 trees, the task as a category."""

    def __init__(self, kind: str, rank: int) -> None:
        import lightgbm

        make = lightgbm.LGBMClassifier if kind == "classification" else lightgbm.LGBMRegressor
        self.model: Any = make(n_estimators=500, n_jobs=1, verbose=-1)

    def fit(self, X: Any, y: Any, task: Any) -> dict[str, Any]:
        self.model.fit(np.column_stack([X, task]), y, categorical_feature=[X.shape[1]])
        return {}

    def predict(self, X: Any, task: Any) -> Any:
        return self.model.predict(np.column_stack([X, task]))


KINDS = {
    "kernelhood": Ours,
    "Nystroem": Features,
    "LightGBM": Boosting,
    "MT-ONMKL": MTONMKL,
    "Nystroem, SVM": SVM,
}


def run_one(what: str, kind: str, n_samples: int, rank: int, size: int) -> dict[str, Any]:
    if what == "prediction":
        return predict_rows(n_samples)
    X, y, task = make_tasks(6 * n_samples // 5, 6 * size // 5)  # every sixth is a test sample
    if kind == "classification":
        y = (y > np.median(y)).astype(int)
    test = np.arange(len(y)) % 6 == 0
    model = KINDS[what](kind, rank)
    begin, cpu = time.perf_counter(), time.process_time()
    found = model.fit(X[~test], y[~test], task[~test])
    found |= {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    predicted = model.predict(X[test], task[test])
    score = 1.0 - np.mean((predicted - y[test]) ** 2) / np.var(y[test])
    if kind == "classification":
        score = np.mean(predicted == y[test])
    return {**found, "score": float(score), "N": int((~test).sum()), "MB": peak_megabytes()}


def in_a_process(*arguments: Any) -> dict[str, Any]:
    """Return what a fit in a process of its own found."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def print_sizes(
    kinds: list[str], sizes: list[int], rank: int, size: int, methods: list[str]
) -> None:
    rows, growth = [], []
    for kind in kinds:
        found = {}
        for n in sizes:
            for what in methods:
                one = found[n, what] = in_a_process(what, kind, n, rank, size)
                rank = one.get("rank", rank)
                cells = [f"{one['seconds']:.1f}", f"{one['cpu']:.1f}", round(one["MB"])]
                gap = f"{one['gap']:.1e}" if "gap" in one else ""
                cells += [gap, one.get("rank", ""), f"{one['score']:.4f}"]
                rows.append([kind, one["N"], one["N"] // size, what, *cells])
                print(rows[-1], flush=True)
        first, *others = methods
        if len(sizes) > 1:
            for name in ("cpu", "MB"):
                taken = [found[n, first][name] for n in sizes]
                growth.append([kind, name, growth_exponent(sizes, taken)])
        for what in others:
            ratio = found[sizes[-1], first]["cpu"] / found[sizes[-1], what]["cpu"]
            growth.append([kind, f"CPU beside {what} at the largest N", ratio])
    print_table(f"Tasks of {size}", HEAD, rows)
    print_table("Growth with N", ["kind", "of", "exponent or ratio"], growth)


def print_prediction(n_rows: int) -> None:
    """Print time and peak memory of predicting rows in blocks, for two numbers of them."""
    rows = []
    for n in (n_rows // 10, n_rows):
        found = in_a_process("prediction", "regression", n, 0, SIZE)
        rows.append([n, found["seconds"], found["cpu"], found["added"], found["results"]])
    head = ["rows", "seconds", "CPU", "MB above the rows", "MB of labels and results"]
    print_table("Prediction, 1,000 tasks", head, rows)


def predict_rows(n_rows: int) -> dict[str, Any]:
    X, y, task = make_tasks(20_000, 20)
    model = kh.KernelhoodRegressor().fit(X, y, task=task)
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


def print_exact(n: int) -> None:
    """Print what landmarks change beside a dense fit to the same rows."""
    X, y, task = make_tasks(2 * n, 100)
    test = np.arange(2 * n) % 2 == 1
    rows = []
    for operator in ("dense", "landmarks"):
        model = kh.KernelhoodRegressor(operator=operator)
        cpu = time.process_time()
        model.fit(X[~test], y[~test], task=task[~test])
        cpu = time.process_time() - cpu
        mean, deviation = model.predict(X[test], task=task[test], return_std=True)
        error = float(np.mean((mean - y[test]) ** 2))
        kept = [model.n_landmarks_, model.approximation_]
        rows.append([operator, cpu, model.log_evidence_, error, float(deviation.mean()), *kept])
    head = ["operator", "CPU", "log evidence", "test MSE", "mean deviation", "landmarks", "kept"]
    print_table(f"{n} rows", head, rows)


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
    parser.add_argument("--rank", type=int, default=300)
    parser.add_argument("--task-size", type=int, default=SIZE)
    parser.add_argument("--kinds", nargs="+", default=["regression", "classification"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(KINDS))
    parser.add_argument("--predict", type=int, help="how many rows to predict")
    parser.add_argument("--exact", type=int, help="how many rows to fit with both operators")
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        what, kind, *numbers = given.one
        print(json.dumps(run_one(what, kind, *map(int, numbers))))
    elif given.predict:
        print_prediction(given.predict)
    elif given.exact:
        print_exact(given.exact)
    elif given.cluster:
        print_cluster()
    else:
        methods = [one for one in given.methods if one != "LightGBM" or find_spec("lightgbm")]
        print_sizes(given.kinds, given.sizes, given.rank, given.task_size, methods)


if __name__ == "__main__":
    main()
