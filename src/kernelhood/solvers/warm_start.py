"""A solution carried to another box: the same samples and kernels with another C.

Along a path in C, support vectors at their bounds mostly stay at them and free ones hardly move.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import BoxLoss, RidgeLoss, SampleLoss
from kernelhood.operators import KernelOperator
from kernelhood.penalties import Fixed, Penalty
from kernelhood.solvers.block import Block, block_of
from kernelhood.solvers.loop import start_at
from kernelhood.solvers.problem import Problem, Solution

_ROUNDING = 1e-9


def carried_start(
    operator: KernelOperator, loss: SampleLoss, solution: Solution, before: SampleLoss
) -> Solution | None:
    """Return a solution as the start for another box, with its true values there.

    Parameters
    ----------
    operator : KernelOperator
        Base kernels; those beyond the solution's weights get weight 0.
    loss : BoxLoss or RidgeLoss
        The loss to start.
    solution : Solution
        Of the same samples with another loss.
    before : BoxLoss or RidgeLoss
        That loss.

    Returns
    -------
    Solution or None
        None if one box is not a multiple of the other.
    """
    v = _carried(solution.v, loss, before)
    if v is None:
        return None
    weights = np.zeros(operator.n_weights)
    weights[: len(solution.weights)] = solution.weights
    return valued([block_of(operator, loss)], weights, v)


def _carried(v: Array, loss: SampleLoss, before: SampleLoss) -> Array | None:
    """Return a dual vector that is feasible for another loss, or None if it would say little."""
    if isinstance(loss, RidgeLoss) or isinstance(before, RidgeLoss):
        return loss.feasible(v) if type(loss) is type(before) else None
    ratio = _box_ratio(loss, before)
    return None if ratio is None else np.clip(stretched(v, before, ratio), loss.lower, loss.upper)


def valued(blocks: Sequence[Block], weights: Array, v: Array | None = None) -> Solution:
    """Return any weights and dual vector with their true values, as a solution to start from.

    Parameters
    ----------
    blocks : sequence of Block
        The SVMs.
    weights : ndarray of shape (n_weights,)
        Not negative.
    v : ndarray of shape (n_samples,), optional
        Feasible dual vector, 0 by default.
    """
    return start_at(Problem(blocks, Fixed(weights)), weights, v)


def cut_down(v: Array, blocks: Sequence[Block]) -> Array:
    """Return a vector cut down until it is feasible.

    Entries end at their bounds. In each group, the larger of what is positive and what is negative
    is scaled down to the other.

    Parameters
    ----------
    v : ndarray of shape (n_samples,)
        Over the samples of all blocks.
    blocks : sequence of Block
        The SVMs.
    """
    ends = np.cumsum([block.n_samples for block in blocks])[:-1]
    return np.concatenate(
        [
            _balanced(np.clip(part, box * block.loss.lower, box * block.loss.upper), block.loss)
            for part, block in zip(np.split(v, ends), blocks, strict=True)
            for box in (block.units.box,)
        ]
    )


def _balanced(v: Array, loss: BoxLoss) -> Array:
    """Return a vector of sum zero in each group, no entry of which has grown."""
    starts, sizes = loss.group_starts[:-1], np.diff(loss.group_starts)
    sides = [np.add.reduceat(np.maximum(one, 0.0), starts) for one in (v, -v)]
    least = np.minimum(*sides)
    up, down = (np.repeat(least / np.where(side > 0.0, side, 1.0), sizes) for side in sides)
    return np.where(v > 0.0, up, down) * v


def stretched(v: Array, before: BoxLoss, ratio: float) -> Array:
    """Return a dual vector that is feasible in a box `ratio` times as wide.

    Entries at a bound go to the new one. Free entries stay where they can, but for those that
    have to make up for the sum.

    Parameters
    ----------
    v : ndarray of shape (n_samples,)
        Feasible, of sum zero.
    before : BoxLoss
        The box it is in.
    ratio : float
        Positive.
    """
    if ratio < 1.0:
        return _shrunk(v, before, ratio)
    nearly = 1.0 - _ROUNDING
    bounded = (v <= nearly * before.lower) | (v >= nearly * before.upper)
    rest = float(np.sum(v[~bounded]))
    moved = ~bounded & (v * rest > 0.0)
    total = float(np.sum(v[moved]))
    found = np.where(bounded, ratio * v, v)
    # The entries of the rest's own sign sum to at least the rest: the factor is at most `ratio`.
    found[moved] *= 1.0 + (ratio - 1.0) * rest / total if total != 0.0 else 1.0
    return found


def _shrunk(v: Array, before: BoxLoss, ratio: float) -> Array:
    """Return a dual vector that is feasible in a narrower box."""
    found = np.clip(v, ratio * before.lower, ratio * before.upper)
    rest = float(np.sum(found))
    surplus = found * rest > 0.0
    free = surplus & (found == v)
    if abs(float(np.sum(found[free]))) >= abs(rest):
        surplus = free
    total = float(np.sum(found[surplus]))
    found[surplus] *= 1.0 - rest / total if total != 0.0 else 1.0
    return found


def closest_start(starts: Sequence[Solution], penalty: Penalty) -> Solution | None:
    """Return the start with the smallest duality gap; None if none keeps the budget.

    Parameters
    ----------
    starts : sequence of Solution
        With their true values for the SVM at hand.
    penalty : Penalty
        The price of the weights.
    """
    kept = [one for one in starts if penalty.contains(one.weights)]
    return min(
        kept, key=lambda one: penalty.gap(one.weights, one.svm_value, one.dual), default=None
    )


def _box_ratio(loss: BoxLoss, before: BoxLoss) -> float | None:
    """Return by which factor the box has grown, or None if it changed its shape."""
    ratio = float((loss.upper - loss.lower).sum() / (before.upper - before.lower).sum())
    sides = ((loss.upper, ratio * before.upper), (loss.lower, ratio * before.lower))
    same = all((np.abs(new - old) <= _ROUNDING * np.abs(old)).all() for new, old in sides)
    return ratio if same else None
