"""Weights of a fixed total: ``row'weights = budget``, at no cost or at linear prices.

ITL with p = 1, a fixed trace, and ONJKL, whose weight of the identity is outside the budget and
costs ``1/2 ridge tau^2``.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import DualPoint, Penalty, Proposal
from kernelhood.penalties.free_step import bends
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
        """Leave out kernels that are far from the best for their price, where there are many."""
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
        """Return the weights scaled to the budget; equal ones where they have no share in it."""
        kept = np.maximum(weights, 0.0)
        spent = float(self.row @ kept)
        if spent <= 0.0:
            return np.where(self.row > 0.0, self.start(), kept)
        return np.where(self.row > 0.0, kept * (self.budget / spent), kept)
