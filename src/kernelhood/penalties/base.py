"""What a penalty of the kernel weights has to say; one file for each.

Every model of this library minimises ``S(weights) + R(weights)`` over a convex set of weights,
where S is the optimal value of one or more SVMs with the combined kernel. S is convex and falls in
every weight, its gradient is -q with ``q_m = 1/2 v'K^m v``, and any dual vector gives the lower
bound ``S(theta) >= gain(v) - q'theta``. The models differ in R and in the set only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp

_ZERO = 1e-150


class DualPoint(NamedTuple):
    r"""What a lower bound needs to know of a feasible dual vector.

    Attributes
    ----------
    gain : float
        The dual objective without the kernels' part: :math:`y'v - \varepsilon\lVert v\rVert_1` for
        a box, :math:`y'v` minus the bend for a ridge.
    q : ndarray of shape (n_weights,)
        :math:`\tfrac12 v'K^m v`.
    bend : float
        The part of the gain that grows with the square of the vector, and lowers it; 0 for a box.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.penalties import DualPoint
    >>> DualPoint(gain=3.0, q=np.array([1.0]), bend=1.0).gain_of(0.5)
    1.75
    """

    gain: float
    q: Array
    bend: float = 0.0

    def gain_of(self, scale: float) -> float:
        """Return the gain of the vector times a scale in [0, 1]."""
        return scale * (self.gain + self.bend) - scale**2 * self.bend


class Proposal(NamedTuple):
    """Weights to try next.

    Attributes
    ----------
    weights : ndarray of shape (n_weights,)
        The weights.
    shrink : float
        By what to multiply the dual vector that the SVM starts from.
    ray : float
        Logarithm of the factor by which the weights were scaled before the second-order step.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.penalties import Proposal
    >>> Proposal(np.array([0.5, 0.5])).shrink
    1.0
    """

    weights: Array
    shrink: float = 1.0
    ray: float = 0.0


class Penalty(ABC):
    """Price and set of the kernel weights.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.penalties import DualPoint, Linear
    >>> penalty = Linear(np.array([1.0, 2.0]))
    >>> penalty.value(np.array([3.0, 1.0])), penalty.slope(np.array([3.0, 1.0])).tolist()
    (5.0, [1.0, 2.0])
    >>> penalty.lower_bound(DualPoint(gain=4.0, q=np.array([1.0, 1.0])))
    4.0
    """

    #: Whether R is convex, so that the lower bound holds for all weights.
    convex = True

    @abstractmethod
    def value(self, weights: Array) -> float:
        """Return R."""

    @abstractmethod
    def slope(self, weights: Array) -> Array:
        """Return the gradient of R."""

    @abstractmethod
    def lower_bound(self, dual: DualPoint) -> float:
        """Return a number that no weights of the set can fall below.

        It is ``gain - R*(q)``, with the conjugate ``R*(q) = max over weights of q'weights - R``
        bounded from above by a feasible point of its own dual, never by an inexact maximiser.
        """

    @abstractmethod
    def start(self) -> Array:
        """Return the weights to start from."""

    def least(self, weights: Array, q: Array) -> Array:
        """Return the least weights that a step may lead to if no kernel stands for another.

        A kernel's q may then rise steeply as its weight falls, which the Hessian does not know of,
        and from zero the way back is long.
        """
        return np.zeros(len(weights))

    def candidates(self, weights: Array, q: Array) -> Flags | None:
        """Return the weights that a step should look at, None for all; those above 0 among them.

        The others are looked at again after every SVM, and the lower bound holds for all, so that
        none is left out for good.
        """
        return None

    def allowed_scale(self, weights: Array, q: Array) -> Array | None:
        """Return how much of a dual vector each weight's kernel would leave, None for no such rule.

        If kernels belong to single tasks, only the parts of these tasks are shrunk for a better
        lower bound, see `LowerBound`.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Where we are.
        q : ndarray of shape (n_weights,)
            Of the dual vector.
        """
        return None

    def curvature(self, weights: Array) -> Array | float:
        """Return the Hessian of R, if the step of this class is used."""
        return 0.0

    def step(
        self, weights: Array, q: Array, hessian: Array, damping: float, reach: float, unit: float
    ) -> Proposal:
        """Return what a damped second-order model prefers, here over all weights >= 0.

        Parameters
        ----------
        weights, q : ndarray of shape (n_weights,)
            Where we are, and minus the gradient of S there.
        hessian : ndarray of shape (n_weights, n_weights)
            Of S.
        damping : float
            Share of the majoriser's curvature ``2 q / weights`` to add.
        reach : float
            Largest change of the weights' logarithm along a ray.
        unit : float
            A weight that matters if all weights are small.
        """
        H, slope = hessian + self.curvature(weights), self.slope(weights) - q
        return Proposal(damped_minimiser(H, slope, weights, q, damping, unit))

    def units(self, mean_diagonals: Array, size: float) -> tuple[Flags, Array]:
        """Return which kernels take part, and the weights to measure theirs by.

        Kernels that are zero at all samples are left out.

        Parameters
        ----------
        mean_diagonals : ndarray of shape (n_weights,)
            Of each weight's kernel.
        size : float
            The weight of a kernel of diagonal one with which dual vectors as large as their box
            make functions as large as the targets.
        """
        kept = mean_diagonals > _ZERO
        return kept, size / mean_diagonals[kept]

    @abstractmethod
    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of ``weights / scale`` for some of the weights.

        Parameters
        ----------
        kept : ndarray of bool, shape (n_weights,)
            The others are 0.
        scale : ndarray of shape (n_kept,)
            Positive.
        """

    def contains(self, weights: Array) -> bool:
        """Return whether weights are in the set, up to rounding."""
        return bool(np.all(weights >= 0.0))

    def nearest(self, weights: Array) -> Array:
        """Return weights of the set that are these or near them."""
        return np.maximum(weights, 0.0)

    def gap(self, weights: Array, svm_value: float, dual: DualPoint) -> float:
        """Return the duality gap of weights and a dual vector, both with true values."""
        return svm_value + self.value(weights) - self.lower_bound(dual)


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
        A weight that matters if all weights are small.
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
