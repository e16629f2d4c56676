"""Small problems that the solver tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from kernelhood import default_bank
from kernelhood.losses import BoxLoss, EpsilonInsensitive, Hinge
from kernelhood.operators import one_task
from kernelhood.operators.base import Combined
from kernelhood.penalties import Fixed, Linear, Penalty, Quadratic, Simplex
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, Solution

LOSSES = ("hinge", "epsilon-insensitive")


def points(n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return X and signs, with some labels flipped."""
    X, y = make_classification(n, n_features=6, n_informative=4, flip_y=0.1, random_state=seed)
    return X, 2.0 * y - 1.0


def loss_of(kind: str, X: np.ndarray, sign: np.ndarray, C: float) -> BoxLoss:
    """Return the loss of a classification or of a regression on the same points."""
    cost = np.full(len(sign), C)
    if kind == "hinge":
        return Hinge().box(sign, cost)
    y = X[:, 0] ** 2 + np.sin(X[:, 1]) + 0.3 * sign
    return EpsilonInsensitive(0.1).box((y - y.mean()) / y.std(), cost)


def stack(X: np.ndarray) -> np.ndarray:
    """Return the ten kernels of the default bank."""
    return default_bank()(X)


def gram(Ks: np.ndarray) -> np.ndarray:
    """Return the Frobenius products of the kernels."""
    return np.einsum("mij,lij->ml", Ks, Ks)


def trace_price(Ks: np.ndarray, a: float, f: float = 0.0) -> Linear | Quadratic:
    """Return the penalty a d'theta + f/2 theta'G theta of problem (P)."""
    d = np.einsum("mii->m", Ks)
    return Quadratic(a * d, f * gram(Ks)) if f else Linear(a * d)


def simplex(n_kernels: int, total: float = 1.0) -> Simplex:
    """Return the penalty of weights that cost nothing and sum to a total."""
    return Simplex(np.ones(n_kernels), total)


def combination(Ks: np.ndarray, weights: np.ndarray, ridge: float = 0.0) -> Combined:
    """Return the combination of the kernels of one task, with no row computed yet."""
    kernels = one_task(Ks)
    return kernels.combined(weights, ridge, kernels.row_buffer())


def block_of(Ks: np.ndarray, loss: BoxLoss) -> Block:
    """Return the SVM of one task."""
    return Block(one_task(Ks), loss)


def solve_task(Ks: np.ndarray, loss: BoxLoss, penalty: Penalty, **settings: Any) -> Solution:
    """Solve the problem of one task."""
    return solve(Problem([block_of(Ks, loss)], penalty), **settings)


def solve_fixed(Ks: np.ndarray, loss: BoxLoss, weights: np.ndarray, **settings: Any) -> Solution:
    """Solve the SVM of one task with weights that are given."""
    return solve_task(Ks, loss, Fixed(weights), **settings)


def feasible(v: np.ndarray, loss: BoxLoss) -> bool:
    """Return whether v lies in the box and sums to zero."""
    inside = np.all(v >= loss.lower) and np.all(v <= loss.upper)
    return bool(inside and abs(v.sum()) <= 1e-9 * np.abs(v).sum() + 1e-12)
