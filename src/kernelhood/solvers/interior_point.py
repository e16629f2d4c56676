"""Mehrotra's method for the SVM dual: about twenty factorisations of a matrix with a diagonal.

Its cost does not depend on how ill-conditioned the kernel matrix is or how large C is, which is
where pair steps stall. The dual vector is split into its open sides, v_i = sum over the sides k of
sample i of sign_k x_k, with 0 <= x <= cap: one side a sample for the hinge loss, two for the
epsilon-insensitive one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from kernelhood._typing import Array, Indices
from kernelhood.losses import BoxLoss, best_gap, svm_values
from kernelhood.solvers.low_rank_system import LowRankSystem

_NEARLY_ALL = 0.99
_LEAST = 1e-12
_DIVERGED = 100.0
_UNBALANCED = 1e-9


class DenseSystem:
    """A kernel matrix with a diagonal; see `LowRankSystem`.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The kernel matrix.
    group_starts : ndarray of int
        Of the groups of samples with an intercept.
    """

    reached, jitter, balances = 0.5, 1e-15, False
    roundings = (*(10.0**-exponent for exponent in range(5, 13)), 0.0)

    def __init__(self, K: Array, group_starts: Indices) -> None:
        self.K, self._starts, self.n_samples = K, group_starts[:-1], len(K)
        sizes = np.diff(group_starts)
        self._E = np.repeat(np.eye(len(sizes)), sizes, axis=0)

    def trace(self) -> float:
        """Return the trace of the kernel."""
        return float(np.trace(self.K))

    def multiply(self, v: Array) -> Array:
        """Return the product of the kernel, without the diagonal, with a vector."""
        return self.K @ v

    def factorise(self, d: Array) -> None:
        """Factorise with a diagonal, of shape (n_samples,) and positive."""
        A = self.K.copy()
        A.flat[:: len(A) + 1] += d
        self._L, info = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError("the matrix of a step is not positive definite")
        self._Z = lapack.dpotrs(self._L, self._E, lower=1)[0]

    def solve_with_sums(self, R: Array, sums: Array) -> tuple[Array, Array]:
        """Return x and b with ``A x + E b = R`` and ``E'x = sums``, E marking the groups."""
        X = lapack.dpotrs(self._L, R, lower=1)[0]
        b = np.linalg.solve(self._sums(self._Z), self._sums(X) - sums)
        return np.asarray(X - self._Z @ b), np.asarray(b)

    def _sums(self, values: Array) -> Array:
        return np.add.reduceat(values, self._starts, axis=0)


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


def add_up(places: Indices, values: Array, size: int) -> Array:
    """Return the sum of the values at each place."""
    return np.bincount(places, values, size).astype(np.float64, copy=False)


def moved(point: Point, step: Point, length: float) -> Point:
    """Return the point that is so many steps ahead."""
    return Point(*(here + length * change for here, change in zip(point, step, strict=True)))


def longest(point: Point, step: Point) -> float:
    """Return the largest length in (0, 1] that keeps every entry positive."""
    pairs = zip(point[:4], step[:4], strict=True)
    worst = max(float(np.max(-change / here)) for here, change in pairs)
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


def solve_interior_point(
    system: DenseSystem | LowRankSystem,
    loss: BoxLoss,
    gap_tol: float,
    *,
    ridge: float = 0.0,
    start: tuple[Array, Array] | None = None,
    max_iter: int = 60,
) -> tuple[Array, Array]:
    """Solve the SVM dual.

    Parameters
    ----------
    system : DenseSystem or LowRankSystem
        The kernel.
    loss : BoxLoss
        Box and linear term, in units in which both are of order one.
    gap_tol : float
        Absolute duality gap to reach.
    ridge : float
        Added to the diagonal of the kernel.
    start : tuple of ndarray of shape (n_samples,), optional
        A feasible dual vector, for example the solution for a similar kernel, and its product with
        the kernel and the ridge. From near it the way is most often the shorter one, and sometimes
        none: then the path is followed from the centre.
    max_iter : int
        Largest number of factorisations.

    Returns
    -------
    v, Kv : ndarray of shape (n_samples,)
        Feasible dual vector, the best one found if rounding ends the progress first, and its
        product with the kernel and the ridge.
    """
    sides = sides_of(loss)
    ways = [centre(sides, loss, system.trace() + system.n_samples * ridge)]
    if start is not None:
        ways.insert(0, near(sides, loss, *start))
    point, best = ways[0], np.inf
    for first in ways:
        if best > gap_tol:
            found = _follow(system, loss, sides, first, ridge, gap_tol, max_iter)
            point, best = min((point, best), found, key=lambda one: one[1])
    return _finished(system, loss, sides, point, max(gap_tol, 2.0 * best), ridge)


