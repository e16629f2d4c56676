"""Steps of weights that are only bound not to be negative: along a ray, then a Newton step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp

_LEAST_POWER = 0.7
_FAR_UP = 1.5
_LARGEST_GROWTH = 3.0
_MOSTLY_FREE = 1.9


def bends(weights: Array, q: Array, unit: float) -> Array:
    """Return the curvature ``2 q / weights`` of the majoriser ``q weights^2 / new``.

    `unit` is a weight that matters, so that weights of 0 are not frozen.
    """
    return np.asarray(2.0 * np.maximum(q, 0.0) / (weights + unit))


class Ray(NamedTuple):
    """A step along ``factor * weights``, on which q falls as ``factor^-power``."""

    factor: float
    power: float

    @property
    def log(self) -> float:
        """The logarithm of the factor."""
        return float(np.log(self.factor))

    @property
    def shrink(self) -> float:
        """What to multiply the dual vector with.

        Free support vectors shrink as the weights grow; those at their bounds stay there.
        """
        return min(1.0, self.factor ** (-0.5 * self.power)) if self.power > _MOSTLY_FREE else 1.0


def free_start(n_weights: int) -> Array:
    """Return equal weights that sum to one."""
    return np.full(n_weights, 1.0 / max(n_weights, 1))


def ray_step(
    weights: Array, q: Array, hessian: Array, price: float, growth: float, reach: float
) -> Ray:
    """Return by which factor to scale the weights, and the power of the decay of q.

    On the ray ``c * weights``, q is modelled as ``c^-power`` times the present one. At first the
    power is the one that fits the second derivative; far up the ray it is 2, for there support
    vectors leave their bounds. The factor balances ``weights'q`` against the price and its growth,
    within ``exp(+-reach)``, and the power returned is the mean up to there.
    """
    return Ray(*_factor_and_power(weights, q, hessian, price, growth, reach))


@compiled
def _factor_and_power(
    weights: Array, q: Array, hessian: Array, price: float, growth: float, reach: float
) -> tuple[float, float]:
    """Return the two numbers of a ray in one call: for few weights calls are what costs."""
    fall, bend = 0.0, 0.0
    for i in range(len(weights)):
        fall += weights[i] * q[i]
        for j in range(len(weights)):
            bend += weights[i] * hessian[i, j] * weights[j]
    if reach <= 0.0 or fall <= 0.0 or price + growth <= 0.0:
        return 1.0, 0.0
    power = min(2.0, max(0.0, bend / fall))
    log_factor = _balance(fall, price, growth, max(power, _LEAST_POWER), reach)
    if log_factor > _FAR_UP:
        power += (2.0 - power) * (1.0 - _FAR_UP / log_factor)
    return np.exp(log_factor), power


@compiled
def _balance(fall: float, price: float, growth: float, power: float, reach: float) -> float:
    """Return x in +-reach where the falling q meets ``price + growth exp(x)``."""
    low, high = -reach, reach
    for _ in range(40):
        middle = 0.5 * (low + high)
        decline = power * middle + (2.0 - power) * max(0.0, middle - _FAR_UP)
        if fall * np.exp(-decline) > price + growth * np.exp(middle):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def damped_minimiser(
    H: Array, slope: Array, weights: Array, q: Array, damping: float, unit: float
) -> Array:
    """Return the minimiser over weights >= 0 of the damped second-order model.

    The damping grows until the weights do not grow beyond what the model can know.

    Parameters
    ----------
    H, slope : ndarray
        Hessian and gradient of the objective.
    weights, q : ndarray of shape (n_weights,)
        Where the model is made.
    damping : float
        Share of the majoriser's curvature to add.
    unit : float
        A weight that matters where all weights are small.
    """
    total, H, no_budget = float(weights.sum()), np.ascontiguousarray(H), np.zeros(len(weights))
    unit = max(0.1 * total, unit)
    limit = _LARGEST_GROWTH * (total + unit)
    while True:
        A, linear = _model(H, slope, weights, damping * bends(weights, q, unit))
        found = solve_nonneg_qp(A, linear, no_budget, weights)
        if found.sum() <= limit or damping > 1.0:
            return found
        damping = max(4.0 * damping, 1e-3)


@compiled
def _model(H: Array, slope: Array, weights: Array, damping: Array) -> tuple[Array, Array]:
    """Return the quadratic and the linear term of the model, both as functions of new weights."""
    A, linear = H.copy(), slope.copy()
    for i in range(len(weights)):
        A[i, i] += damping[i]
        for j in range(len(weights)):
            linear[i] -= A[i, j] * weights[j]
    return A, linear


def line_minimum(value: float, slope: float, next_value: float, next_slope: float) -> float:
    """Return where in [0.05, 0.7] the cubic through both ends of the unit interval is least."""
    bend = slope + next_slope - 3.0 * (next_value - value)
    discriminant = bend * bend - slope * next_slope
    where = 0.3
    if discriminant >= 0.0:
        root = np.sqrt(discriminant)
        width = next_slope - slope + 2.0 * root
        if width > 0.0:
            where = 1.0 - (next_slope + root - bend) / width
    return float(min(0.7, max(0.05, where)))
