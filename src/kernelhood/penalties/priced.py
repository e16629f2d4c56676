"""Weights that have a price: ``R = price'weights + 1/2 weights'Q weights`` over ``weights >= 0``.

`corrected` has the traces of the kernels as prices and Q = 0, so that it is a group lasso. In
`printed` and KTA, Q holds Frobenius products of kernels, which are never negative.
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
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp

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


_ZERO = 1e-150
_EXACT = 1e-14


class Quadratic(Penalty):
    """A linear and a quadratic price over ``weights >= 0``.

    Parameters
    ----------
    price : ndarray of shape (n_weights,)
        Of any sign.
    Q : ndarray of shape (n_weights, n_weights)
        Positive semi-definite, with no negative entry and a positive diagonal.
    """

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
        """Leave out kernels whose slope is far from falling, if there are many."""
        if len(weights) <= _FEW:
            return None
        slope = self.slope(weights)
        return np.asarray((weights > 0.0) | (q > slope - (1.0 - _CLOSE) * np.abs(slope)))

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of some of the weights, in other units."""
        Q = self.Q[kept][:, kept] * np.outer(scale, scale)
        return type(self)(self.price[kept] * scale, Q)


# Weights whose kernel stays near a matrix that is given.
#
# With the weights ``centre`` of the nearest matrix that the kernels can form,
#
#     1/2 |K - Khat|^2 = 1/2 least + slack'weights + 1/2 (weights - centre)'G (weights - centre),
#
# where ``slack = G centre - <K^m, Khat>`` is not negative and 0 where the centre is positive. The
# first term, which no weights avoid, is left out: what is left is 0 at the centre, so that no
# digits
# cancel however much the distance weighs.


_SMALLEST = 1e-300
_RANK = 1e-12
#: Weights of the centre that are this small beside the largest are not moved.
_SMALL = 1e-9
#: What a sum of products may lose of its largest term.
_ROUNDING = 1e-14
#: A bound that misses this share of the SVM's gain is exact.
_EXACT = 1e-10


