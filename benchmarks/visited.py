"""The files of the library that one fit or one search visits.

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
from _measure import print_table

import kernelhood as kh
from kernelhood.search.search import KernelSearchCV

ROOT = Path(kh.__file__).parent
GIVEN = {"kernels": "paper", "sharing": "weights"}
GRID = {"C": [0.5, 2.0]}


def visited(work: Callable[[], Any]) -> dict[str, set[str]]:
    """Return the functions that ran, by file."""
    found: dict[str, set[str]] = {}

    def watch(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)):
            name = str(Path(code.co_filename).relative_to(ROOT))
            found.setdefault(name, set()).add(code.co_qualname)

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def cases() -> dict[str, Callable[[], Any]]:
    """Return what is measured: the default, and the paper's model, fitted and searched."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], 30)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=90) > 0.0, 1, -1)
    found: dict[str, Callable[[], Any]] = {}
    for name, settings in (("default", {}), ("paper, independent tasks", GIVEN)):
        model = kh.MTONMKLClassifier(**settings)
        search = KernelSearchCV(kh.MTONMKLClassifier(**settings), GRID, cv=3)
        found[f"fit, {name}"] = lambda model=model: model.fit(X, y, task=task)
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
            found = visited(work)
        rows.append([name, len(found), sum(map(len, found.values()))])
        if arguments.list:
            own = [[file, len(names)] for file, names in sorted(found.items())]
            print_table(name, ["file", "functions"], own)
    print_table("Files that are visited", ["what", "files", "functions"], rows)


if __name__ == "__main__":
    main()
