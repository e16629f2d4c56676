"""What a loss has to say: its box, and a key that tells it from others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable

from kernelhood._typing import Array
from kernelhood.losses.box import BoxLoss


class Loss(ABC):
    """A loss whose dual is a box; one file a loss.

    Every such loss is a two-sided hinge, so that a new one only says where its box lies: quantile
    regression, for example, has the box from ``-(1 - q) * cost`` to ``q * cost`` and no tube.
    """

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What is equal for equal losses: searches keep one set of boxes for each key."""

    @abstractmethod
    def box(self, target: Array, cost: Array) -> BoxLoss:
        """Return the loss of samples that have one intercept in common.

        Parameters
        ----------
        target : ndarray of shape (n_samples,)
            The signs -1 and +1 of classes, or numbers.
        cost : ndarray of shape (n_samples,)
            C times the weight of each sample.
        """
