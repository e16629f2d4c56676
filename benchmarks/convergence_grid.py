"""The certified gap and its price at every point of the paper's range of C and beta.

    python benchmarks/convergence_grid.py

For n = 400 samples and the ten kernels, hinge and epsilon-insensitive: the largest gap, the SVMs
and the time of every fit, and the slowest fit as a ratio to the median one.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _measure import print_table
from _problems import bank_stack, box_loss, certified_fit, classification, regression, trace_price
from threadpoolctl import threadpool_limits


def measure(kind: str, n: int, step: int) -> list[object]:
    X, y = (classification if kind == "SVC" else regression)("make", n)
    Ks = bank_stack(X)
    seconds, gaps, solved = [], [], []
    for c in range(-13, 14, step):
        loss = box_loss(kind, y, 2.0**c)
        for b in range(0, 41, 2 * step):
            penalty = trace_price(Ks, 2.0**b)
            start = time.perf_counter()
            found = certified_fit(Ks, loss, penalty)
            seconds.append(time.perf_counter() - start)
            gaps.append(found.gap)
            solved.append(found.n_iter)
    slowest = float(np.max(seconds) / np.median(seconds))
    return [kind, len(gaps), f"{max(gaps):.1e}", float(np.mean(solved)), max(solved), slowest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--step", type=int, default=1, help="of the exponent of C")
    arguments = parser.parse_args()
    head = ["loss", "fits", "largest gap", "mean SVMs", "most SVMs", "slowest / median"]
    with threadpool_limits(1):
        rows = [measure(kind, arguments.samples, arguments.step) for kind in ("SVC", "SVR")]
    print_table(f"C in 2^-13..2^13, beta in 2^0..2^40, n = {arguments.samples}", head, rows)


if __name__ == "__main__":
    main()
