"""The sides of an SVM's box, and points between them: what both interior-point methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.losses.box import BoxLoss, svm_values

_NEARLY_ALL = 0.99
_LEAST = 1e-12


class Sides(NamedTuple):
    """The open sides of the box: sample, sign, width and slope of each; the samples' groups."""

    sample: Indices
    sign: Array
    cap: Array
    slope: Array
    group: Indices


class Point(NamedTuple):
    """A point inside the box, or a direction.

    x and s are the distances from the two bounds, z and w their multipliers.
    """

    x: Array
    s: Array
    z: Array
    w: Array
    intercepts: Array


def sides_of(loss: BoxLoss) -> Sides:
    """Return the open sides of a loss's box: up to two for each sample."""
    n, sizes = len(loss.target), np.diff(loss.group_starts)
    sample = np.concatenate([np.arange(n), np.arange(n)])
    sign = np.repeat([1.0, -1.0], n)
    cap = np.concatenate([loss.upper, -loss.lower])
    slope = loss.epsilon - sign * loss.target[sample]
    opened = cap > 0.0
    group = np.repeat(np.arange(len(sizes)), sizes)
    return Sides(sample[opened], sign[opened], cap[opened], slope[opened], group)


def centre(sides: Sides, loss: BoxLoss, trace: float) -> Point:
    """Return a point to start from where nothing is known but the trace of the kernel."""
    x = np.minimum(0.5 * sides.cap, len(loss.target) / max(trace, 1e-300))
    ones, level = np.ones_like(x), np.zeros(len(loss.group_starts) - 1)
    return Point(x, sides.cap - x, ones, ones, level)


def near(sides: Sides, loss: BoxLoss, v: Array, Kv: Array) -> Point:
    """Return a point inside the box that is near a dual vector and near the central path.

    The products of distances and multipliers are what the duality gap of the vector makes them on
    average. Entries at a bound leave it by as much as their slope then allows.

    Parameters
    ----------
    sides, loss
        The box.
    v, Kv : ndarray of shape (n_samples,)
        A feasible dual vector, and its product with the kernel matrix.
    """
    intercepts, value, gain = svm_values(v, Kv, loss)
    gap = value - gain + 0.5 * float(v @ Kv)
    level = max(gap, _LEAST * abs(value), 1e-100) / len(sides.cap)
    slope = sides.slope + sides.sign * (Kv + intercepts[sides.group])[sides.sample]
    room = np.minimum(0.25 * sides.cap, level / np.maximum(np.abs(slope), np.sqrt(level)))
    x = np.clip(np.maximum(sides.sign * v[sides.sample], 0.0), room, sides.cap - room)
    s = sides.cap - x
    z, w = level / x, level / s
    more = slope - (z - w)
    return Point(x, s, z + np.maximum(more, 0.0), w + np.maximum(-more, 0.0), intercepts)


def shorter_way(
    sides: Sides,
    loss: BoxLoss,
    trace: float,
    start: tuple[Array, Array] | None,
    gap_tol: float,
    follow: Callable[[Point], tuple[Point, float]],
) -> tuple[Point, float]:
    """Return where the path leads to, and the gap there: from near a start, else from the centre.

    Parameters
    ----------
    sides, loss, trace
        As for `centre`.
    start : tuple of ndarray of shape (n_samples,), optional
        A dual vector and its product with the kernel. From near it the way is most often the
        shorter one, and sometimes none.
    gap_tol : float
        Absolute duality gap to reach.
    follow : callable
        Follows the path from a point; returns the best one on it and its gap.
    """
    ways = [centre(sides, loss, trace)]
    if start is not None:
        ways.insert(0, near(sides, loss, *start))
    point, best = ways[0], np.inf
    for first in ways:
        if best > gap_tol:
            point, best = min((point, best), follow(first), key=lambda one: one[1])
    return point, best


@compiled
def add_up(places: Indices, values: Array, size: int) -> Array:
    """Return the sum of the values at each place."""
    total = np.zeros(size)
    for k in range(values.shape[0]):
        total[places[k]] += values[k]
    return total


@compiled
def moved(point: Point, step: Point, length: float) -> Point:
    """Return the point that is so many steps ahead."""
    return Point(
        point.x + length * step.x,
        point.s + length * step.s,
        point.z + length * step.z,
        point.w + length * step.w,
        point.intercepts + length * step.intercepts,
    )


@compiled
def longest(point: Point, step: Point) -> float:
    """Return the largest length in (0, 1] that keeps every entry positive."""
    worst = max(
        max(np.max(-step.x / point.x), np.max(-step.s / point.s)),
        max(np.max(-step.z / point.z), np.max(-step.w / point.w)),
    )
    return min(1.0, _NEARLY_ALL / worst) if worst > 0.0 else 1.0


def rounded(sides: Sides, point: Point, small: float, n_samples: int) -> Array:
    """Return the dual vector with entries closer than `small` to a bound put there.

    What is left over is spread so that the sum over every group is zero.
    """
    full = (point.s < small) & (point.w > point.s)
    empty = (point.x < small) & (point.z > point.x) & ~full
    x = np.where(full, sides.cap, np.where(empty, 0.0, point.x))
    v = add_up(sides.sample, sides.sign * x, n_samples)
    inside = np.where(full | empty, 0.0, np.minimum(point.x, point.s))
    room = add_up(sides.sample, inside, n_samples)
    n_groups = point.intercepts.shape[0]
    excess, total = add_up(sides.group, v, n_groups), add_up(sides.group, room, n_groups)
    share = np.maximum(-1.0, np.minimum(1.0, excess / np.maximum(total, 1e-300)))
    return v - share[sides.group] * room
