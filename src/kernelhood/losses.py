"""Losses: what a wrong prediction costs. To the solvers most of them are a two-sided hinge.

    loss_i(f) = upper_i * max(0, target_i - epsilon - f) - lower_i * max(0, f - target_i - epsilon)

Its conjugate puts the signed dual vector v into the box ``lower <= v <= upper``:

    max over v of   target'v - epsilon |v|_1 - 1/2 v'Kv,    lower <= v <= upper

with ``1'v = 0`` over every group of samples that has an intercept of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import Array, Flags, Indices


class BoxLoss(NamedTuple):
    """The loss of one SVM at its samples.

    Attributes
    ----------
    target : ndarray of shape (n_samples,)
        The labels -1 and +1, or the regression targets.
    lower, upper : ndarray of shape (n_samples,)
        The box of the signed dual vector; ``lower <= 0 <= upper`` and ``lower < upper``.
    epsilon : float
        Half the width of the insensitive tube; 0 for the hinge loss.
    group_starts : ndarray of int, shape (n_groups + 1,)
        Where each group of samples with a common intercept starts, and the number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.losses import box_loss
    >>> loss = box_loss(np.array([0.5, 2.0]), -np.ones(2), np.ones(2), epsilon=0.1)
    >>> loss.feasible(np.array([3.0, -0.5])).tolist()
    [0.5, -0.5]
    """

    target: Array
    lower: Array
    upper: Array
    epsilon: float
    group_starts: Indices

    @classmethod
    def joined(cls, parts: Sequence[Self], group_starts: Indices) -> Self:
        """Return several losses side by side, with the intercepts' groups that are given.

        Parameters
        ----------
        parts : sequence of BoxLoss
            With the same epsilon.
        group_starts : ndarray of int, shape (n_groups + 1,)
            Of the groups among all samples.
        """
        return cls(
            np.concatenate([one.target for one in parts]),
            np.concatenate([one.lower for one in parts]),
            np.concatenate([one.upper for one in parts]),
            parts[0].epsilon,
            group_starts.astype(np.intp),
        )

    def part(self, kept: Flags, times: float) -> BoxLoss:
        """Return the loss of some samples with one intercept, each counted several times."""
        lower, upper = times * self.lower[kept], times * self.upper[kept]
        return box_loss(self.target[kept], lower, upper, self.epsilon)

    def feasible(self, v: Array) -> Array:
        """Return a dual vector near another one: in the box, and of sum zero in every group.

        What a group's sum has too much is taken from the entries of its own sign, each by the
        same share: they stay in the box, since it holds zero.
        """
        found = np.clip(v, self.lower, self.upper)
        for begin, end in pairwise(self.group_starts):
            own = found[begin:end]
            rest = float(own.sum())
            moved = own * rest > 0.0
            total = float(own[moved].sum())
            own[moved] *= 1.0 - rest / total if total != 0.0 else 1.0
        return found


def box_loss(target: Array, lower: Array, upper: Array, epsilon: float = 0.0) -> BoxLoss:
    """Return the loss of samples that have one intercept in common.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.losses import box_loss
    >>> box_loss(np.array([1.0, -1.0]), np.zeros(2), np.ones(2)).group_starts.tolist()
    [0, 2]
    """
    starts = np.array([0, len(target)], dtype=np.intp)
    return BoxLoss(target, lower, upper, float(epsilon), starts)


def _values(v: Array, Kv: Array, loss: BoxLoss) -> tuple[Array, float, float, float]:
    """Return the best intercepts, the total loss with them, the dual gain and ``v'Kv``."""
    intercepts, room = np.empty(len(loss.group_starts) - 1), np.empty((2, 2 * len(Kv)))
    return intercepts, *_write_intercepts(v, Kv, *loss, room, intercepts)


@compiled
def _write_intercepts(
    v: Array,
    Kv: Array,
    target: Array,
    lower: Array,
    upper: Array,
    epsilon: float,
    starts: Indices,
    kinks: Array,
    intercepts: Array,
) -> tuple[float, float, float]:
    """Write the intercepts, return the numbers; kinks and jumps are the two rows of `kinks`."""
    loss, gain, form = 0.0, 0.0, 0.0
    for g in range(intercepts.shape[0]):
        size, total = starts[0], 0.0
        for i in range(starts[g], starts[g + 1]):
            rest, total = target[i] - Kv[i], total + upper[i]
            if upper[i] > 0.0:
                kinks[0, size], kinks[1, size] = rest - epsilon, upper[i]
                size += 1
            if lower[i] < 0.0:
                kinks[0, size], kinks[1, size] = rest + epsilon, -lower[i]
                size += 1
        intercept = _crossing(kinks, size, total)
        intercepts[g] = intercept
        for i in range(starts[g], starts[g + 1]):
            rest = target[i] - Kv[i] - intercept
            if rest > epsilon:
                loss += upper[i] * (rest - epsilon)
            elif rest < -epsilon:
                loss += lower[i] * (rest + epsilon)
            gain += target[i] * v[i] - epsilon * abs(v[i])
            form += v[i] * Kv[i]
    return loss, gain, form


