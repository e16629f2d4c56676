"""The sides of an SVM's box, and points between them: what both interior-point methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.losses import BoxLoss, best_gap, svm_values

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
    """Return a point to start from if nothing is known but the trace of the kernel."""
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


# A primal-dual interior-point method for the SVM dual: about twenty Cholesky factorisations.
#
# Its cost does not depend on how ill-conditioned the kernel matrix is or how large C is, which is
# where pair steps stall. The dual vector is split into its open sides, v_i = sum over the sides k
# of
# sample i of sign_k x_k, with 0 <= x <= cap: one side a sample for the hinge loss, two for the
# epsilon-insensitive one.


_DIVERGED = 100.0


@compiled
def _solve_rows(L: Array, B: Array) -> None:
    """Replace every row b of B by the solution of ``LL'y = b``."""
    n = L.shape[0]
    for k in range(B.shape[0]):
        b = B[k]
        for i in range(n):
            b[i] = (b[i] - np.dot(L[i, :i], b[:i])) / L[i, i]
        for i in range(n - 1, -1, -1):
            b[i] /= L[i, i]
            for j in range(i):
                b[j] -= L[i, j] * b[i]


@compiled
def _direction(
    L: Array, Z: Array, sides: Sides, point: Point, residual: Array, rz: Array, rw: Array
) -> Point:
    """Solve the linearised optimality conditions.

    Parameters
    ----------
    L : ndarray of shape (n_samples, n_samples)
        Cholesky factor of ``K + diag(1 / weight)``, weight the sum over sides of 1 / bends.
    Z : ndarray of shape (n_groups, n_samples)
        Its solutions for the indicators of the groups.
    sides, point
        The box and where we are in it.
    residual, rz, rw : ndarray of shape (n_sides,)
        What is missing in stationarity, ``x z`` and ``s w``.
    """
    n, n_groups = L.shape[0], Z.shape[0]
    bends = point.z / point.x + point.w / point.s
    pull = rz / point.x - rw / point.s - residual
    total = add_up(sides.sample, sides.sign * pull / bends, n)
    weight = add_up(sides.sample, 1.0 / bends, n)
    one = (total / weight).reshape((1, n))
    _solve_rows(L, one)
    sums = np.empty((n_groups, n_groups))
    for g in range(n_groups):
        column = add_up(sides.group, Z[g], n_groups)
        for h in range(n_groups):
            sums[h, g] = column[h]
    excess = add_up(sides.group, add_up(sides.sample, sides.sign * point.x, n), n_groups)
    right = add_up(sides.group, one[0], n_groups) + excess
    # The sums are those of a positive definite matrix, and this factorisation is compiled already.
    level = right.reshape((1, n_groups))
    _solve_rows(np.asarray(np.linalg.cholesky(sums), np.float64), level)
    intercepts = level[0]
    force = total - one[0]
    for g in range(n_groups):
        force += intercepts[g] * Z[g]
    force /= weight
    dx = (pull - sides.sign * force[sides.sample]) / bends
    dz, dw = (rz - point.z * dx) / point.x, (rw + point.w * dx) / point.s
    return Point(dx, -dx, dz, dw, intercepts)


@compiled
def _system(K: Array, sides: Sides, point: Point, v: Array, jitter: float) -> tuple[Array, Array]:
    """Return the matrix of a step, and what is missing in stationarity."""
    n = K.shape[0]
    force = K @ v + point.intercepts[sides.group]
    residual = sides.slope - point.z + point.w + sides.sign * force[sides.sample]
    weight = add_up(sides.sample, 1.0 / (point.z / point.x + point.w / point.s), n)
    A = K.copy()
    for i in range(n):
        A[i, i] += jitter + 1.0 / weight[i]
    return A, residual


