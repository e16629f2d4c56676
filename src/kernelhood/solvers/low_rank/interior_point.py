"""Mehrotra's method for the SVM dual with a kernel of low rank.

The same path as `solvers.dense.interior_point` follows, with linear systems that never form a
matrix of samples by samples.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses.box import BoxLoss, best_gap
from kernelhood.solvers.central_path import (
    Point,
    Sides,
    add_up,
    longest,
    moved,
    rounded,
    shorter_way,
    sides_of,
)
from kernelhood.solvers.low_rank.system import LowRankSystem

_ROUNDINGS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 0.0)
_ROUNDING = 1e-14
_DIVERGED = 100.0
#: How far below the wanted gap the path is followed: what is put to its bounds adds to the gap.
_REACHED = 0.3


def solve_interior_point(
    system: LowRankSystem,
    loss: BoxLoss,
    ridge: float,
    gap_tol: float,
    max_iter: int = 60,
    start: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Solve the SVM dual.

    Parameters
    ----------
    system : LowRankSystem
        The kernel.
    loss : BoxLoss
        Box and linear term, in units where both are of order one.
    ridge : float
        Added to the diagonal of the kernel.
    gap_tol : float
        Absolute duality gap to reach.
    max_iter : int
        Largest number of factorisations.
    start : tuple of ndarray of shape (n_samples,), optional
        A feasible dual vector, for example the solution for a similar kernel, and its product with
        the kernel and the ridge.

    Returns
    -------
    v, Kv : ndarray of shape (n_samples,)
        Feasible dual vector, and its product with the kernel and the ridge.
    """
    sides, trace = sides_of(loss), system.trace() + system.n_samples * ridge

    def follow(first: Point) -> tuple[Point, float]:
        return _follow(system, loss, sides, first, ridge, gap_tol, max_iter)

    point, best = shorter_way(sides, loss, trace, start, gap_tol, follow)
    return _finished(system, loss, sides, point, max(gap_tol, 2.0 * best), ridge)


def _follow(
    system: LowRankSystem,
    loss: BoxLoss,
    sides: Sides,
    point: Point,
    ridge: float,
    gap_tol: float,
    max_iter: int,
) -> tuple[Point, float]:
    """Follow the central path; return the best point on it and its gap."""
    n = system.n_samples
    rounding = _ROUNDING * (system.trace() + n * ridge)
    best, best_point = np.inf, point
    v = add_up(sides.sample, sides.sign * point.x, n)
    Kv = system.multiply(v) + ridge * v
    for _ in range(max_iter):
        try:
            point = _newton_step(system, sides, point, Kv, ridge + rounding)
        except np.linalg.LinAlgError:  # rounding has ended the progress
            break
        v = rounded(sides, point, 0.0, n)
        Kv = system.multiply(v) + ridge * v
        gap = best_gap(v, Kv, loss)
        if gap < best:
            best, best_point = gap, point
        left = float(point.x @ point.z + point.s @ point.w)
        if best <= _REACHED * gap_tol or (gap > _DIVERGED * best and left < best):
            break
    return best_point, best


def _newton_step(
    system: LowRankSystem, sides: Sides, point: Point, Kv: Array, ridge: float
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
    system: LowRankSystem,
    sides: Sides,
    point: Point,
    weight: Array,
    residual: Array,
    rz: Array,
    rw: Array,
) -> Point:
    """Solve the linearised optimality conditions; see `solvers.dense.interior_point`."""
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
    system: LowRankSystem,
    loss: BoxLoss,
    sides: Sides,
    point: Point,
    gap_tol: float,
    ridge: float,
) -> tuple[Array, Array]:
    """Return the sparsest of a few roundings of the point that keeps the gap."""
    largest = float(point.x.max())
    for small in _ROUNDINGS:
        v = rounded(sides, point, largest * small, system.n_samples)
        v = np.clip(v, loss.lower, loss.upper)
        Kv = system.multiply(v) + ridge * v
        if best_gap(v, Kv, loss) <= gap_tol:
            break
    return v, Kv