@inlined
def _swap(kinks: Array, i: int, j: int) -> None:
    """Swap two kinks."""
    for row in range(2):
        kinks[row, i], kinks[row, j] = kinks[row, j], kinks[row, i]


@inlined
def _crossing(kinks: Array, size: int, total: float) -> float:
    """Return where a slope that is -total at first and grows by a jump at each kink becomes zero.

    The kinks are not sorted: around one of them those before and after it are told apart, and the
    search goes on among those where the crossing is. They are reordered.
    """
    flat, slope, beyond = 1e-12 * total, -total, np.inf
    first, last = size - size, size
    while True:
        middle = kinks[0, (first + last) // 2]
        before, after, k = first, last, first
        left, here = slope, 0.0
        while k < after:
            if kinks[0, k] > middle:
                after -= 1
                _swap(kinks, k, after)
                continue
            if kinks[0, k] < middle:
                left += kinks[1, k]
                _swap(kinks, k, before)
                before += 1
            else:
                here += kinks[1, k]
            k += 1
        if left >= -flat and before > first:
            last, beyond = before, middle
        elif left + here < -flat and after < last:
            first, slope = after, left + here
        else:
            break
    if left + here > flat:
        return middle
    for k in range(after, last):
        beyond = kinks[0, k] if kinks[0, k] < beyond else beyond
    return 0.5 * (middle + beyond) if beyond < np.inf else middle


def dual_gain(v: Array, loss: BoxLoss) -> float:
    """Return ``target'v - epsilon |v|_1``, the dual objective without its quadratic part."""
    return float(loss.target @ v - loss.epsilon * np.abs(v).sum())


def best_gap(v: Array, Kv: Array, loss: BoxLoss) -> float:
    """Return the duality gap of a feasible v with the best intercepts."""
    _, lost, gain, form = _values(v, Kv, loss)
    return form + lost - gain


def svm_values(v: Array, Kv: Array, loss: BoxLoss) -> tuple[Array, float, float]:
    """Return the best intercepts, the primal value with them, and the linear term of the dual.

    Parameters
    ----------
    v, Kv : ndarray of shape (n_samples,)
        A dual vector and its product with the kernel.
    loss : BoxLoss
        The loss.
    """
    intercepts, lost, gain, form = _values(v, Kv, loss)
    return intercepts, lost + 0.5 * form, gain


# The squared loss at the samples of one problem: no box, but a ridge beside the kernel.
#
#     loss_i(f) = 1/2 cost_i (target_i - f)^2
#
# Its conjugate bends the dual instead of bounding it:
#
#     max over v of   target'v - 1/2 sum_i v_i^2 / cost_i - 1/2 v'Kv
#
# with ``1'v = 0`` over every group of samples that has an intercept of its own. The solution is
# that
# of a linear system with the matrix ``K + diag(1 / cost)``, in which every sample is free.


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


#: A loss at its samples, as the solvers take it.
SampleLoss = BoxLoss | RidgeLoss


def joined(parts: Sequence[SampleLoss], group_starts: Indices) -> SampleLoss:
    """Return losses of one kind side by side, with the intercepts' groups that are given."""
    kind: Any = type(parts[0])
    found: SampleLoss = kind.joined(parts, group_starts)
    return found


class Loss:
    """What wrong predictions cost.

    Most losses are a two-sided hinge, whose dual is a box, so that a new one only says by `box`
    where its box lies: quantile regression, for example, has the box from ``-(1 - q) * cost`` to
    ``q * cost`` and no tube. A loss that is quadratic instead gives a ridge by `at`. Losses are
    frozen dataclasses, so that a search knows which are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.losses import Loss, box_loss
    >>> class Shortfall(Loss):
    ...     def box(self, target, cost):
    ...         return box_loss(target, -cost, 5.0 * cost)
    >>> Shortfall().at(np.array([1.0]), np.array([2.0])).upper.tolist()
    [10.0]
    """

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
            f"{type(self).__name__} defines neither a box nor a ridge: override box or at."
        )


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
