"""What the kernel weights cost, and the dual bound that follows from it.

Every model of this library minimises, task by task or jointly,

    S(weights) + linear'weights + 1/2 weights' quadratic weights
    over weights >= 0, with row'weights = budget where row is not all zero,

where S is the optimal value of an SVM with the combined kernel. They differ only in the penalty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.solvers.nonneg_qp import solve_nonneg_qp


class Penalty(NamedTuple):
    """The price of the weights and the budget they have to keep.

    Attributes
    ----------
    linear : ndarray of shape (n_kernels,)
        Price of one unit of each weight.
    quadratic : ndarray of shape (n_kernels, n_kernels)
        Positive semi-definite; or negative semi-definite with a budget on every weight, and then
        solutions are stationary points.
    row : ndarray of shape (n_kernels,)
        Non-negative coefficients of the budget; all zero where there is none.
    budget : float
        What ``row'weights`` has to be.
    """

    linear: Array
    quadratic: Array
    row: Array
    budget: float


def penalty_value(penalty: Penalty, weights: Array) -> float:
    """Return ``linear'weights + 1/2 weights' quadratic weights``."""
    half = 0.5 * np.dot(weights, penalty.quadratic @ weights)
    return float(np.dot(penalty.linear, weights) + half)


def penalty_slope(penalty: Penalty, weights: Array) -> Array:
    """Return the gradient of the penalty."""
    return penalty.linear + penalty.quadratic @ weights


def _feasible_scale(penalty: Penalty, curvatures: Array) -> float:
    """Return the largest s <= 1 with ``s^2 curvatures <= linear``."""
    ratios = np.maximum(penalty.linear, 0.0) / np.maximum(curvatures, 1e-300)
    return float(np.sqrt(min(1.0, ratios.min())))


def _free_conjugate(penalty: Penalty, surplus: Array, bound: Flags) -> float:
    """Return R* where the kernels of the budget have no quadratic price: it is a sum of two."""
    best = penalty.budget * (surplus[bound] / penalty.row[bound]).max()
    if bound.all():
        return float(best)
    quadratic, rest = penalty.quadratic[~bound][:, ~bound], surplus[~bound]
    nothing = np.zeros(len(rest))
    weights = solve_nonneg_qp(quadratic, -rest, nothing, nothing)
    return float(best + np.dot(rest, weights) - 0.5 * np.dot(weights, quadratic @ weights))


def dual_bound(penalty: Penalty, gain: float, curvatures: Array) -> float:
    """Return a lower bound of the optimal value from one dual vector.

    The bound is ``gain - R*(curvatures)`` with R* the conjugate of the penalty,

        R*(q) = max over weights of  q'weights - linear'weights - 1/2 weights' quadratic weights.

    Without a quadratic part and without a budget R* is 0 or infinite, and the dual vector is
    shrunk until it is 0.

    Parameters
    ----------
    penalty : Penalty
        Price of the weights.
    gain : float
        The linear part of the SVM dual, ``target'v - epsilon |v|_1``.
    curvatures : ndarray of shape (n_kernels,)
        ``1/2 v'K^m v``.
    """
    bound = penalty.row > 0.0
    has_budget, flat = bound.any(), not penalty.quadratic.any()
    if flat and not has_budget:
        return _feasible_scale(penalty, curvatures) * gain
    surplus = curvatures - penalty.linear
    if has_budget and (flat or not penalty.quadratic[bound].any()):
        return gain - _free_conjugate(penalty, surplus, bound)
    start = np.zeros(len(curvatures))
    if has_budget:
        priciest = np.argmax(penalty.row)
        start[priciest] = penalty.budget / penalty.row[priciest]
    weights = solve_nonneg_qp(penalty.quadratic, -surplus, penalty.row, start)
    half = 0.5 * np.dot(weights, penalty.quadratic @ weights)
    return float(gain - np.dot(surplus, weights) + half)


def is_concave(penalty: Penalty) -> bool:
    """Return whether the quadratic part is negative, so that duality holds for tangents only."""
    return bool(penalty.quadratic.trace() < 0.0)


def certificate(
    penalty: Penalty, weights: Array, svm_value: float, gain: float, curvatures: Array
) -> float:
    """Return the duality gap of the weights and the dual vector.

    For a concave penalty it is the gap of the convex problem with the tangent at the weights in
    the penalty's place: where it vanishes, the weights are stationary.

    Parameters
    ----------
    penalty : Penalty
        Price of the weights.
    weights : ndarray of shape (n_kernels,)
        Kernel weights.
    svm_value : float
        Primal value of the SVM with these weights.
    gain, curvatures
        As in `dual_bound`.
    """
    if is_concave(penalty):
        none = np.zeros_like(penalty.quadratic)
        penalty = Penalty(penalty_slope(penalty, weights), none, penalty.row, penalty.budget)
    objective = svm_value + penalty_value(penalty, weights)
    return objective - dual_bound(penalty, gain, curvatures)
