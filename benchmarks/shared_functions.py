"""Time and memory of tasks that share functions, as the number of samples grows.

    python benchmarks/shared_functions.py [--largest 16000] [--load]

Twenty regression tasks, ten kernels, N samples in all, to a certified gap of 1e-3. Every size runs
in a process of its own, so that its peak memory is its own. The ratio is to one SVR of scikit-learn
with one Gaussian kernel on all N samples, in the same process; the CPU ratio is the same in seconds
of the processor, which other work disturbs less. Below the table are the exponents of N that fit
time and memory best. With --load the training part of the first run on the Load data (20
tasks of 400) is fitted as well; its files are looked for where `kernelhood data` finds them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from _measure import growth_exponent, print_table
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

import kernelhood as kh
from kernelhood.paper.protocol import load, run_seed, split_rows

SIZES = (1000, 2000, 4000, 8000, 16000)
N_TASKS = 20
STORAGES = ("float64", "float32")


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def seconds_of(function) -> tuple[float, float]:
    """Return the time that a call takes, on the wall and of the processor."""
    start, used = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - start, time.process_time() - used


def tasks_of(n_samples: int) -> tuple:
    """Return X, y and task of synthetic tasks, or of Load for n_samples = 0."""
    if n_samples:
        data = kh.datasets.make_multitask(
            N_TASKS, n_samples // N_TASKS, kind="regression", noise=0.1, random_state=0
        )
        return data.X, data.y, data.task
    seed = run_seed(0, "load", 0)
    data = load("load", None, seed)
    rows = split_rows(data.task, data.sample_id, None, train_fraction=0.2, seed=seed).train
    return data.X[rows], data.y[rows], data.task[rows]


def measure(n_samples: int, storage: str) -> dict:
    X, y, task = tasks_of(n_samples)
    settings = {
        "formulation": "corrected",
        "relation": kh.relations.SharedFunctions(specific_cost=2.0),
        "beta": 2.0**-8,
    }
    for cache_size in (1000.0, 0.0):  # what is compiled for either kind of kernels
        held = kh.Dense(storage, cache_size)
        small = kh.MTONMKLRegressor(kernels="paper", **settings, operator=held)
        small.fit(X[:60], y[:60], task=np.repeat([0, 1, 2], 20))
    before = megabytes()
    held = kh.Dense(dtype=storage)
    model = kh.MTONMKLRegressor(kernels="paper", **settings, operator=held)
    taken, used = seconds_of(lambda: model.fit(X, y, task=task))
    peak = megabytes()
    svr, svr_used = seconds_of(lambda: SVR(C=1.0, gamma=0.05, cache_size=500).fit(X, y))
    return {
        "N": len(y),
        "storage": storage,
        "gap": model.dual_gap_,
        "svms": model.n_iter_,
        "seconds": taken,
        "ratio": taken / svr,
        "cpu_ratio": used / svr_used,
        "peak": peak,
        "added": max(peak - before, 1.0),
    }


def in_own_process(n_samples: int, storage: str) -> dict:
    command = [sys.executable, __file__, "--single", str(n_samples), storage]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_sizes(title: str, rows: list[dict]) -> None:
    head = ["N", "gap", "SVMs", "seconds", "peak MiB", "ratio to SVR", "CPU ratio"]
    table = [
        [
            row["N"],
            f"{row['gap']:.1e}",
            row["svms"],
            f"{row['seconds']:.1f}",
            f"{row['peak']:.0f}",
            row["ratio"],
            row["cpu_ratio"],
        ]
        for row in rows
    ]
    print_table(title, head, table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="largest N")
    parser.add_argument("--load", action="store_true", help="the Load data, too")
    parser.add_argument("--single", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.single:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(json.dumps(measure(int(arguments.single[0]), arguments.single[1])))
        return
    for storage in STORAGES:
        sizes = [size for size in SIZES if size <= arguments.largest]
        rows = [in_own_process(size, storage) for size in sizes]
        print_sizes(f"Twenty tasks that share functions, storage {storage}", rows)
        if len(rows) > 1:
            times, memory = ([row[name] for row in rows] for name in ("seconds", "added"))
            print(f"time grows like N^{growth_exponent(sizes, times):.2f}, ", end="")
            print(f"memory beyond the start like N^{growth_exponent(sizes, memory):.2f}\n")
    if arguments.load:
        print_sizes("Load's twenty tasks of 400", [in_own_process(0, "float64")])


if __name__ == "__main__":
    main()
