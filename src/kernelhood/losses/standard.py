"""The losses of this library: hinge, epsilon-insensitive, quantile and squared."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses.base import BoxLoss, Loss, RidgeLoss, box_loss, ridge_loss


@dataclass(frozen=True)
class Hinge(Loss):
    r""":math:`c \max(0, 1 - y f)`, with the sign y of the class and the cost c of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Hinge().box(np.array([1.0, -1.0]), np.array([2.0, 2.0]))
    >>> loss.lower.tolist(), loss.upper.tolist()
    ([0.0, -2.0], [2.0, 0.0])
    """

    @property
    def key(self) -> Hashable:
        """The loss has no parameters."""
        return "hinge"

    def box(self, target: Array, cost: Array) -> BoxLoss:
        """Return the loss of signs; one side of every sample's box is closed."""
        bound = target * cost
        return box_loss(target, np.minimum(bound, 0.0), np.maximum(bound, 0.0))


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    r""":math:`c \max(0, \lvert y - f \rvert - \varepsilon)`, with the cost c of each sample.

    Parameters
    ----------
    epsilon : float
        Half the width of the tube, in the units of the target.

    Examples
    --------
    >>> import numpy as np
    >>> loss = EpsilonInsensitive(0.1).box(np.array([3.0]), np.array([2.0]))
    >>> loss.lower.tolist(), loss.upper.tolist(), loss.epsilon
    ([-2.0], [2.0], 0.1)
    """

    epsilon: float

    @property
    def key(self) -> Hashable:
        """The width of the tube."""
        return "epsilon_insensitive", self.epsilon

    def box(self, target: Array, cost: Array) -> BoxLoss:
        """Return the loss of numbers."""
        return box_loss(target, -cost, cost.copy(), self.epsilon)


@dataclass(frozen=True)
class Quantile(Loss):
    """``cost * max(level * (target - f), (level - 1) * (target - f))``.

    Its best constant is the quantile of the targets at this level. The best function with an
    intercept has at most a share `level` of its training samples below it, and at most a share
    ``1 - level`` above.

    Parameters
    ----------
    level : float
        Between 0 and 1; 0.5 is the median.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Quantile(0.75).box(np.array([3.0]), np.array([4.0]))
    >>> loss.lower.tolist(), loss.upper.tolist()
    ([-1.0], [3.0])
    """

    level: float = 0.5

    def __post_init__(self) -> None:
        """Refuse levels that are not between 0 and 1."""
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"level must be between 0 and 1, both excluded: got {self.level!r}.")

    @property
    def key(self) -> Hashable:
        """The level."""
        return "quantile", self.level

    def box(self, target: Array, cost: Array) -> BoxLoss:
        """Return the loss of numbers; too low costs `level`, too high the rest."""
        return box_loss(target, (self.level - 1.0) * cost, self.level * cost)


@dataclass(frozen=True)
class Squared(Loss):
    r""":math:`\tfrac c2 (y - f)^2`, for targets whose noise is large and has light tails.

    With one kernel of weight :math:`\theta` it is kernel ridge regression with
    ``alpha`` :math:`= 1 / (C\theta)` and an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().at(np.array([1.0, -1.0]), np.array([2.0, 4.0])).cost.tolist()
    [2.0, 4.0]
    """

    @property
    def key(self) -> Hashable:
        """The loss has no parameters."""
        return "squared"

    def at(self, target: Array, cost: Array) -> RidgeLoss:
        """Return the loss of numbers, which has a ridge in the place of a box."""
        return ridge_loss(target, cost.copy())


#: The losses that a name stands for, from the width of the tube.
REGRESSION_LOSSES: dict[str, Callable[[float], Loss]] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "squared": lambda epsilon: Squared(),
}


def as_loss(loss: str | Loss, epsilon: float) -> Loss:
    """Return a loss that is given, or the one of a name.

    Examples
    --------
    >>> as_loss("epsilon_insensitive", 0.1)
    EpsilonInsensitive(epsilon=0.1)
    """
    if isinstance(loss, Loss):
        return loss
    if loss not in REGRESSION_LOSSES:
        raise ValueError(
            f"loss must be one of {', '.join(map(repr, REGRESSION_LOSSES))}, or a loss such as "
            f"Quantile(0.5) of kernelhood.losses: got {loss!r}."
        )
    return REGRESSION_LOSSES[loss](float(epsilon))
