"""The hinge loss of support vector classification."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses.base import Loss
from kernelhood.losses.box import BoxLoss, box_loss


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
