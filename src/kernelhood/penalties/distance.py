"""Weights whose kernel stays near a matrix that is given.

With the weights ``centre`` of the nearest matrix that the kernels can form,

    1/2 |K - Khat|^2 = 1/2 least + slack'weights + 1/2 (weights - centre)'G (weights - centre),

where ``slack = G centre - <K^m, Khat>`` is not negative and 0 where the centre is positive. The
first term, which no weights avoid, is left out: what is left is 0 at the centre, so that no digits
cancel however much the distance weighs.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import DualPoint
from kernelhood.penalties.free_step import free_start
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp
from kernelhood.penalties.quadratic import Quadratic

_SMALLEST = 1e-300
_RANK = 1e-12
#: Weights of the centre that are this small beside the largest are no room to move in.
_SMALL = 1e-9
#: What a sum of products may lose of its largest term.
_ROUNDING = 1e-14


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
        maximiser that defines the conjugate. It is computed as the difference of two weights, and
        once more as a small move, which keeps its digits where it is one.
        """
        wanted, nothing = dual.q / self.eta - self.slack, np.zeros(len(dual.q))
        x = solve_nonneg_qp(self.G, -wanted - self.G @ self.centre, nothing, self.centre)
        costs = [self._cost(u, wanted) for u in (x - self.centre, self._small_move(wanted))]
        return dual.gain - self.eta * min(costs)

    def _small_move(self, wanted: Array) -> Array:
        """Return the best u where it is small: no positive weight of the centre falls to 0.

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
        """Return the centre, or equal weights where it is 0."""
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
