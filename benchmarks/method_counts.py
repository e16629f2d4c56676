"""How many SVMs each method solves for its slowest task, over the paper's range of C.

    python benchmarks/method_counts.py

Digits as eight pairs, 72 training images each, the default bank and gap.
"""

from __future__ import annotations

import warnings

import numpy as np
from _measure import print_table
from threadpoolctl import threadpool_limits

import kernelhood as kh
from kernelhood.estimators import METHODS


def main() -> None:
    data = kh.datasets.load_digits_tasks()
    train = data.sample_id % 5 == 0
    X, task = data.X[train], data.task[train]
    classes = data.y[train]
    numbers = X[:, 20:44].sum(axis=1)
    rows = []
    for name, kinds in METHODS.items():
        for kind, y in zip(kinds, (classes, numbers), strict=True):
            models = [kind(C=2.0**k).fit(X, y, task=task) for k in range(-13, 14, 2)]
            counts = [model.n_iter_ for model in models]
            gap = max(model.dual_gap_ for model in models)
            rows.append([name, kind.__name__, float(np.median(counts)), max(counts), f"{gap:.1e}"])
    print_table(
        "SVMs of the slowest task", ["method", "class", "median", "most", "largest gap"], rows
    )


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("error")
        main()
