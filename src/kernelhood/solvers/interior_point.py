"""A primal-dual interior-point method for the SVM dual: about twenty Cholesky factorisations.

Its cost does not depend on how ill-conditioned the kernel matrix is or how large C is, which is
where pair steps stall. The dual vector is split into its two sides, v = x[0] - x[1] with
0 <= x <= cap; s = cap - x are the slacks, z and w the multipliers of x >= 0 and s >= 0. A side
with cap 0 is closed: its entries stay 0 and take no part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.svm_value import svm_gap
from kernelhood.solvers.triangular import cholesky_solve

_NEARLY_ALL = 0.99


class _Point(NamedTuple):
    """A point of the central path, or a direction; arrays of shape (2, n_samples)."""

    x: Array
    s: Array
    z: Array
    w: Array


@compiled
def _start(cap: Array, K: Array) -> _Point:
    """Return a point inside the box at which Kv is of order one, with unit multipliers."""
    x = np.minimum(0.5 * cap, cap.shape[1] / max(np.trace(K), 1e-300))
    z = np.where(cap > 0.0, 1.0, 0.0)
    return _Point(x, cap - x, z, z.copy())


@compiled
def _bends(point: _Point) -> Array:
    """Return ``z/x + w/s``, the curvature of the barrier; infinite on closed sides."""
    bends = np.full(point.x.shape, np.inf)
    for side in range(2):
        for i in range(bends.shape[1]):
            if point.x[side, i] > 0.0:
                bends[side, i] = (
                    point.z[side, i] / point.x[side, i] + point.w[side, i] / point.s[side, i]
                )
    return bends


@compiled
def _direction(
    L: Array, point: _Point, bends: Array, residual: Array, rz: Array, rw: Array
) -> tuple[_Point, float]:
    """Solve the linearised optimality conditions for the step and the change of the intercept.

    Parameters
    ----------
    L : ndarray of shape (n_samples, n_samples)
        Cholesky factor of ``K + diag(1 / sum over sides of 1 / bends)``.
    point, bends
        Where we are, and the curvature of its barrier.
    residual, rz, rw : ndarray of shape (2, n_samples)
        What is missing in stationarity, ``x z`` and ``s w``.
    """
    n = L.shape[0]
    pull, total, weight, v_sum = np.zeros((2, n)), np.zeros(n), np.zeros(n), 0.0
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for i in range(n):
            if point.x[side, i] > 0.0:
                pull[side, i] = (
                    rz[side, i] / point.x[side, i]
                    - rw[side, i] / point.s[side, i]
                    - residual[side, i]
                )
                total[i] += sign * pull[side, i] / bends[side, i]
                weight[i] += 1.0 / bends[side, i]
                v_sum += sign * point.x[side, i]
    first, ones = cholesky_solve(L, total / weight), cholesky_solve(L, np.ones(n))
    change = (first.sum() + v_sum) / ones.sum()
    force = (total - first + change * ones) / weight
    step = _Point(np.zeros((2, n)), np.zeros((2, n)), np.zeros((2, n)), np.zeros((2, n)))
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for i in range(n):
            if point.x[side, i] > 0.0:
                dx = (pull[side, i] - sign * force[i]) / bends[side, i]
                step.x[side, i] = dx
                step.s[side, i] = -dx
                step.z[side, i] = (rz[side, i] - point.z[side, i] * dx) / point.x[side, i]
                step.w[side, i] = (rw[side, i] + point.w[side, i] * dx) / point.s[side, i]
    return step, change


@compiled
def _length(point: _Point, step: _Point) -> float:
    """Return the largest step in (0, 1] that keeps every open entry positive."""
    longest = 1.0
    for values, change in zip(point, step):  # noqa: B905 - compiled zip takes no keyword
        for side in range(2):
            for i in range(values.shape[1]):
                if change[side, i] < 0.0:
                    longest = min(longest, -_NEARLY_ALL * values[side, i] / change[side, i])
    return longest


@compiled
def _complementarity(point: _Point, step: _Point, length: float) -> float:
    """Return ``x'z + s'w`` at ``point + length * step``."""
    return np.sum((point.x + length * step.x) * (point.z + length * step.z)) + np.sum(
        (point.s + length * step.s) * (point.w + length * step.w)
    )


@compiled
def _snapped(point: _Point, cap: Array, small: float) -> Array:
    """Return the dual vector with entries closer than `small` to a bound put there, sum zero."""
    n = cap.shape[1]
    v, room = np.zeros(n), np.zeros(n)
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for i in range(n):
            x = point.x[side, i]
            if point.s[side, i] < small and point.w[side, i] > point.s[side, i]:
                x = cap[side, i]
            elif x < small and point.z[side, i] > x:
                x = 0.0
            else:
                room[i] += min(x, cap[side, i] - x)
            v[i] += sign * x
    if room.sum() > 0.0:
        v -= min(1.0, max(-1.0, v.sum() / room.sum())) * room
    return v


@compiled
def _finish(K: Array, terms: DualTerms, point: _Point, cap: Array, gap_tol: float) -> Array:
    """Return the sparsest of a few roundings of the point that keeps the gap."""
    largest = np.max(point.x)
    for exponent in range(5, 13):
        v = _snapped(point, cap, largest * 10.0**-exponent)
        if svm_gap(v, K @ v, terms) <= gap_tol:
            return v
    return _snapped(point, cap, 0.0)


@compiled
def solve_interior_point(
    K: Array, terms: DualTerms, gap_tol: float, max_iter: int
) -> tuple[Array, int]:
    """Solve the SVM dual by Mehrotra's predictor-corrector method.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    terms : DualTerms
        Box and linear term, in units where both are of order one.
    gap_tol : float
        Absolute duality gap to reach.
    max_iter : int
        Largest number of factorisations.

    Returns
    -------
    v : ndarray of shape (n_samples,)
        Feasible dual vector.
    n_iter : int
        Factorisations done.
    """
    n = K.shape[0]
    cap, slope = np.empty((2, n)), np.empty((2, n))
    cap[0], cap[1] = terms.upper, -terms.lower
    slope[0], slope[1] = terms.epsilon - terms.target, terms.epsilon + terms.target
    n_open = 2.0 * np.sum(cap > 0.0)
    jitter = 1e-15 * np.trace(K)
    point, intercept = _start(cap, K), 0.0
    v = point.x[0] - point.x[1]
    best, best_point = np.inf, point
    iteration = 0
    for iteration in range(1, max_iter + 1):
        force = K @ v + intercept
        residual = slope - point.z + point.w
        residual[0] += force
        residual[1] -= force
        bends = _bends(point)
        A = K.copy()
        for i in range(n):
            A[i, i] += jitter + 1.0 / (1.0 / bends[0, i] + 1.0 / bends[1, i])
        L = np.linalg.cholesky(A)
        xz, sw = point.x * point.z, point.s * point.w
        step, change = _direction(L, point, bends, residual, -xz, -sw)
        length = _length(point, step)
        now = xz.sum() + sw.sum()
        ahead = _complementarity(point, step, length)
        centre = (ahead / now) ** 3 * now / n_open
        rz, rw = centre - xz - step.x * step.z, centre - sw - step.s * step.w
        step, change = _direction(L, point, bends, residual, rz, rw)
        length = _length(point, step)
        for values, moves in zip(point, step):  # noqa: B905
            values += length * moves
        intercept += length * change
        v = point.x[0] - point.x[1]
        gap = svm_gap(v, K @ v, terms)
        if gap < best and abs(v.sum()) <= 1e-9 * np.sum(np.abs(v)):
            best = gap
            best_point = _Point(point.x.copy(), point.s.copy(), point.z.copy(), point.w.copy())
        elif gap > 100.0 * best:
            break
        if best <= 0.5 * gap_tol:
            break
    return _finish(K, terms, best_point, cap, max(gap_tol, 2.0 * best)), iteration
