"""Weights that are given: nothing to learn but the SVM."""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import DualPoint, Penalty, Proposal


class Fixed(Penalty):
    """A single point.

    Parameters
    ----------
    weights : ndarray of shape (n_weights,)
        Not negative.
    """

    def __init__(self, weights: Array) -> None:
        self.weights = weights

    def value(self, weights: Array) -> float:
        """Return 0."""
        return 0.0

    def slope(self, weights: Array) -> Array:
        """Return zeros."""
        return np.zeros(len(weights))

    def lower_bound(self, dual: DualPoint) -> float:
        """Return the dual value of the SVM."""
        return dual.gain - float(dual.q @ self.weights)

    def start(self) -> Array:
        """Return the weights."""
        return self.weights

    def step(
        self, weights: Array, q: Array, hessian: Array, damping: float, reach: float, unit: float
    ) -> Proposal:
        """Stay."""
        return Proposal(self.weights)

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the same point in other units."""
        return type(self)(self.weights[kept] / scale)

    def contains(self, weights: Array) -> bool:
        """Return whether these are the weights."""
        return bool(np.allclose(weights, self.weights, rtol=1e-9, atol=0.0))

    def nearest(self, weights: Array) -> Array:
        """Return the weights."""
        return self.weights
