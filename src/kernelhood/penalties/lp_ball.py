"""Weights of bounded p-norm, |theta|_p <= 1 with 1 < p < infinity.

The value of the SVM falls in every weight, so the bound is tight, and the weights satisfy
``q_m = scale theta_m^(p-1)``. Newton's method solves these equations in x = log theta, where they
are nearly linear: with H the Hessian of the value,

    ((p-1) I + diag(1/q) H diag(theta)) dx = log q - (p-1) x - log scale,   (theta^p)'dx = 0.

Putting 2 I, the majoriser's curvature, in the place of ``diag(1/q) H diag(theta)`` gives the
closed-form update ``theta_m ~ (theta_m^2 q_m)^(1/(p+1))``, which never raises the value. The
damping blends it in.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import DualPoint, Penalty, Proposal

_SMALLEST = 1e-15
_LONGEST = 5.0
_REACHABLE = 1e-6
_ROUNDING = 1e-9


class LpBall(Penalty):
    """The ball ``|weights / scale|_p <= 1`` of non-negative weights.

    Parameters
    ----------
    p : float
        Above 1 and finite.
    scale : ndarray of shape (n_weights,)
        The largest value of each weight; ones for the plain ball.
    """

    def __init__(self, p: float, scale: Array) -> None:
        self.p, self.scale = p, scale

    def value(self, weights: Array) -> float:
        """Return 0."""
        return 0.0

    def slope(self, weights: Array) -> Array:
        """Return zeros."""
        return np.zeros(len(weights))

    def lower_bound(self, dual: DualPoint) -> float:
        """Return the gain less the dual norm of q, ``1/p + 1/p* = 1``."""
        q = np.maximum(dual.q * self.scale, 0.0)
        return dual.gain - p_norm(q, self.p / (self.p - 1.0))

    def start(self) -> Array:
        """Return equal weights of norm 1."""
        return self.scale * len(self.scale) ** (-1.0 / self.p)

    def step(
        self, weights: Array, q: Array, hessian: Array, damping: float, reach: float, unit: float
    ) -> Proposal:
        """Take Newton's step on the logarithms of the weights."""
        theta = np.maximum(weights / self.scale, _SMALLEST)
        q = q * self.scale
        q = np.maximum(q, 1e-16 * q.max() + 1e-300)
        A = hessian * np.outer(self.scale, self.scale) * (theta / q[:, None])
        A.flat[:: len(A) + 1] += (self.p - 1.0) + 2.0 * damping
        wanted = np.log(q) - (self.p - 1.0) * np.log(theta)
        both = np.linalg.solve(A, np.column_stack([wanted, np.ones_like(q)]))
        tangent = theta**self.p
        level = float(tangent @ both[:, 0]) / float(tangent @ both[:, 1])
        change = np.clip(both[:, 0] - level * both[:, 1], -_LONGEST, _LONGEST)
        return Proposal(self._scaled(theta * np.exp(change)))

    def _scaled(self, theta: Array) -> Array:
        found = theta / p_norm(theta, self.p)
        return np.where(found <= _SMALLEST, 0.0, found) * self.scale

    def units(self, mean_diagonals: Array, size: float) -> tuple[Flags, Array]:
        """Measure weights by the ball, and keep all kernels."""
        return np.ones(len(self.scale), dtype=np.bool_), self.scale

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the ball of some of the weights, in other units."""
        return type(self)(self.p, self.scale[kept] / scale)

    def contains(self, weights: Array) -> bool:
        """Return whether weights are on the sphere, up to rounding."""
        size = p_norm(np.maximum(weights / self.scale, 0.0), self.p)
        return super().contains(weights) and abs(size - 1.0) <= _ROUNDING

    def nearest(self, weights: Array) -> Array:
        """Return weights of norm 1 in the direction of others, none of them out of reach.

        The step works on logarithms, which never leave a weight of 0.
        """
        theta = weights / self.scale
        if theta.max() <= 0.0:
            return self.start()
        return self._scaled(np.maximum(theta, _REACHABLE * theta.max()))


def p_norm(values: Array, p: float) -> float:
    """Return |values|_p of non-negative values without overflow."""
    largest = float(values.max())
    if largest <= 0.0:
        return 0.0
    return largest * float(np.sum((values / largest) ** p)) ** (1.0 / p)
