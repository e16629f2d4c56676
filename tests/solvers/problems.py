"""Small problems that the solver tests share."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification

from kernelhood import default_bank
from kernelhood.losses import DualTerms, epsilon_insensitive, hinge
from kernelhood.solvers.penalty import Penalty

LOSSES = ("hinge", "epsilon-insensitive")


def points(n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return X and signs, with some labels flipped."""
    X, y = make_classification(n, n_features=6, n_informative=4, flip_y=0.1, random_state=seed)
    return X, 2.0 * y - 1.0


def dual_terms(loss: str, X: np.ndarray, sign: np.ndarray, C: float) -> DualTerms:
    """Return the terms of a classification or of a regression on the same points."""
    penalty = np.full(len(sign), C)
    if loss == "hinge":
        return hinge(sign, penalty)
    y = X[:, 0] ** 2 + np.sin(X[:, 1]) + 0.3 * sign
    return epsilon_insensitive((y - y.mean()) / y.std(), penalty, 0.1)


def stack(X: np.ndarray) -> np.ndarray:
    """Return the ten kernels of the default bank."""
    return default_bank()(X)


def trace_price(Ks: np.ndarray, a: float, f: float = 0.0) -> Penalty:
    """Return the penalty a d'theta + f/2 theta'G theta of problem (P)."""
    d = np.einsum("mii->m", Ks)
    return Penalty(a * d, f * np.einsum("mij,lij->ml", Ks, Ks), np.zeros_like(d), 0.0)


def simplex(n_kernels: int, total: float = 1.0) -> Penalty:
    """Return the penalty of weights that cost nothing and sum to a total."""
    none = np.zeros(n_kernels)
    return Penalty(none, np.zeros((n_kernels, n_kernels)), np.ones(n_kernels), total)


def feasible(v: np.ndarray, terms: DualTerms) -> bool:
    """Return whether v lies in the box and sums to zero."""
    inside = np.all(v >= terms.lower) and np.all(v <= terms.upper)
    return bool(inside and abs(v.sum()) <= 1e-9 * np.abs(v).sum() + 1e-12)
