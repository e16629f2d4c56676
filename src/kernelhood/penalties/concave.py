"""A reward for concentrated kernels at a fixed trace: ``R = -(reward/2) weights'G weights``.

`normalized`: the objective is convex minus convex. Weights are stationary where they solve the
convex problem with the tangent of R at these weights in its place, a simplex with the prices
``-reward G weights``: the gap of that problem is the certificate.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import DualPoint, Proposal
from kernelhood.penalties.simplex import Simplex

_FLOOR = 1e-9


class Concave(Simplex):
    """A budget, and a reward for large norms.

    Parameters
    ----------
    row : ndarray of shape (n_weights,)
        Positive coefficients of the budget.
    budget : float
        What ``row'weights`` has to be.
    G : ndarray of shape (n_weights, n_weights)
        Positive semi-definite.
    reward : float
        Not negative.
    """

    convex = False

    def __init__(self, row: Array, budget: float, G: Array, reward: float) -> None:
        super().__init__(row, budget)
        self.G, self.reward = G, reward

    def value(self, weights: Array) -> float:
        """Return ``-(reward/2) weights'G weights``."""
        return -0.5 * self.reward * float(weights @ (self.G @ weights))

    def slope(self, weights: Array) -> Array:
        """Return ``-reward G weights``."""
        return -self.reward * (self.G @ weights)

    def lower_bound(self, dual: DualPoint) -> float:
        """Return nothing: one dual vector bounds only what it is the tangent of."""
        return -np.inf

    def tangent(self, weights: Array) -> Simplex:
        """Return the convex penalty that touches this one at the weights."""
        return Simplex(self.row, self.budget, self.slope(weights))

    def gap(self, weights: Array, svm_value: float, dual: DualPoint) -> float:
        """Return the gap of the tangent problem at the weights."""
        return self.tangent(weights).gap(weights, svm_value, dual)

    def model(self, hessian: Array) -> Array:
        """Return the whole curvature, that of the SVM and that of the reward."""
        return hessian - self.reward * self.G

    def minimiser(self, A: Array, slope: Array, weights: Array) -> Proposal:
        """Return where the convex part of a quadratic model is least."""
        return super().minimiser(_convex_part(A), slope, weights)

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of some of the weights, in other units."""
        G = self.G[kept][:, kept] * np.outer(scale, scale)
        return type(self)(self.row[kept] * scale, self.budget, G, self.reward)


def _convex_part(A: Array) -> Array:
    """Return A with the sizes of its eigenvalues: what bends downwards is stepped along, too."""
    values, vectors = np.linalg.eigh(A)
    floor = _FLOOR * float(np.max(np.abs(values)))
    return np.asarray((vectors * np.maximum(np.abs(values), floor)) @ vectors.T)
