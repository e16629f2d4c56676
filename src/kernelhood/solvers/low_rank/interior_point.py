"""Mehrotra's method for the SVM dual with a kernel of low rank.

The same path as `solvers.interior_point` follows, with linear systems that never form a matrix of
samples by samples.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses.box import BoxLoss, best_gap
from kernelhood.solvers.interior_point import (
    _add_up,
    _longest,
    _moved,
    _Point,
    _rounded,
    _Sides,
    _sides_of,
)
from kernelhood.solvers.low_rank.system import LowRankSystem

_ROUNDINGS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 0.0)
_ROUNDING = 1e-14
_DIVERGED = 100.0


def solve_interior_point(
    system: LowRankSystem, loss: BoxLoss, ridge: float, gap_tol: float, max_iter: int = 60
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

    Returns
    -------
    v, Kv : ndarray of shape (n_samples,)
        Feasible dual vector, and its product with the kernel and the ridge.
    """
    sides, n = _sides_of(loss), system.n_samples
    size = system.trace() + n * ridge
    x = np.minimum(0.5 * sides.cap, n / max(size, 1e-300))
    ones, level = np.ones_like(x), np.zeros(len(loss.group_starts) - 1)
    point, best, best_point = _Point(x, sides.cap - x, ones, ones, level), np.inf, None
    v = _add_up(sides.sample, sides.sign * x, n)
    Kv = system.multiply(v) + ridge * v
    for _ in range(max_iter):
        try:
            point = _newton_step(system, sides, point, Kv, ridge + _ROUNDING * size)
        except np.linalg.LinAlgError:  # rounding has ended the progress
            break
        v = _rounded(sides, point, 0.0, n)
        Kv = system.multiply(v) + ridge * v
        gap = best_gap(v, Kv, loss)
        if gap < best:
            best, best_point = gap, point
        left = float(point.x @ point.z + point.s @ point.w)
        if best <= 0.5 * gap_tol or (gap > _DIVERGED * best and left < best):
            break
    return _finished(system, loss, sides, best_point or point, max(gap_tol, 2.0 * best), ridge)


def _newton_step(
    system: LowRankSystem, sides: _Sides, point: _Point, Kv: Array, ridge: float
) -> _Point:
    """Take Mehrotra's step: a predictor, then a corrector from the same factorisation."""
    force = Kv + point.intercepts[sides.group]
    residual = sides.slope - point.z + point.w + sides.sign * force[sides.sample]
    bends = point.z / point.x + point.w / point.s
    weight = _add_up(sides.sample, 1.0 / bends, len(Kv))
    system.factorise(ridge + 1.0 / weight)
    xz, sw = point.x * point.z, point.s * point.w
    ahead = _direction(system, sides, point, weight, residual, -xz, -sw)
    now = float(xz.sum() + sw.sum())
    there = _moved(point, ahead, _longest(point, ahead))
    left = (float(there.x @ there.z) + float(there.s @ there.w)) / now
    centre = left**3 * now / (2 * len(sides.cap))
    rz, rw = centre - xz - ahead.x * ahead.z, centre - sw - ahead.s * ahead.w
    step = _direction(system, sides, point, weight, residual, rz, rw)
    return _moved(point, step, _longest(point, step))


def _direction(
    system: LowRankSystem,
    sides: _Sides,
    point: _Point,
    weight: Array,
    residual: Array,
    rz: Array,
    rw: Array,
) -> _Point:
    """Solve the linearised optimality conditions; see `solvers.interior_point`."""
    n, n_groups = len(weight), len(point.intercepts)
    bends = point.z / point.x + point.w / point.s
    pull = rz / point.x - rw / point.s - residual
    total = _add_up(sides.sample, sides.sign * pull / bends, n)
    excess = _add_up(sides.group, _add_up(sides.sample, sides.sign * point.x, n), n_groups)
    right = (total / weight)[:, None]
    found, intercepts = system.solve_with_sums(right, -excess[:, None])
    force = (total - found[:, 0]) / weight
    dx = (pull - sides.sign * force[sides.sample]) / bends
    dz, dw = (rz - point.z * dx) / point.x, (rw + point.w * dx) / point.s
    return _Point(dx, -dx, dz, dw, intercepts[:, 0])


def _finished(
    system: LowRankSystem,
    loss: BoxLoss,
    sides: _Sides,
    point: _Point,
    gap_tol: float,
    ridge: float,
) -> tuple[Array, Array]:
    """Return the sparsest of a few roundings of the point that keeps the gap."""
    largest = float(point.x.max())
    for small in _ROUNDINGS:
        v = _rounded(sides, point, largest * small, system.n_samples)
        v = np.clip(v, loss.lower, loss.upper)
        Kv = system.multiply(v) + ridge * v
        if best_gap(v, Kv, loss) <= gap_tol:
            break
    return v, Kv
