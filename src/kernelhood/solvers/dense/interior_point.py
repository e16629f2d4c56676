"""A primal-dual interior-point method for the SVM dual: about twenty Cholesky factorisations.

Its cost does not depend on how ill-conditioned the kernel matrix is or how large C is, which is
where pair steps stall. The dual vector is split into its open sides, v_i = sum over the sides k of
sample i of sign_k x_k, with 0 <= x <= cap: one side a sample for the hinge loss, two for the
epsilon-insensitive one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kernelhood._compiled import compiled
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
