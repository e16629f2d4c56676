"""What a loss has to say: its box or its ridge, and a key that tells it from others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

from kernelhood._typing import Array, Indices
from kernelhood.losses.box import BoxLoss
from kernelhood.losses.ridge import RidgeLoss

#: A loss at its samples, as the solvers take it.
SampleLoss = BoxLoss | RidgeLoss


def joined(parts: Sequence[SampleLoss], group_starts: Indices) -> SampleLoss:
    """Return losses of one kind side by side, with the intercepts' groups that are given."""
    kind: Any = type(parts[0])
    found: SampleLoss = kind.joined(parts, group_starts)
    return found


class Loss(ABC):
    """What wrong predictions cost; one file a loss.

    Most losses are a two-sided hinge, whose dual is a box, so that a new one only says by `box`
    where its box lies: quantile regression, for example, has the box from ``-(1 - q) * cost`` to
    ``q * cost`` and no tube. A loss that is quadratic instead gives a ridge by `at`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.losses import Loss, box_loss
    >>> class Shortfall(Loss):
    ...     key = "shortfall"
    ...
    ...     def box(self, target, cost):
    ...         return box_loss(target, -cost, 5.0 * cost)
    >>> Shortfall().at(np.array([1.0]), np.array([2.0])).upper.tolist()
    [10.0]
    """

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What is equal for equal losses: searches keep one set of them for each key."""

    def at(self, target: Array, cost: Array) -> SampleLoss:
        """Return the loss of samples that have one intercept in common, as the solvers take it.

        Parameters
        ----------
        target : ndarray of shape (n_samples,)
            The signs -1 and +1 of classes, or numbers.
        cost : ndarray of shape (n_samples,)
            C times the weight of each sample.
        """
        return self.box(target, cost)

    def box(self, target: Array, cost: Array) -> BoxLoss:
        """Return the two-sided hinge of samples that have one intercept in common.

        Parameters
        ----------
        target, cost
            As in `at`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} says neither where its box lies, by box, nor gives a ridge, "
            "by at."
        )