def _follow(
    system: DenseSystem | LowRankSystem,
    loss: BoxLoss,
    sides: Sides,
    point: Point,
    ridge: float,
    gap_tol: float,
    max_iter: int,
) -> tuple[Point, float]:
    """Follow the central path; return the best feasible point on it and its gap."""
    n, n_groups = system.n_samples, len(point.intercepts)
    jitter = system.jitter * (system.trace() + n * ridge)
    best, best_point = np.inf, point
    v = add_up(sides.sample, sides.sign * point.x, n)
    Kv = system.multiply(v) + ridge * v
    for _ in range(max_iter):
        try:
            point = _newton_step(system, sides, point, Kv, ridge + jitter)
        except np.linalg.LinAlgError:  # rounding has ended the progress
            break
        v = add_up(sides.sample, sides.sign * point.x, n)
        if system.balances:
            v = rounded(sides, point, 0.0, n)
        Kv = system.multiply(v) + ridge * v
        gap, off = best_gap(v, Kv, loss), float(np.abs(add_up(sides.group, v, n_groups)).max())
        if gap < best and off <= _UNBALANCED * float(np.abs(v).sum()):
            best, best_point = gap, point
        # Far from the centre of its path the gap may rise for a while.
        left = float(point.x @ point.z + point.s @ point.w)
        if best <= system.reached * gap_tol or (gap > _DIVERGED * best and left < best):
            break
    return best_point, best


def _newton_step(
    system: DenseSystem | LowRankSystem, sides: Sides, point: Point, Kv: Array, ridge: float
) -> Point:
    """Take Mehrotra's step: a predictor, then a corrector from the same factorisation."""
    force = Kv + point.intercepts[sides.group]
    residual = sides.slope - point.z + point.w + sides.sign * force[sides.sample]
    bends = point.z / point.x + point.w / point.s
    weight = add_up(sides.sample, 1.0 / bends, len(Kv))
    system.factorise(ridge + 1.0 / weight)
    xz, sw = point.x * point.z, point.s * point.w
    ahead = _direction(system, sides, point, weight, residual, -xz, -sw)
    now = float(xz.sum() + sw.sum())
    there = moved(point, ahead, longest(point, ahead))
    left = (float(there.x @ there.z) + float(there.s @ there.w)) / now
    centre = left**3 * now / (2 * len(sides.cap))
    rz, rw = centre - xz - ahead.x * ahead.z, centre - sw - ahead.s * ahead.w
    step = _direction(system, sides, point, weight, residual, rz, rw)
    return moved(point, step, longest(point, step))


def _direction(
    system: DenseSystem | LowRankSystem,
    sides: Sides,
    point: Point,
    weight: Array,
    residual: Array,
    rz: Array,
    rw: Array,
) -> Point:
    """Solve the linearised optimality conditions."""
    n, n_groups = len(weight), len(point.intercepts)
    bends = point.z / point.x + point.w / point.s
    pull = rz / point.x - rw / point.s - residual
    total = add_up(sides.sample, sides.sign * pull / bends, n)
    excess = add_up(sides.group, add_up(sides.sample, sides.sign * point.x, n), n_groups)
    right = (total / weight)[:, None]
    found, intercepts = system.solve_with_sums(right, -excess[:, None])
    force = (total - found[:, 0]) / weight
    dx = (pull - sides.sign * force[sides.sample]) / bends
    dz, dw = (rz - point.z * dx) / point.x, (rw + point.w * dx) / point.s
    return Point(dx, -dx, dz, dw, intercepts[:, 0])


def _finished(
    system: DenseSystem | LowRankSystem,
    loss: BoxLoss,
    sides: Sides,
    point: Point,
    gap_tol: float,
    ridge: float,
) -> tuple[Array, Array]:
    """Return the sparsest of a few roundings of the point that keeps the gap."""
    largest = float(point.x.max())
    for small in system.roundings:
        v = rounded(sides, point, largest * small, system.n_samples)
        v = np.clip(v, loss.lower, loss.upper)
        Kv = system.multiply(v) + ridge * v
        if best_gap(v, Kv, loss) <= gap_tol:
            break
    return v, Kv