@compiled
def _corrected(
    L: Array, Z: Array, sides: Sides, point: Point, residual: Array
) -> tuple[Point, Array]:
    """Take Mehrotra's step: a predictor, then a corrector from the same factorisation."""
    xz, sw = point.x * point.z, point.s * point.w
    ahead = _direction(L, Z, sides, point, residual, -xz, -sw)
    now = np.sum(xz) + np.sum(sw)
    there = moved(point, ahead, longest(point, ahead))
    left = (np.dot(there.x, there.z) + np.dot(there.s, there.w)) / now
    centre = left**3 * now / (2 * len(sides.cap))
    rz, rw = centre - xz - ahead.x * ahead.z, centre - sw - ahead.s * ahead.w
    step = _direction(L, Z, sides, point, residual, rz, rw)
    point = moved(point, step, longest(point, step))
    return point, add_up(sides.sample, sides.sign * point.x, L.shape[0])


def _newton_step(
    K: Array, sides: Sides, point: Point, v: Array, jitter: float
) -> tuple[Point, Array]:
    """Return the next point and its dual vector."""
    A, residual = _system(K, sides, point, v, jitter)
    # LAPACK counts columns first: what is L here is the upper factor L' there.
    U, info = lapack.dpotrf(A.T, lower=0, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError("the matrix of a step is not positive definite")
    Z = np.zeros((len(point.intercepts), len(K)))
    Z[sides.group, np.arange(len(K))] = 1.0
    lapack.dpotrs(U, Z.T, lower=0, overwrite_b=1)
    return _corrected(U.T, Z, sides, point, residual)


def _gap(K: Array, loss: BoxLoss, v: Array) -> float:
    return best_gap(v, K @ v, loss)


def _follow(
    K: Array, loss: BoxLoss, sides: Sides, point: Point, gap_tol: float, max_iter: int
) -> tuple[Point, float]:
    """Follow the central path; return the best feasible point on it and its gap."""
    n_groups = point.intercepts.shape[0]
    jitter = 1e-15 * float(np.trace(K))
    v = add_up(sides.sample, sides.sign * point.x, len(K))
    best, best_point = np.inf, point
    for _ in range(max_iter):
        try:
            point, v = _newton_step(K, sides, point, v, jitter)
        except np.linalg.LinAlgError:  # rounding has ended the progress
            break
        gap = _gap(K, loss, v)
        off = float(np.abs(add_up(sides.group, v, n_groups)).max())
        if gap < best and off <= 1e-9 * float(np.abs(v).sum()):
            best, best_point = gap, point
        # Far from the centre of its path the gap may rise for a while.
        left = float(point.x @ point.z + point.s @ point.w)
        if best <= 0.5 * gap_tol or (gap > _DIVERGED * best and left < best):
            break
    return best_point, best


def _finish(K: Array, loss: BoxLoss, sides: Sides, point: Point, gap_tol: float) -> Array:
    """Return the sparsest of a few roundings of the point that keeps the gap."""
    largest = float(np.max(point.x))
    v = point.x
    for small in [10.0**-exponent for exponent in range(5, 13)] + [0.0]:
        v = rounded(sides, point, largest * small, len(K))
        v = np.clip(v, loss.lower, loss.upper)
        if _gap(K, loss, v) <= gap_tol:
            break
    return v


def solve_interior_point(
    K: Array,
    loss: BoxLoss,
    gap_tol: float,
    max_iter: int = 60,
    start: tuple[Array, Array] | None = None,
) -> Array:
    """Solve the SVM dual by Mehrotra's predictor-corrector method.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    loss : BoxLoss
        Box and linear term, in units where both are of order one.
    gap_tol : float
        Absolute duality gap to reach.
    max_iter : int
        Largest number of factorisations.
    start : tuple of ndarray of shape (n_samples,), optional
        A feasible dual vector and its product with K, to start near.

    Returns
    -------
    v : ndarray of shape (n_samples,)
        Feasible dual vector, the best one found where rounding ends the progress first.
    """
    sides = sides_of(loss)

    def follow(first: Point) -> tuple[Point, float]:
        return _follow(K, loss, sides, first, gap_tol, max_iter)

    point, best = shorter_way(sides, loss, float(np.trace(K)), start, gap_tol, follow)
    return _finish(K, loss, sides, point, max(gap_tol, 2.0 * best))
