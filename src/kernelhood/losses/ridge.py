"""The squared loss at the samples of one problem: no box, but a ridge beside the kernel.

    loss_i(f) = 1/2 cost_i (target_i - f)^2

Its conjugate bends the dual instead of bounding it:

    max over v of   target'v - 1/2 sum_i v_i^2 / cost_i - 1/2 v'Kv

with ``1'v = 0`` over every group of samples that has an intercept of its own. The solution is that
of a linear system with the matrix ``K + diag(1 / cost)``, in which every sample is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from kernelhood._typing import Array, Flags, Indices


class RidgeLoss(NamedTuple):
    """The squared loss of one problem at its samples.

    Attributes
    ----------
    target : ndarray of shape (n_samples,)
        The regression targets.
    cost : ndarray of shape (n_samples,)
        C times the weight of each sample, positive.
    group_starts : ndarray of int, shape (n_groups + 1,)
        Where each group of samples with a common intercept starts, and the number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.losses import ridge_loss
    >>> ridge_loss(np.array([1.0, 2.0]), np.ones(2)).feasible(np.array([3.0, 1.0])).tolist()
    [1.0, -1.0]
    """

    target: Array
    cost: Array
    group_starts: Indices

    @property
    def lower(self) -> Array:
        """Minus infinity for every sample: there is no box."""
        return np.full(len(self.target), -np.inf)

    @property
    def upper(self) -> Array:
        """Infinity for every sample."""
        return np.full(len(self.target), np.inf)

    @classmethod
    def joined(cls, parts: Sequence[Self], group_starts: Indices) -> Self:
        """Return several losses side by side, with the intercepts' groups that are given."""
        return cls(
            np.concatenate([one.target for one in parts]),
            np.concatenate([one.cost for one in parts]),
            group_starts.astype(np.intp),
        )

    def part(self, kept: Flags, times: float) -> RidgeLoss:
        """Return the loss of some samples with one intercept, each counted several times."""
        return ridge_loss(self.target[kept], times * self.cost[kept])

    def feasible(self, v: Array) -> Array:
        """Return a dual vector near another one that sums to zero over every group."""
        return v - self.spread(self.sums(v) / np.diff(self.group_starts))

    def spread(self, by_group: Array) -> Array:
        """Return a number for each group as one for each sample."""
        return np.repeat(by_group, np.diff(self.group_starts))

    def sums(self, values: Array) -> Array:
        """Return the sum over each group."""
        return np.add.reduceat(values, self.group_starts[:-1])


def ridge_loss(target: Array, cost: Array) -> RidgeLoss:
    """Return the squared loss of samples that have one intercept in common.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.losses import ridge_loss
    >>> ridge_loss(np.array([1.0, 2.0]), np.ones(2)).group_starts.tolist()
    [0, 2]
    """
    return RidgeLoss(target, cost, np.array([0, len(target)], dtype=np.intp))


def ridge_values(v: Array, Kv: Array, loss: RidgeLoss) -> tuple[Array, float, float, float]:
    """Return the best intercepts, the primal value with them, and the two parts of the dual.

    The intercepts are weighted means of what the function misses.

    Parameters
    ----------
    v, Kv : ndarray of shape (n_samples,)
        A dual vector and its product with the kernel.
    loss : RidgeLoss
        The loss.

    Returns
    -------
    intercepts : ndarray of shape (n_groups,)
        The intercepts.
    value, gain, bend : float
        The primal value, ``target'v - bend``, and ``1/2 sum_i v_i^2 / cost_i``.
    """
    rest = loss.target - Kv
    intercepts = loss.sums(loss.cost * rest) / loss.sums(loss.cost)
    rest = rest - loss.spread(intercepts)
    value = 0.5 * float(v @ Kv) + 0.5 * float(loss.cost @ rest**2)
    return intercepts, value, *ridge_gain(v, loss)


def ridge_gain(v: Array, loss: RidgeLoss) -> tuple[float, float]:
    """Return the dual objective without the kernel's part, and how much of it bends downwards."""
    bend = 0.5 * float(np.sum(v**2 / loss.cost))
    return float(loss.target @ v) - bend, bend
