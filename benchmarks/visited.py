"""The files of the library that a fit, a prediction or a search visits, and how deep it goes.

    python benchmarks/visited.py [--list]

A file counts where one of its functions runs between the call and its return; what runs when the
library is imported does not. With --list every file is printed with the number of its functions
that ran.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _measure import print_table

import kernelhood as kh
from kernelhood.search.search import KernelSearchCV
from kernelhood.tables import fit_table

ROOT = Path(kh.__file__).parent
GIVEN = {"kernels": "paper", "relation": "independent"}
GRID = {"C": [0.5, 2.0]}


def visited(work: Callable[[], Any]) -> tuple[dict[str, set[str]], int]:
    """Return the functions that ran, by file, and how many of them called each other at most."""
    found: dict[str, set[str]] = {}
    depth = deepest = 0

    def watch(frame: Any, event: str, argument: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT)):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            name = str(Path(code.co_filename).relative_to(ROOT))
            found.setdefault(name, set()).add(code.co_qualname)
        elif event == "return":
            depth -= 1

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found, deepest


def cases() -> dict[str, Callable[[], Any]]:
    """Return what is measured: the estimator of the first line, and MT-ONMKL."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], 30)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=90) > 0.0, 1, -1)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(shop=task, sold=X[:, 0])
    first = kh.KernelhoodClassifier().fit(X, y, task=task)
    found: dict[str, Callable[[], Any]] = {
        "fit, KernelhoodRegressor": lambda: kh.KernelhoodRegressor().fit(X, X[:, 0], task=task),
        "fit, KernelhoodClassifier": lambda: kh.KernelhoodClassifier().fit(X, y, task=task),
        "predict, KernelhoodClassifier": lambda: first.predict(X, task=task),
        "fit_table": lambda: fit_table(table, task="shop", target="sold"),
    }
    for name, settings in (("MT-ONMKL", {}), ("MT-ONMKL, independent tasks", GIVEN)):
        model = kh.MTONMKLClassifier(**settings)
        search = KernelSearchCV(kh.MTONMKLClassifier(**settings), GRID, cv=3)
        found[f"fit, {name}"] = lambda model=model: model.fit(X, y, task=task)
        fitted = kh.MTONMKLClassifier(**settings).fit(X, y, task=task)
        found[f"predict, {name}"] = lambda fitted=fitted: fitted.predict(X, task=task)
        found[f"search, {name}"] = lambda search=search: search.fit(X, y, task=task)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the files, too")
    arguments = parser.parse_args()
    rows = []
    for name, work in cases().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()  # what is compiled, or kept after a first call
            found, depth = visited(work)
        rows.append([name, len(found), sum(map(len, found.values())), depth])
        if arguments.list:
            own = [[file, len(names)] for file, names in sorted(found.items())]
            print_table(name, ["file", "functions"], own)
    print_table("Files that are visited", ["what", "files", "functions", "depth"], rows)


if __name__ == "__main__":
    main()
