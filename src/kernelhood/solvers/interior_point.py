"""A primal-dual interior-point method for the SVM dual: about twenty Cholesky factorisations.

Its cost does not depend on how ill-conditioned the kernel matrix is or how large C is, which is
where pair steps stall. The dual vector is split into its open sides, v_i = sum over the sides k of
sample i of sign_k x_k, with 0 <= x <= cap: one side a sample for the hinge loss, two for the
epsilon-insensitive one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelhood._typing import Array, Indices
from kernelhood.losses import DualTerms
from kernelhood.solvers.svm_value import best_intercepts, svm_gap

_NEARLY_ALL = 0.99
_DIVERGED = 100.0


@dataclass(frozen=True)
class _Sides:
    """The open sides of the box: sample, sign, width and slope of each; the samples' groups."""

    sample: Indices
    sign: Array
    cap: Array
    slope: Array
    group: Indices
    n_groups: int

    @classmethod
    def of(cls, terms: DualTerms) -> _Sides:
        n = len(terms.target)
        sample = np.concatenate([np.arange(n), np.arange(n)])
        sign = np.repeat([1.0, -1.0], n)
        cap = np.concatenate([terms.upper, -terms.lower])
        slope = terms.epsilon - sign * terms.target[sample]
        opened = cap > 0.0
        sizes = np.diff(terms.starts)
        group = np.repeat(np.arange(len(sizes)), sizes)
        return cls(sample[opened], sign[opened], cap[opened], slope[opened], group, len(sizes))

    def add_up(self, values: Array) -> Array:
        """Return the sum over each sample's sides."""
        return np.bincount(self.sample, values, len(self.group)).astype(np.float64)

    def group_sums(self, values: Array) -> Array:
        """Return the sum over each group's samples."""
        return np.bincount(self.group, values, self.n_groups).astype(np.float64)


@dataclass(frozen=True)
class _Point:
    """A point inside the box, or a direction.

    x and s are the distances from the two bounds, z and w their multipliers.
    """

    x: Array
    s: Array
    z: Array
    w: Array
    intercepts: Array

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(
            self.x + length * step.x,
            self.s + length * step.s,
            self.z + length * step.z,
            self.w + length * step.w,
            self.intercepts + length * step.intercepts,
        )

    def complementarity(self) -> float:
        return float(self.x @ self.z + self.s @ self.w)

    def longest(self, step: _Point) -> float:
        """Return the largest length in (0, 1] that keeps every entry positive."""
        pairs = ((self.x, step.x), (self.s, step.s), (self.z, step.z), (self.w, step.w))
        worst = max(float(np.max(-change / value)) for value, change in pairs)
        return min(1.0, _NEARLY_ALL / worst) if worst > 0.0 else 1.0


def _direction(
    factor: tuple[Array, bool],
    sides: _Sides,
    point: _Point,
    residual: Array,
    rz: Array,
    rw: Array,
) -> _Point:
    """Solve the linearised optimality conditions.

    Parameters
    ----------
    factor : tuple
        Cholesky factor of ``K + diag(1 / weight)``, weight the sum over sides of 1 / bends.
    sides, point
        The box and where we are in it.
    residual, rz, rw : ndarray of shape (n_sides,)
        What is missing in stationarity, ``x z`` and ``s w``.
    """
    bends = point.z / point.x + point.w / point.s
    pull = rz / point.x - rw / point.s - residual
    total = sides.add_up(sides.sign * pull / bends)
    weight = sides.add_up(1.0 / bends)
    E = np.eye(sides.n_groups)[sides.group]
    both = cho_solve(factor, np.column_stack([total / weight, E]), check_finite=False)
    ZE = both[:, 1:]
    excess = sides.group_sums(sides.add_up(sides.sign * point.x))
    intercepts = np.linalg.solve(E.T @ ZE, E.T @ both[:, 0] + excess)
    force = (total - both[:, 0] + ZE @ intercepts) / weight
    dx = (pull - sides.sign * force[sides.sample]) / bends
    return _Point(dx, -dx, (rz - point.z * dx) / point.x, (rw + point.w * dx) / point.s, intercepts)


def _newton_step(K: Array, sides: _Sides, point: _Point, v: Array, jitter: float) -> _Point:
    """Return Mehrotra's step: a predictor, then a corrector from the same factorisation."""
    force = K @ v + point.intercepts[sides.group]
    residual = sides.slope - point.z + point.w + sides.sign * force[sides.sample]
    A = K.copy()
    weight = sides.add_up(1.0 / (point.z / point.x + point.w / point.s))
    A.flat[:: len(A) + 1] += jitter + 1.0 / weight
    factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    xz, sw = point.x * point.z, point.s * point.w
    ahead = _direction(factor, sides, point, residual, -xz, -sw)
    now = point.complementarity()
    left = point.moved(ahead, point.longest(ahead)).complementarity() / now
    centre = left**3 * now / (2 * len(sides.cap))
    rz, rw = centre - xz - ahead.x * ahead.z, centre - sw - ahead.s * ahead.w
    return _direction(factor, sides, point, residual, rz, rw)


def _rounded(sides: _Sides, point: _Point, small: float) -> Array:
    """Return the dual vector with entries closer than `small` to a bound put there.

    What is left over is spread so that the sum over every group is zero.
    """
    full = (point.s < small) & (point.w > point.s)
    empty = (point.x < small) & (point.z > point.x) & ~full
    x = np.where(full, sides.cap, np.where(empty, 0.0, point.x))
    v = sides.add_up(sides.sign * x)
    room = sides.add_up(np.where(full | empty, 0.0, np.minimum(point.x, point.s)))
    excess, total = sides.group_sums(v), np.maximum(sides.group_sums(room), 1e-300)
    return v - np.clip(excess / total, -1.0, 1.0)[sides.group] * room


def _finish(K: Array, terms: DualTerms, sides: _Sides, point: _Point, gap_tol: float) -> Array:
    """Return the sparsest of a few roundings of the point that keeps the gap."""
    largest = float(np.max(point.x))
    v = point.x
    for small in [10.0**-exponent for exponent in range(5, 13)] + [0.0]:
        v = np.clip(_rounded(sides, point, largest * small), terms.lower, terms.upper)
        if _gap(K, terms, v) <= gap_tol:
            break
    return v


def _gap(K: Array, terms: DualTerms, v: Array) -> float:
    Kv = K @ v
    return svm_gap(v, Kv, best_intercepts(Kv, terms), terms)


def solve_interior_point(K: Array, terms: DualTerms, gap_tol: float, max_iter: int = 60) -> Array:
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
        Feasible dual vector, the best one found where rounding ends the progress first.
    """
    sides = _Sides.of(terms)
    trace = float(np.trace(K))
    x = np.minimum(0.5 * sides.cap, len(K) / max(trace, 1e-300))
    ones = np.ones_like(x)
    point = _Point(x, sides.cap - x, ones, ones, np.zeros(sides.n_groups))
    v = sides.add_up(sides.sign * x)
    best, best_point = np.inf, point
    for _ in range(max_iter):
        try:
            step = _newton_step(K, sides, point, v, 1e-15 * trace)
        except np.linalg.LinAlgError:
            break
        point = point.moved(step, point.longest(step))
        v = sides.add_up(sides.sign * point.x)
        gap = _gap(K, terms, v)
        if gap < best and np.all(np.abs(sides.group_sums(v)) <= 1e-9 * np.abs(v).sum()):
            best, best_point = gap, point
        if best <= 0.5 * gap_tol or gap > _DIVERGED * best:
            break
    return _finish(K, terms, sides, best_point, max(gap_tol, 2.0 * best))
