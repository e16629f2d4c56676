"""What a penalty of the kernel weights has to say; one file a penalty.

Every model of this library minimises ``S(weights) + R(weights)`` over a convex set of weights,
where S is the optimal value of one or more SVMs with the combined kernel. S is convex and falls in
every weight, its gradient is -q with ``q_m = 1/2 v'K^m v``, and any dual vector gives the lower
bound ``S(theta) >= gain(v) - q'theta``. The models differ in R and in the set only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.free_step import damped_minimiser

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
    #: Whether weights can be scaled by any positive number.
    has_rays = False

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
        """Return the least weights that a step may lead to where no kernel stands for another.

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

        Where kernels belong to single tasks, only the parts of these tasks are shrunk for a better
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
        """Return the Hessian of R, where the step of this class is used."""
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
            A weight that matters where all weights are small.
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
