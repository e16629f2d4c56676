"""Time and memory of tasks that share functions, as the number of samples grows.

    python benchmarks/shared_functions.py [--largest 16000]

Twenty regression tasks, ten kernels, N samples in all, to a certified gap of 1e-3. Every size runs
in a process of its own, so that its peak memory is its own. The ratio is to one SVR of scikit-learn
with one Gaussian kernel on all N samples, in the same process. Below the table are the exponents of
N that fit time and memory best.
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

SIZES = (1000, 2000, 4000, 8000, 16000)
N_TASKS = 20
STORAGES = ("float64", "float32")


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def seconds_of(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(n_samples: int, storage: str) -> dict:
    data = kh.datasets.make_multitask(
        N_TASKS, n_samples // N_TASKS, kind="regression", noise=0.1, random_state=0
    )
    settings = {"sharing": "functions", "specific_cost": 2.0, "beta": 2.0**-8, "storage": storage}
    kh.MTONMKLRegressor(**settings).fit(data.X[:60], data.y[:60], task=np.repeat([0, 1, 2], 20))
    kh.MTONMKLRegressor(**settings, cache_size=0.0).fit(
        data.X[:60], data.y[:60], task=np.repeat([0, 1, 2], 20)
    )
    before = megabytes()
    model = kh.MTONMKLRegressor(**settings)
    taken = seconds_of(lambda: model.fit(data.X, data.y, task=data.task))
    peak = megabytes()
    svr = seconds_of(lambda: SVR(C=1.0, gamma=0.05, cache_size=500).fit(data.X, data.y))
    return {
        "N": n_samples,
        "storage": storage,
        "gap": model.dual_gap_,
        "svms": model.n_iter_,
        "seconds": taken,
        "ratio": taken / svr,
        "peak": peak,
        "added": max(peak - before, 1.0),
    }


def in_own_process(n_samples: int, storage: str) -> dict:
    command = [sys.executable, __file__, "--single", str(n_samples), storage]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="largest N")
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
        head = ["N", "gap", "SVMs", "seconds", "peak MiB", "ratio to SVR"]
        table = [
            [
                row["N"],
                f"{row['gap']:.1e}",
                row["svms"],
                f"{row['seconds']:.1f}",
                f"{row['peak']:.0f}",
                row["ratio"],
            ]
            for row in rows
        ]
        print_table(f"Twenty tasks that share functions, storage {storage}", head, table)
        if len(rows) > 1:
            times, memory = ([row[name] for row in rows] for name in ("seconds", "added"))
            print(f"time grows like N^{growth_exponent(sizes, times):.2f}, ", end="")
            print(f"memory beyond the start like N^{growth_exponent(sizes, memory):.2f}\n")


if __name__ == "__main__":
    main()
