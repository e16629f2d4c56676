"""The squared loss of ridge regression."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from kernelhood._typing import Array
from kernelhood.losses.base import Loss
from kernelhood.losses.ridge import RidgeLoss, ridge_loss


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
