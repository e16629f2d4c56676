"""Weights of a fixed total: ``row'weights = budget``, at no cost or at linear prices.

ITL with p = 1, a fixed trace, and ONJKL, whose weight of the identity is outside the budget and
costs ``1/2 ridge tau^2``.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import DualPoint, Penalty, Proposal, bends
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp

_ROUNDING = 1e-9
_FEW = 64
_CLOSE = 0.7


class Simplex(Penalty):
    """A budget for the weights.

    Parameters
    ----------
    row : ndarray of shape (n_weights,)
        Non-negative coefficients of the budget; at least one is positive.
    budget : float
        What ``row'weights`` has to be, positive.
    price : ndarray of shape (n_weights,), optional
        Price of a unit of each weight, of any sign; 0 by default.
    ridge : ndarray of shape (n_weights,), optional
        Quadratic price of each weight; positive where the row is 0, and only there.
    """

    def __init__(
        self, row: Array, budget: float, price: Array | None = None, ridge: Array | None = None
    ) -> None:
        nothing = np.zeros(len(row))
        self.row, self.budget = row, budget
        self.price = nothing if price is None else price
        self.ridge = nothing if ridge is None else ridge

    def value(self, weights: Array) -> float:
        """Return ``price'weights + 1/2 sum ridge weights^2``."""
        return float(self.price @ weights + 0.5 * (self.ridge @ weights**2))

    def slope(self, weights: Array) -> Array:
        """Return ``price + ridge weights``."""
        return self.price + self.ridge * weights

    def lower_bound(self, dual: DualPoint) -> float:
        """Return the bound with the whole budget on the best kernel: the conjugate is exact."""
        held = self.row > 0.0
        surplus = dual.q - self.price
        best = self.budget * float((surplus[held] / self.row[held]).max())
        free = ~held & (surplus > 0.0)
        rest = surplus[free] ** 2 / np.maximum(self.ridge[free], 1e-300)
        return dual.gain - best - 0.5 * float(rest.sum())

    def allowed_scale(self, weights: Array, q: Array) -> Array:
        """Return for each weight the largest s <= 1 that leaves it no better than the average.

        At the optimum all weights that are used gain the same for their share of the budget.
        """
        slope = self.slope(weights)
        level = float(weights @ (q - slope)) / self.budget
        allowed = np.maximum(level * self.row + slope, 0.0)
        above = (q > allowed) & (self.row > 0.0)
        return np.sqrt(np.where(above, allowed / np.where(above, q, 1.0), 1.0))

    def start(self) -> Array:
        """Return an equal share of the budget for every kernel."""
        held = self.row > 0.0
        share = self.budget / max(int(held.sum()), 1)
        return np.where(held, share / np.where(held, self.row, 1.0), 1.0)

    def units(self, mean_diagonals: Array, size: float) -> tuple[Flags, Array]:
        """Measure weights by their share of the budget."""
        kept = (self.row > 0.0) | (mean_diagonals > 0.0)
        row, diagonals = self.row[kept], mean_diagonals[kept]
        held = row > 0.0
        unit = np.where(held, self.budget / np.where(held, row, 1.0), 1.0)
        return kept, np.where(held, unit, size / np.where(diagonals > 0.0, diagonals, 1.0))

    def step(
        self, weights: Array, q: Array, hessian: Array, damping: float, reach: float, unit: float
    ) -> Proposal:
        """Minimise the damped second-order model over the simplex."""
        unit = max(0.1 * float(weights.sum()), unit)
        A = self.model(hessian)
        A.flat[:: len(A) + 1] += damping * bends(weights, q, unit)
        return self.minimiser(A, self.slope(weights) - q, weights)

    def model(self, hessian: Array) -> Array:
        """Return the curvature of the objective."""
        return hessian + np.diag(self.ridge)

    def minimiser(self, A: Array, slope: Array, weights: Array) -> Proposal:
        """Return where a quadratic model is least."""
        return Proposal(solve_nonneg_qp(A, slope - A @ weights, self.row, weights))

    def candidates(self, weights: Array, q: Array) -> Flags | None:
        """Leave out kernels that are far from the best for their price, if there are many."""
        if len(weights) <= _FEW:
            return None
        held = self.row > 0.0
        surplus = np.full(len(q), np.inf)
        surplus[held] = (q - self.slope(weights))[held] / self.row[held]
        best = float(surplus[held].max())
        return np.asarray((weights > 0.0) | (surplus > best - (1.0 - _CLOSE) * abs(best)))

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of some of the weights, in other units."""
        price, ridge = self.price[kept] * scale, self.ridge[kept] * scale**2
        return type(self)(self.row[kept] * scale, self.budget, price, ridge)

    def contains(self, weights: Array) -> bool:
        """Return whether weights keep the budget."""
        spent = float(self.row @ weights)
        return super().contains(weights) and abs(spent - self.budget) <= _ROUNDING * self.budget

    def nearest(self, weights: Array) -> Array:
        """Return the weights scaled to the budget; equal ones if they have no share in it."""
        kept = np.maximum(weights, 0.0)
        spent = float(self.row @ kept)
        if spent <= 0.0:
            return np.where(self.row > 0.0, self.start(), kept)
        return np.where(self.row > 0.0, kept * (self.budget / spent), kept)


# A reward for concentrated kernels at a fixed trace: ``R = -(reward/2) weights'G weights``.
#
# `normalized`: the objective is convex minus convex. Weights are stationary if they solve the
# convex problem with the tangent of R at these weights in its place, a simplex with the prices
# ``-reward G weights``: the gap of that problem is the certificate.


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


# Weights of bounded p-norm, |theta|_p <= 1 with 1 < p < infinity.
#
# The value of the SVM falls in every weight, so the bound is tight, and the weights satisfy
# ``q_m = scale theta_m^(p-1)``. Newton's method solves these equations in x = log theta, where they
# are nearly linear: with H the Hessian of the value,
#
#     ((p-1) I + diag(1/q) H diag(theta)) dx = log q - (p-1) x - log scale,   (theta^p)'dx = 0.
#
# Putting 2 I, the majoriser's curvature, in the place of ``diag(1/q) H diag(theta)`` gives the
# closed-form update ``theta_m ~ (theta_m^2 q_m)^(1/(p+1))``, which never raises the value. The
# damping blends it in.


_SMALLEST = 1e-15
_LONGEST = 5.0
_REACHABLE = 1e-6


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
