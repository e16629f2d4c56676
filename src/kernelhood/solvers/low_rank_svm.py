"""Mehrotra's method for the SVM dual with a kernel of low rank.

The same path as `solvers.dense.interior_point` follows, with linear systems that never form a
matrix of samples by samples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.losses import BoxLoss, best_gap
from kernelhood.operators.low_rank import LowRankKernels
from kernelhood.solvers.hessian import Factor
from kernelhood.solvers.interior_point import (
    Point,
    Sides,
    add_up,
    longest,
    moved,
    rounded,
    shorter_way,
    sides_of,
)
from kernelhood.solvers.low_rank_system import LowRankSystem

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


_SINGULAR = 1e-10
_FEW = 200
_MOST_NUMBERS = 2**24


class Slopes(NamedTuple):
    """How the solution of an SVM changes with the weights, up to the next bound.

    Attributes
    ----------
    free : ndarray of int
        The entries of v that change.
    by_weight : ndarray of shape (n_free, n_kept)
        Their derivatives.
    """

    free: Indices
    by_weight: Array


def solve_low_rank_svm(
    operator: LowRankKernels,
    weights: Array,
    loss: BoxLoss,
    v: Array,
    Kv: Array,
    ridge: float,
    gap_tol: float,
) -> Array:
    """Maximise ``target'v - epsilon |v|_1 - 1/2 v'Kv`` over the box with ``1'v = 0`` per group.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels.
    weights : ndarray of shape (n_weights,)
        Their weights.
    loss : BoxLoss
        Box and linear term, in units where both are of order one.
    v, Kv : ndarray of shape (n_samples,)
        A feasible start and its product with the kernel and the ridge.
    ridge : float
        Added to the diagonal of the kernel.
    gap_tol : float
        Absolute duality gap to reach.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    gap = best_gap(v, Kv, loss)
    if gap <= gap_tol:
        return v
    system = LowRankSystem(operator, weights, loss.group_starts)
    start = (v, Kv) if v.any() else None
    other, K_other = solve_interior_point(system, loss, ridge, gap_tol, start=start)
    return other if best_gap(other, K_other, loss) < gap else v


def low_rank_hessian(
    operator: LowRankKernels,
    weights: Array,
    ridge: float,
    v: Array,
    products: Array,
    loss: BoxLoss,
    kept: Flags | None = None,
) -> tuple[Array, Slopes | None]:
    """Return the Hessian of the SVM's value, and the slopes of its solution if there are many.

    See `solvers.hessian.value_hessian`.

    Parameters
    ----------
    operator, weights, ridge
        The kernel.
    v : ndarray of shape (n_samples,)
        Solution of the SVM.
    products : ndarray
        The operator's products with v.
    loss : BoxLoss
        Box of the dual.
    kept : ndarray of bool, shape (n_weights,), optional
        The weights that are wanted; all by default.
    """
    free = np.flatnonzero((v > loss.lower) & (v < loss.upper) & (v != 0.0))
    n_weights = operator.n_weights if kept is None else int(np.count_nonzero(kept))
    if len(free) < 2:
        return np.zeros((n_weights, n_weights)), None
    some = operator.restricted(free)
    starts = loss.group_starts if len(loss.group_starts) == 2 else some.cells.starts
    system = LowRankSystem(some, weights, starts)
    mean = system.trace() / len(free)
    if mean == 0.0:
        return np.zeros((n_weights, n_weights)), None
    ridge, U = max(ridge, _SINGULAR * mean), operator.columns(products, free, kept)
    if len(free) <= _FEW:  # Written out, the matrix loses fewer digits.
        kernel = some.combined(weights, ridge, some.row_buffer())
        groups = starts if len(starts) > 2 else np.array([0, len(free)])
        factor = Factor.of(some.block(kernel, np.arange(len(free))), groups)
        if factor is not None:
            return factor.form(U), None
    system.factorise(np.full(len(free), ridge))
    n_groups = 1 if len(loss.group_starts) == 2 else len(starts) - 1
    ZU, _ = system.solve_with_sums(U, np.zeros((n_groups, U.shape[1])))
    H = U.T @ ZU
    slopes = Slopes(free, -ZU) if ZU.size <= _MOST_NUMBERS else None
    return np.asarray(0.5 * (H + H.T)), slopes
