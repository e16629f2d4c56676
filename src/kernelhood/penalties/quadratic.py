"""Weights with a quadratic price: ``R = price'weights + 1/2 weights'Q weights``.

`printed` and KTA: Q holds Frobenius products of kernels, which are never negative.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import DualPoint, Penalty, Proposal
from kernelhood.penalties.free_step import damped_minimiser, free_start, ray_step
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp

_FEW = 64
_ZERO = 1e-150
_EXACT = 1e-14
_CLOSE = 0.7


class Quadratic(Penalty):
    """A linear and a quadratic price over ``weights >= 0``.

    Parameters
    ----------
    price : ndarray of shape (n_weights,)
        Of any sign.
    Q : ndarray of shape (n_weights, n_weights)
        Positive semi-definite, with no negative entry and a positive diagonal.
    """

    has_rays = True

    def __init__(self, price: Array, Q: Array) -> None:
        self.price, self.Q = price, Q

    def value(self, weights: Array) -> float:
        """Return ``price'weights + 1/2 weights'Q weights``."""
        return float(self.price @ weights + 0.5 * (weights @ (self.Q @ weights)))

    def slope(self, weights: Array) -> Array:
        """Return ``price + Q weights``."""
        return self.price + self.Q @ weights

    def lower_bound(self, dual: DualPoint) -> float:
        """Return ``gain - 1/2 x'Qx`` for an x with ``Qx >= q - price``.

        For every such x and weights >= 0, ``(q - price)'weights <= weights'Qx``, which is at most
        ``1/2 weights'Q weights + 1/2 x'Qx``: the half bounds the conjugate from above. The best x
        is the maximiser that defines the conjugate. What rounding leaves of its violations is
        mended by adding to x, which no entry of Q turns into a loss.
        """
        wanted = dual.q - self.price
        nothing = np.zeros(len(wanted))
        x = solve_nonneg_qp(self.Q, -wanted, nothing, nothing)
        half, lifted = self._lifted(x, wanted)
        if lifted - half > _EXACT * max(lifted, abs(dual.gain)):
            x = solve_nonneg_qp(self.Q, -wanted, nothing, x)  # without what its ridge has cost
            lifted = self._lifted(x, wanted)[1]
        return dual.gain - lifted

    def _lifted(self, x: Array, wanted: Array) -> tuple[float, float]:
        """Return ``1/2 x'Qx``, and the same after x is lifted until ``Qx >= wanted``."""
        Qx = self.Q @ x
        half = 0.5 * float(x @ Qx)
        short = wanted - Qx
        low = short > 0.0
        if not low.any():
            return half, half
        x = x.copy()
        x[low] += short[low] / np.maximum(np.diagonal(self.Q)[low], 1e-300)
        return half, 0.5 * float(x @ (self.Q @ x))

    def start(self) -> Array:
        """Return equal weights that sum to one."""
        return free_start(len(self.price))

    def step(
        self, weights: Array, q: Array, hessian: Array, damping: float, reach: float, unit: float
    ) -> Proposal:
        """Move along the ray, then take a Newton step."""
        growth = float(weights @ (self.Q @ weights))
        ray = ray_step(weights, q, hessian, float(self.price @ weights), growth, reach)
        ahead, there = ray.factor * weights, q * ray.factor**-ray.power
        H = hessian * ray.factor ** (-ray.power - 1.0) + self.Q
        slope = self.slope(ahead) - there
        found = damped_minimiser(H, slope, ahead, there, damping, unit)
        return Proposal(found, ray.shrink, ray.log)

    def units(self, mean_diagonals: Array, size: float) -> tuple[Flags, Array]:
        """Measure weights by their own price; leave out kernels that have none.

        All are multiplied by one number, so that they are of the size that the SVM asks for.
        """
        norms = np.sqrt(np.maximum(np.diagonal(self.Q), 0.0))
        kept = norms > _ZERO
        if not kept.any():
            return kept, np.empty(0)
        seen = kept & (mean_diagonals > 0.0)
        ratio = norms[seen] / mean_diagonals[seen] if seen.any() else norms[kept]
        return kept, size * float(np.median(ratio)) / norms[kept]

    def candidates(self, weights: Array, q: Array) -> Flags | None:
        """Leave out kernels whose slope is far from falling, where there are many."""
        if len(weights) <= _FEW:
            return None
        slope = self.slope(weights)
        return np.asarray((weights > 0.0) | (q > slope - (1.0 - _CLOSE) * np.abs(slope)))

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of some of the weights, in other units."""
        Q = self.Q[kept][:, kept] * np.outer(scale, scale)
        return type(self)(self.price[kept] * scale, Q)
