"""Kernel learning against one scikit-learn SVM, as ratios measured in turns in one run.

    python benchmarks/fit_speed.py [--quick]

One BLAS thread, medians of 7 repeats after a warm-up fit, processor time: other work on the machine
counts little.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from functools import partial

import numpy as np
from _measure import geometric_mean, growth_exponent, print_table
from _measure import median_times as times_in_turns
from _problems import (
    DIGITS_3_AND_8,
    bank_stack,
    beta_for_weight,
    box_loss,
    certified_fit,
    classification,
    regression,
    trace_price,
)
from peers import peer_fits
from sklearn.metrics import pairwise
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

import kernelhood as kh

TOTALS = (0.1, 1.0, 10.0, 100.0)
median_times = partial(times_in_turns, clock=time.process_time)


def certified_fits(sizes: list[int]) -> None:
    """One task, ten kernels, the stack given, against one SVM on the averaged kernel."""
    rows = []
    for kind, reader in (("SVC", classification), ("SVR", regression)):
        for name in ("make", "digits 3/8"):
            for n in [n for n in sizes if name == "make" or n <= DIGITS_3_AND_8 + 50]:
                X, y = reader(name, n)
                Ks, ratios = bank_stack(X), []
                K, loss = Ks.mean(axis=0), box_loss(kind, y, 1.0)
                for total in TOTALS:
                    penalty = trace_price(Ks, beta_for_weight(Ks, loss, total)[0])
                    one = {"C": total, "kernel": "precomputed"}
                    reference = SVC(**one) if kind == "SVC" else SVR(epsilon=0.1, **one)
                    ours, theirs = median_times(
                        lambda p=penalty, Ks=Ks, loss=loss: certified_fit(Ks, loss, p),
                        lambda r=reference, K=K, y=y: r.fit(K, y),
                    )
                    ratios.append(ours / theirs)
                rows.append([kind, name, len(y), *ratios, geometric_mean(ratios)])
    head = ["loss", "data", "n", *(f"weight {total:g}" for total in TOTALS), "mean"]
    print_table("Certified fit (gap <= 1e-3) / one SVM at the matching C", head, rows)


def naive_stack(X: np.ndarray) -> np.ndarray:
    """Return the ten kernels as a user would write them with scikit-learn."""
    linear, poly = pairwise.linear_kernel(X), pairwise.polynomial_kernel(X, degree=2, gamma=1)
    gaussians = [pairwise.rbf_kernel(X, gamma=0.5 / 4.0**k) for k in range(1, 9)]
    stack = [linear, poly, *gaussians]
    for K in stack:
        norms = np.sqrt(np.diag(K))
        K /= norms[:, None] * norms
    return np.array(stack)


def whole_estimators() -> None:
    """From X to fitted, against the loop that a user would write."""
    rows = []
    for n_tasks, n in ((8, 80), (29, 32)):
        parts = [classification("make", n)] * n_tasks
        X, y = np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])
        task = np.repeat(np.arange(n_tasks), n)
        models = [
            kh.MTONMKLClassifier(kernels="paper"),
            kh.MTONMKLClassifier(kernels="paper", formulation="corrected", beta=1.0 / 16.0),
        ]

        def loop(X=X, y=y, task=task):
            for name in np.unique(task):
                own = task == name
                SVC(kernel="precomputed").fit(naive_stack(X[own]).mean(axis=0), y[own])

        for model in models:
            ours, theirs = median_times(lambda X=X, y=y, t=task, m=model: m.fit(X, y, task=t), loop)
            rows.append([f"{n_tasks} x {n}", model.formulation, ours / theirs])
    title = "Whole estimator / ten pairwise kernels averaged, one SVC a task"
    print_table(title, ["tasks", "formulation", "ratio"], rows)


def kernel_evaluation(sizes: list[int]) -> None:
    """Ten kernels at once, against scikit-learn's one by one."""
    rows = []
    for n in sizes:
        X = np.random.default_rng(0).normal(size=(n, 20))
        bank = kh.default_bank()
        error = float(np.max(np.abs(bank(X) - naive_stack(X))))
        ours, theirs = median_times(
            lambda X=X, bank=bank: bank(X), lambda X=X: naive_stack(X), repeats=3
        )
        tracemalloc.start()
        bank(X)
        peak = tracemalloc.get_traced_memory()[1] / (8 * n * n) - 10
        tracemalloc.stop()
        rows.append([n, theirs / ours, f"{error:.1e}", peak])
    head = ["n", "times faster", "largest difference", "matrices beyond the stack"]
    print_table("Kernel evaluation", head, rows)


def growth(largest: int) -> None:
    """How the time grows with samples, tasks and kernels."""
    rows = []
    sizes = [n for n in (250, 500, 1000, 2000, 4000) if n <= largest]
    fits, predictions = [], []
    for n in sizes:
        X, y = classification("make", n)
        model = kh.MTONMKLClassifier(kernels="paper").fit(X, y)
        fit, predict = median_times(
            lambda X=X, y=y, m=model: m.fit(X, y), lambda X=X, m=model: m.predict(X), repeats=3
        )
        fits.append(fit)
        predictions.append(predict)
    rows.append(["fit, samples", sizes, growth_exponent(sizes, fits)])
    rows.append(["predict, samples", sizes, growth_exponent(sizes, predictions)])
    counts, seconds = [1, 10, 100], []
    for count in counts:
        X, y = classification("make", 80)
        X, y, task = np.tile(X, (count, 1)), np.tile(y, count), np.repeat(np.arange(count), 80)
        model = kh.MTONMKLClassifier(kernels="paper")
        seconds += median_times(lambda X=X, y=y, t=task, m=model: m.fit(X, y, task=t), repeats=3)
    rows.append(["fit, tasks", counts, growth_exponent(counts, seconds)])
    banks, seconds = [5, 10, 20, 40], []
    X, y = classification("make", 400)
    for count in banks:
        spreads = 2.0 ** np.linspace(1, 8, count)
        model = kh.MTONMKLClassifier(kernels=[kh.Gaussian(s) for s in spreads])
        seconds += median_times(lambda m=model: m.fit(X, y), repeats=3)
    rows.append(["fit, kernels", banks, growth_exponent(banks, seconds)])
    print_table("Growth: exponents of the fitted power laws", ["what", "sizes", "exponent"], rows)


def start_up() -> None:
    """Import and first fit, with nothing compiled yet and with compiled code on disk."""
    code = (
        "import time; a = time.perf_counter(); import kernelhood as kh, numpy as np;"
        "b = time.perf_counter(); kh.MTONMKLClassifier().fit(np.eye(8), [0, 1] * 4);"
        "print(b - a, time.perf_counter() - b)"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for process in ("new installation", "second process"):
            out = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
            rows.append([process, *map(float, out.stdout.split())])
    print_table("Start-up, seconds", ["process", "import", "first fit"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="no more than 1000 samples")
    largest = 1000 if parser.parse_args().quick else 4000
    with threadpool_limits(1):
        certified_fits([n for n in (80, 400, 1000, 2000) if n <= largest])
        whole_estimators()
        kernel_evaluation([n for n in (1000, 2000, 4000) if n <= largest])
        growth(largest)
        start_up()
        peer_fits()


if __name__ == "__main__":
    main()