class Distance(Quadratic):
    """``eta (slack'weights + 1/2 |weights - centre|_G^2)`` over ``weights >= 0``.

    Parameters
    ----------
    eta : float
        Positive.
    G : ndarray of shape (n_weights, n_weights)
        Frobenius products of the kernels, none of them negative.
    centre, slack : ndarray of shape (n_weights,)
        As `nearest_weights` returns them.
    """

    def __init__(self, eta: float, G: Array, centre: Array, slack: Array) -> None:
        super().__init__(eta * (slack - G @ centre), eta * G)
        self.eta, self.G, self.centre, self.slack = eta, G, centre, slack

    def value(self, weights: Array) -> float:
        """Return the price of the distance beyond the smallest one."""
        move = weights - self.centre
        return float(self.eta * (self.slack @ weights + 0.5 * (move @ (self.G @ move))))

    def slope(self, weights: Array) -> Array:
        """Return ``eta (slack + G (weights - centre))``."""
        return self.eta * (self.slack + self.G @ (weights - self.centre))

    def lower_bound(self, dual: DualPoint) -> float:
        """Return ``gain - eta (centre'Gu + 1/2 u'Gu)`` for a u with ``Gu >= q / eta - slack``.

        For every such u and weights >= 0, ``(q - eta slack)'weights <= eta weights'Gu``, and what
        the distance leaves of this is largest at ``weights = centre + u``. The best u leads to the
        maximiser that defines the conjugate. It is computed as the difference of two weights and,
        unless that is exact already, once more as a small move, which keeps its digits if it is
        one.
        """
        wanted, nothing = dual.q / self.eta - self.slack, np.zeros(len(dual.q))
        x = solve_nonneg_qp(self.G, -wanted - self.G @ self.centre, nothing, self.centre)
        move = x - self.centre
        cost = self._cost(move, wanted)
        least = float(wanted @ x - 0.5 * (move @ (self.G @ move)))  # what no u is below
        if self.eta * (cost - least) > _EXACT * abs(dual.gain):
            cost = min(cost, self._cost(self._small_move(wanted), wanted))
        return dual.gain - self.eta * cost

    def _small_move(self, wanted: Array) -> Array:
        """Return the best u if it is small: no positive weight of the centre falls to 0.

        Then u is free where the centre is positive and not negative elsewhere. The free part is
        eliminated; kernels that it spans add nothing to it.
        """
        G = self.G
        sizes = self.centre * np.sqrt(np.maximum(np.diagonal(G), 0.0))
        free = sizes > _SMALL * sizes.max()
        unit = 1.0 / np.sqrt(np.maximum(np.diagonal(G)[free], _SMALLEST))
        A = G[free][:, free] * np.outer(unit, unit)
        rights = unit[:, None] * np.column_stack([wanted[free], G[free][:, ~free]])
        solved = unit[:, None] * np.linalg.lstsq(A, rights, rcond=_RANK)[0]
        alone, by_others = solved[:, 0], solved[:, 1:]
        rest = G[~free][:, ~free] - G[~free][:, free] @ by_others
        own = np.diagonal(rest) > _RANK * np.diagonal(G)[~free]
        price = np.where(own, G[~free][:, free] @ alone - wanted[~free], 0.0)
        nothing = np.zeros(len(price))
        move = np.empty(len(wanted))
        move[~free] = solve_nonneg_qp(rest * np.outer(own, own), price, nothing, nothing)
        move[free] = alone - by_others @ move[~free]
        return move

    def _cost(self, move: Array, wanted: Array) -> float:
        """Return ``centre'Gu + 1/2 u'Gu`` after u is lifted until ``Gu >= wanted``.

        What rounding may hide counts as cost: large moves that nearly cancel bound nothing.
        """
        size, wanted = np.diagonal(self.G), wanted + _ROUNDING * (self.G @ np.abs(move))
        low = (wanted > self.G @ move) & (size > 0.0)
        move = move.copy()
        move[low] += (wanted - self.G @ move)[low] / size[low]
        Gu, largest = self.G @ move, self.G @ np.abs(move)
        digits_lost = _ROUNDING * ((self.centre + np.abs(move)) @ largest)
        return float(self.centre @ Gu + 0.5 * (move @ Gu) + digits_lost)

    def start(self) -> Array:
        """Return the centre, or equal weights if it is 0."""
        return self.centre if self.centre.any() else free_start(len(self.centre))

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of some of the weights, in other units."""
        G = self.G[kept][:, kept] * np.outer(scale, scale)
        return type(self)(self.eta, G, self.centre[kept] / scale, self.slack[kept] * scale)


def nearest_weights(G: Array, products: Array) -> tuple[Array, Array]:
    """Return the weights >= 0 whose kernel is nearest to a matrix, and their slack.

    Parameters
    ----------
    G : ndarray of shape (n_weights, n_weights)
        Frobenius products of the kernels.
    products : ndarray of shape (n_weights,)
        Their Frobenius products with the matrix.

    Examples
    --------
    >>> nearest_weights(np.eye(2), np.array([3.0, -1.0]))
    (array([3., 0.]), array([0., 1.]))
    """
    size = np.sqrt(np.maximum(np.diagonal(G), 0.0))
    unit = np.where(size > 0.0, 1.0 / np.where(size > 0.0, size, 1.0), 0.0)
    Q, price, nothing = G * np.outer(unit, unit), -unit * products, np.zeros(len(products))
    x = solve_nonneg_qp(Q, price, nothing, nothing)
    x = solve_nonneg_qp(Q, price, nothing, x)  # without what its ridge has cost
    centre = unit * x
    slack = np.where(centre > 0.0, 0.0, np.maximum(G @ centre - products, 0.0))
    return centre, slack
