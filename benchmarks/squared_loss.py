"""Squared loss against scikit-learn's KernelRidge and himalaya's multiple-kernel ridge, in one run.

    python benchmarks/squared_loss.py [--quick]

One task, ten kernels, one BLAS thread, medians of repeats in turns after a warm-up, in seconds of
the processor, which what else runs on a machine changes less than those of the clock. himalaya is
in the extra `peers`; it chooses weights by cross-validation, so that its weights are valued by our
objective at the best multiple of them, and both functions by their error on other points.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from _measure import median_times, print_table
from scipy.optimize import minimize_scalar
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_limits

import kernelhood as kh

C, BETA = 1.0, 0.01
N_TEST = 1000


def points(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy targets that a few of five columns explain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)


def model(**settings: object) -> kh.MTONMKLRegressor:
    """Return the regressor that is timed."""
    return kh.MTONMKLRegressor(loss="squared", C=C, beta=BETA, **settings)


def against_kernel_ridge(n: int, repeats: int) -> None:
    """Print the ratio with the kernels' evaluation on both sides, and with matrices given."""
    X, y = points(n)
    bank = kh.default_bank()
    Ks = bank(X)
    rows_of = np.arange(n)[:, None]
    given = [kh.Precomputed(K) for K in Ks]
    mean = Ks.mean(axis=0)
    rows = []
    for formulation in ("corrected", "normalized"):
        ours, theirs, held, alone = median_times(
            lambda f=formulation: model(kernels=bank, formulation=f).fit(X, y),
            lambda: KernelRidge(kernel="precomputed").fit(bank(X).mean(axis=0), y),
            lambda f=formulation: model(kernels=given, formulation=f).fit(rows_of, y),
            lambda: KernelRidge(kernel="precomputed").fit(mean, y),
            repeats=repeats,
            clock=time.process_time,
        )
        found = model(kernels=bank, formulation=formulation).fit(X, y)
        rows.append([formulation, ours, theirs, ours / theirs, held / alone, found.n_iter_])
    head = ["formulation", "ours s", "ridge s", "ratio", "ratio, matrices given", "systems"]
    print_table(f"Squared loss / KernelRidge on the averaged kernel, n = {n}", head, rows)


def objective(Ks: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Return problem (P) at the best multiple of the weights, computed outside the library."""
    traces = np.trace(Ks, axis1=1, axis2=2)
    values, vectors = np.linalg.eigh(_centred(np.tensordot(weights, Ks, 1)))
    squares = (vectors.T @ (y - y.mean())) ** 2

    def at(log_scale: float) -> float:
        scale = float(np.exp(log_scale))
        fit = 0.5 * float(np.sum(squares / (np.maximum(scale * values, 0.0) + 1.0 / C)))
        return fit + BETA * scale * float(traces @ weights)

    start = -np.log(max(float(weights.sum()), 1e-300))
    return float(minimize_scalar(at, bracket=(start - 2.0, start + 2.0)).fun)


def _centred(K: np.ndarray) -> np.ndarray:
    rows = K.mean(axis=1)
    return K - rows - rows[:, None] + rows.mean()


def against_himalaya(n: int) -> None:
    """Print objective, error on other points and seconds of both."""
    try:
        from himalaya.kernel_ridge import MultipleKernelRidgeCV
    except ImportError as error:
        print(f"\nhimalaya skipped: {error}; pip install -e '.[peers]'")
        return
    X, y = points(n)
    X_test, y_test = points(N_TEST, seed=1)
    bank = kh.default_bank()
    Ks, cross, middle = bank(X), bank(X_test, X), float(y.mean())
    rows = []
    for solver in ("hyper_gradient", "random_search"):
        theirs = MultipleKernelRidgeCV(
            kernels="precomputed", solver=solver, solver_params={"progress_bar": False}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            theirs.fit(Ks, y - middle)
            seconds = time.perf_counter() - start
            error = float(np.mean((theirs.predict(cross) + middle - y_test) ** 2))
        weights = np.exp(np.asarray(theirs.deltas_, dtype=np.float64)).ravel()
        rows.append([f"himalaya {solver}", objective(Ks, y, weights), error, seconds])
    given, places = [kh.Precomputed(K) for K in Ks], np.arange(n)[:, None]
    start = time.perf_counter()
    ours = model(kernels=given, formulation="corrected").fit(places, y)
    seconds = time.perf_counter() - start
    values = np.tensordot(ours.weights_[0], cross, 1)[:, ours.support_[0]] @ ours.dual_coef_[0]
    error = float(np.mean((values + ours.intercept_[0] - y_test) ** 2))
    rows.append(["kernelhood corrected", objective(Ks, y, ours.weights_[0]), error, seconds])
    head = ["method", "objective", "squared error", "seconds"]
    print_table(f"Multiple-kernel ridge, matrices given, n = {n}", head, rows)
    last = rows[-1]
    for name, value, _, taken in rows[:-1]:
        print(f"\n{name}: objective ratio {last[1] / value:.4f}, time ratio {last[3] / taken:.4f}")


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples and repeats")
    quick = parser.parse_args().quick
    with threadpool_limits(limits=1):
        against_kernel_ridge(500 if quick else 2000, 1 if quick else 3)
        against_himalaya(200 if quick else 500)


if __name__ == "__main__":
    main()
