"""Problems that the benchmarks share."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_regression

import kernelhood as kh
from kernelhood.losses import BoxLoss, EpsilonInsensitive, Hinge
from kernelhood.operators import one_task
from kernelhood.penalties import Linear, Penalty
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, Solution

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


def box_loss(kind: str, y: np.ndarray, C: float) -> BoxLoss:
    """Return the loss of a classification or regression problem."""
    cost = np.full(len(y), C)
    return (Hinge() if kind == "SVC" else EpsilonInsensitive(0.1)).box(y, cost)


def trace_price(Ks: np.ndarray, beta: float) -> Penalty:
    """Return the penalty of the `corrected` formulation."""
    return Linear(beta * np.einsum("mii->m", Ks))


def certified_fit(Ks: np.ndarray, loss: BoxLoss, penalty: Penalty) -> Solution:
    """Return the solution of one task whose kernels are given."""
    return solve(Problem([Block(one_task(Ks), loss)], penalty))


def beta_for_weight(Ks: np.ndarray, loss: BoxLoss, total: float) -> tuple[float, Solution]:
    """Return the beta whose solution has the given total weight, and that solution."""
    low, high = -40.0, 20.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        found = certified_fit(Ks, loss, trace_price(Ks, 2.0**middle))
        if abs(np.log(max(found.weights.sum(), 1e-12) / total)) < 0.03:
            break
        low, high = (middle, high) if found.weights.sum() > total else (low, middle)
    return 2.0**middle, found


def bank_stack(X: np.ndarray) -> np.ndarray:
    """Return the stack of the default bank."""
    return kh.default_bank()(X)
