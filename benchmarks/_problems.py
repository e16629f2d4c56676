"""Problems that the benchmarks share."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_regression

import kernelhood as kh
from kernelhood.losses import DualTerms, epsilon_insensitive, hinge
from kernelhood.solvers.mkl import Solution, solve_mkl
from kernelhood.solvers.penalty import Penalty

DIGITS_3_AND_8 = 357


def classification(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X and signs of the named problem."""
    if name == "digits 3/8":
        X, y = load_digits(return_X_y=True)
        rows = np.flatnonzero(np.isin(y, [3, 8]))[:n]
        return X[rows] / 16.0, np.where(y[rows] == 8, 1.0, -1.0)
    X, y = make_classification(n, n_features=20, n_informative=8, flip_y=0.1, random_state=0)
    return X, 2.0 * y - 1.0


def regression(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X and standardised targets of the named problem."""
    if name == "digits 3/8":
        X, sign = classification(name, n)
        y = X[:, 20:44].sum(axis=1) + sign
    else:
        X, y = make_regression(n, n_features=20, n_informative=8, noise=10.0, random_state=0)
        y = y + 0.2 * y.std() * X[:, 0] ** 2
    return X, (y - y.mean()) / y.std()


def dual_terms(kind: str, y: np.ndarray, C: float) -> DualTerms:
    """Return the loss of a classification or regression problem."""
    penalty = np.full(len(y), C)
    return hinge(y, penalty) if kind == "SVC" else epsilon_insensitive(y, penalty, 0.1)


def trace_price(Ks: np.ndarray, beta: float) -> Penalty:
    """Return the penalty of the `corrected` formulation."""
    d = np.einsum("mii->m", Ks)
    return Penalty(beta * d, np.zeros((len(d), len(d))), np.zeros_like(d), 0.0)


def beta_for_weight(Ks: np.ndarray, terms: DualTerms, total: float) -> tuple[float, Solution]:
    """Return the beta whose solution has the given total weight, and that solution."""
    low, high = -40.0, 20.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        found = solve_mkl(Ks, terms, trace_price(Ks, 2.0**middle))
        if abs(np.log(max(found.weights.sum(), 1e-12) / total)) < 0.03:
            break
        low, high = (middle, high) if found.weights.sum() > total else (low, middle)
    return 2.0**middle, found


def bank_stack(X: np.ndarray) -> np.ndarray:
    """Return the stack of the default bank."""
    return kh.default_bank()(X)
