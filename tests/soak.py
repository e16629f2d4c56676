"""Fit, predict, save and load again and again: does memory stay flat?

    python tests/soak.py --rounds 1000

Every round fits a regressor, a classifier or MT-ONMKL to other data, in one process, predicts, and
goes through a model file. Memory is what the process holds after a garbage collection. It may grow
while code is compiled and caches fill; over the second half of the rounds it may grow by no more
than --allowed megabytes. Needs the extra ``table``.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import kernelhood as kh


def one_round(number: int, folder: Path) -> None:
    kind = ("regression", "classification")[number % 2]
    data = kh.datasets.make_multitask(
        n_tasks=3 + number % 4, n_samples=20 + number % 7, kind=kind, random_state=number
    )
    models = {
        "regression": (kh.KernelhoodRegressor(), kh.MTONMKLRegressor(kernels="small")),
        "classification": (kh.KernelhoodClassifier(), kh.MTONMKLClassifier(kernels="small")),
    }
    model = models[kind][number // 2 % 2].fit(data.X, data.y, task=data.task)
    kh.save(model, folder / "model.skops")
    again = kh.load(folder / "model.skops")
    found = again.predict(data.X, task=data.task)
    assert np.array_equal(found, model.predict(data.X, task=data.task))


def megabytes() -> float:
    """Return the memory that this process holds now, or at most held where only this is known."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * 4096 / 2**20
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--allowed", type=float, default=10.0, help="megabytes of growth")
    options = parser.parse_args()
    held, began = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            one_round(number, Path(folder))
            gc.collect()
            held.append(megabytes())
            if (number + 1) % max(options.rounds // 10, 1) == 0:
                print(f"{number + 1:>6} rounds  {held[-1]:.1f} MB", flush=True)
    half = options.rounds // 2
    growth = held[-1] - held[half]
    seconds = time.perf_counter() - began
    print(
        f"{options.rounds} rounds in {seconds:.0f} s; after half of them {held[half]:.1f} MB, "
        f"at the end {held[-1]:.1f} MB: {growth:+.1f} MB"
    )
    return growth > options.allowed


if __name__ == "__main__":
    sys.exit(main())
