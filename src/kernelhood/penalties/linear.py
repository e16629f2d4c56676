"""Weights that cost a price for each unit: ``R = price'weights`` over ``weights >= 0``.

`corrected` has the traces of the kernels as prices, so that it is a group lasso.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import (
    DualPoint,
    Penalty,
    Proposal,
    damped_minimiser,
    free_start,
    ray_step,
)

_NEAR = 4.0
_FEW = 64
_CLOSE = 0.7
_MATTERS = 0.03
_BEYOND = 0.5


class Linear(Penalty):
    """A price for every unit of each weight.

    Parameters
    ----------
    price : ndarray of shape (n_weights,)
        Positive.
    """

    def __init__(self, price: Array) -> None:
        self.price = price

    def value(self, weights: Array) -> float:
        """Return ``price'weights``."""
        return float(self.price @ weights)

    def slope(self, weights: Array) -> Array:
        """Return the prices."""
        return self.price

    def allowed_scale(self, weights: Array, q: Array) -> Array:
        """Return for each weight the largest s <= 1 with ``s^2 q <= price``."""
        above = q > self.price
        return np.sqrt(np.where(above, self.price / np.where(above, q, 1.0), 1.0))

    def lower_bound(self, dual: DualPoint) -> float:
        """Return the gain of the dual vector, shrunk until no q is above its price."""
        above = dual.q > self.price
        if not above.any():
            return dual.gain
        return dual.gain_of(float((self.price[above] / dual.q[above]).min()) ** 0.5)

    def start(self) -> Array:
        """Return equal weights that sum to one."""
        return free_start(len(self.price))

    def step(
        self, weights: Array, q: Array, hessian: Array, damping: float, reach: float, unit: float
    ) -> Proposal:
        """Move along the ray, then take a Newton step with straightened q."""
        ray = ray_step(weights, q, hessian, float(self.price @ weights), 0.0, reach)
        ahead, there = ray.factor * weights, q * ray.factor**-ray.power
        H = hessian * ray.factor ** (-ray.power - 1.0)
        slope = self.price - self._straightened(ahead, there)
        found = damped_minimiser(H, slope, ahead, there, damping, unit)
        return Proposal(found, ray.shrink, ray.log)

    def _straightened(self, weights: Array, q: Array) -> Array:
        """Return a q with which Newton's step lands closer to where it meets the prices.

        A kernel's q falls about as its weight^-2, so that Newton's method on q = price is slow from
        below and overshoots from above. On ``q^-1/2 = price^-1/2`` it is nearly exact, and with the
        same Hessian that takes ``2 q (sqrt(q / price) - 1)`` in place of ``q - price``. Far from
        the balance q is returned as it is.
        """
        return _straightened(self.price, weights, q)

    def candidates(self, weights: Array, q: Array) -> Flags | None:
        """Leave out kernels whose q is far below their price, if there are many."""
        if len(weights) <= _FEW:
            return None
        return np.asarray((weights > 0.0) | (q > _CLOSE * self.price))

    def least(self, weights: Array, q: Array) -> Array:
        """Return how far down a step may take weights that matter.

        The majoriser of S has its minimum at ``weight * sqrt(q / price)``. A large weight is at
        most halved beyond that.
        """
        safe = weights * np.sqrt(np.clip(q / self.price, 0.0, 1.0))
        return np.where(weights > _MATTERS * weights.sum(), _BEYOND * safe, 0.0)

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of some of the weights, in other units."""
        return type(self)(self.price[kept] * scale)


@compiled
def _straightened(price: Array, weights: Array, q: Array) -> Array:
    """Return a q for Newton's step, see `Linear._straightened`."""
    found, used = np.empty(len(q)), False
    for i in range(len(q)):
        ratio = max(q[i], 0.0) / price[i]
        if ratio > _NEAR or (weights[i] > 0.0 and ratio < 1.0 / _NEAR):
            return q
        used = used or weights[i] > 0.0
        found[i] = price[i] + 2.0 * q[i] * (np.sqrt(ratio) - 1.0)
    return found if used else q
