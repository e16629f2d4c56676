"""Quadratic programs over many non-negative weights: Mehrotra's interior-point method.

About fifteen Cholesky factorisations, however many weights leave or enter. At the end the weights
that are above zero are solved for exactly, so that the others are exactly zero.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kernelhood._typing import Array, Flags

_RIDGE = 1e-13
_NEARLY_ALL = 0.99
_ITERATIONS = 50
_CLOSE = 1e-11
_STEEPEST = 1e-100
_POLISHES = 10
_LEVEL = 1e-10


def solve_many(Q: Array, c: Array, row: Array, x: Array) -> Array:
    """Minimise ``1/2 x'Qx + c'x`` over ``x >= 0`` with ``row'x`` kept; see `solve_nonneg_qp`."""
    budget = float(row @ x)
    slope = max(float(np.abs(c).mean()), 1e-300)
    diagonal = max(float(np.trace(Q)), _STEEPEST * slope)  # where Q is zero, steps stay finite
    A = Q + (_RIDGE * diagonal + 1e-300) * np.eye(len(x))
    b = c - (_RIDGE * diagonal) * x
    size = budget / float(row.sum()) if budget > 0.0 else slope * len(x) / max(diagonal, 1e-300)
    y, z = np.full(len(x), size), np.full(len(x), slope)
    nu, first = 0.0, float(y @ z)
    for _ in range(_ITERATIONS):
        y, z, nu = _step(A, b, row, budget, y, z, nu)
        if float(y @ z) <= _CLOSE * first:
            break
    return _polished(A, b, row, budget, y, y * slope > z * size)


def _step(
    A: Array, b: Array, row: Array, budget: float, y: Array, z: Array, nu: float
) -> tuple[Array, Array, float]:
    """Take a predictor and a corrector step from one factorisation."""
    curved = A.copy()
    curved.flat[:: len(y) + 1] += z / y
    factor = _factor(curved)
    residual = A @ y + b + nu * row - z
    Z = _solve(factor, row) if budget > 0.0 else row
    missing = budget - float(row @ y)

    def direction(centre: Array) -> tuple[Array, Array, float]:
        right = centre / y - z - residual
        dy = _solve(factor, right)
        dnu = 0.0
        if budget > 0.0:
            dnu = (float(row @ dy) - missing) / float(row @ Z)
            dy = dy - dnu * Z
        return dy, centre / y - z - z / y * dy, dnu

    dy, dz, _ = direction(np.zeros_like(y))
    length = min(_longest(y, dy), _longest(z, dz))
    now = float(y @ z)
    left = float((y + length * dy) @ (z + length * dz)) / now
    centre = left**3 * now / len(y) - dy * dz
    dy, dz, dnu = direction(centre)
    length = min(_longest(y, dy), _longest(z, dz))
    return y + length * dy, z + length * dz, nu + length * dnu


def _factor(A: Array) -> Array:
    """Return a Cholesky factor; LAPACK itself, since around it more time would go into checks."""
    L, info = lapack.dpotrf(A, lower=1, clean=0)
    if info != 0:
        raise np.linalg.LinAlgError("the model of a step is not positive definite")
    return np.asarray(L)


def _solve(L: Array, right: Array) -> Array:
    """Return the solution for a right side from a Cholesky factor."""
    return np.asarray(lapack.dpotrs(L, right, lower=1)[0])


def _longest(value: Array, change: Array) -> float:
    worst = float(np.max(-change / value))
    return min(1.0, _NEARLY_ALL / worst) if worst > 0.0 else 1.0


def _polished(A: Array, b: Array, row: Array, budget: float, y: Array, free: Flags) -> Array:
    """Solve exactly for the weights above zero, and move those that are on the wrong side."""
    for _ in range(_POLISHES):
        if not free.any():
            break
        factor = _factor(A[np.ix_(free, free)])
        found, nu = -_solve(factor, b[free]), 0.0
        if budget > 0.0:
            along = _solve(factor, row[free])
            nu = (float(row[free] @ found) - budget) / float(row[free] @ along)
            found -= nu * along
        x = np.zeros(len(y))
        x[free] = found
        slope = A @ x + b + nu * row
        wrong = np.where(free, x < 0.0, slope < -_LEVEL * np.abs(b).max())
        if not wrong.any():
            return x
        free = free ^ wrong
    kept = np.where(free, y, 0.0)
    total = float(row @ kept)
    return kept * (budget / total) if budget > 0.0 and total > 0.0 else kept
