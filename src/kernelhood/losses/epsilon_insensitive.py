"""The epsilon-insensitive loss of support vector regression."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from kernelhood._typing import Array
from kernelhood.losses.base import Loss
from kernelhood.losses.box import BoxLoss, box_loss


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
