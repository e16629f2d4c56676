"""What the estimators give as they come, beside other settings: test errors without any search.

    python benchmarks/defaults.py [REGIME ...] [--runs 2]

A column for each setting of `SETTINGS`, a row for each regime of `_regimes.py`: the error is the
share of squared error that is left of the task means' (regression), or of wrong classes. Sets
other than the synthetic and the bundled ones are read from the data home, KERNELHOOD_DATA; without
it they are left out. The last columns are the best error of the row, and that of the task means or
majority classes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from _measure import print_table
from _regimes import REGIMES, Split, error, split, without_inputs

import kernelhood as kh
from kernelhood.paper.protocol import CLASSIFICATION

WEIGHTS, MIXED = {"relation": "independent"}, {"relation": "mixed"}
NORMALIZED, CORRECTED = {"formulation": "normalized"}, {"formulation": "corrected"}
SETTINGS: dict[str, dict[str, Any]] = {
    "paper's": {"kernels": "paper", **WEIGHTS, **NORMALIZED},
    "w small C1": {"kernels": "small", **WEIGHTS, **NORMALIZED},
    "w auto C1": {"kernels": "auto", **WEIGHTS, **NORMALIZED},
    "w auto b.01": {"kernels": "auto", **WEIGHTS, **CORRECTED, "beta": 1e-2},
    "m small C1": {"kernels": "small", **MIXED, **NORMALIZED},
    "m auto C1": {"kernels": "auto", **MIXED, **NORMALIZED},
    "m auto w.002": {"kernels": "auto", **MIXED, **NORMALIZED, "beta": 1e-3},
    "m auto C4": {"kernels": "auto", **MIXED, **NORMALIZED, "C": 4.0},
    "m small b.01": {"kernels": "small", **MIXED, **CORRECTED, "beta": 1e-2},
    "m auto b.1": {"kernels": "auto", **MIXED, **CORRECTED, "beta": 1e-1},
    "m auto b.03": {"kernels": "auto", **MIXED, **CORRECTED, "beta": 3e-2},
    "m auto b.01": {"kernels": "auto", **MIXED, **CORRECTED, "beta": 1e-2},
    "m auto b.003": {"kernels": "auto", **MIXED, **CORRECTED, "beta": 3e-3},
}


def fitted(setting: dict[str, Any], part: Split) -> Any:
    """Return a model of the setting, fitted to the training rows."""
    maker = kh.MTONMKLClassifier if part.kind == CLASSIFICATION else kh.MTONMKLRegressor
    train = part.train
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return maker(**setting).fit(part.X[train], part.y[train], task=part.task[train])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("regimes", nargs="*", default=list(REGIMES), metavar="REGIME")
    parser.add_argument("--runs", type=int, default=2, help="splits of each regime")
    given = parser.parse_args()
    rows, seconds = [], np.zeros(len(SETTINGS))
    for name in given.regimes:
        try:
            parts = [split(name, seed) for seed in range(given.runs)]
        except (FileNotFoundError, OSError) as missing:
            print(f"{name}: left out, {missing}")
            continue
        means = []
        for number, setting in enumerate(SETTINGS.values()):
            begun = time.perf_counter()
            means.append(np.mean([error(fitted(setting, part), part) for part in parts]))
            seconds[number] += time.perf_counter() - begun
        guess = np.mean([without_inputs(part) for part in parts])
        rows.append([name, *(f"{one:.3f}" for one in means), f"{min(means):.3f}", f"{guess:.3f}"])
        print(" ".join(rows[-1]), flush=True)
    rows.append(["seconds", *(f"{one:.0f}" for one in seconds), "", ""])
    print_table("Test errors without a search", ["", *SETTINGS, "best", "no inputs"], rows)


if __name__ == "__main__":
    main()
