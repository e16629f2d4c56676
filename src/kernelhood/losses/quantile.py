"""The pinball loss of quantile regression."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from kernelhood._typing import Array
from kernelhood.losses.base import Loss
from kernelhood.losses.box import BoxLoss, box_loss


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
        """Refuse levels that are no share."""
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"level must be between 0 and 1, both excluded: got {self.level!r}.")

    @property
    def key(self) -> Hashable:
        """The level."""
        return "quantile", self.level

    def box(self, target: Array, cost: Array) -> BoxLoss:
        """Return the loss of numbers; too low costs `level`, too high the rest."""
        return box_loss(target, (self.level - 1.0) * cost, self.level * cost)
