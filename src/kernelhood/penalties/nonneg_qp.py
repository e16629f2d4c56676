"""Quadratic programs over non-negative weights: an active-set method, or one for many weights."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import Array, Flags, Indices

_RIDGE = 1e-13
_LEVEL = 1e-12
_STEEPEST = 1e-200
_FEW = 64


@inlined
def _eliminate(A: Array, n: int) -> None:
    """Solve a system of n equations by elimination with pivots, in place.

    The right side stands behind the columns of the matrix, and becomes the solution.
    """
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        for j in range(k, n + 1):
            A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        for i in range(n):
            ratio = A[i, k] / A[k, k] if i != k else 0.0
            for j in range(k, n + 1):
                A[i, j] -= ratio * A[k, j]
    for k in range(n):
        A[k, n] /= A[k, k]


@inlined
def _minimise_on_face(
    Q: Array, c: Array, row: Array, x: Array, free: Indices, size: int, ridge: float, room: Array
) -> None:
    """Minimise over the free entries, keeping ``row'x``.

    The solution of the system in `room` are the free entries and the multiplier.
    """
    last = size + 1
    for a in range(last):
        for b in range(last + 1):
            room[a, b] = 0.0
    room[size, size] = 1.0
    for a in range(size):
        i = free[a]
        for b in range(size):
            room[a, b] = Q[i, free[b]]
        room[a, a] += ridge
        room[a, last] = ridge * x[i] - c[i]
        room[a, size], room[size, a] = row[i], row[i]
        room[size, last] += row[i] * x[i]
        if row[i] > 0.0:
            room[size, size] = 0.0
    _eliminate(room, last)


def solve_nonneg_qp(Q: Array, c: Array, row: Array, x: Array) -> Array:
    """Minimise ``1/2 x'Qx + c'x`` over ``x >= 0`` with ``row'x`` kept at its first value.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Positive semi-definite; a ridge at rounding level is added towards the start.
    c : ndarray of shape (n,)
        Linear term.
    row : ndarray of shape (n,)
        Non-negative coefficients of the budget; zeros for no budget.
    x : ndarray of shape (n,)
        Start, ``x >= 0``; exact zeros start outside the working set.

    Returns
    -------
    ndarray of shape (n,)
        The minimiser, with exact zeros.
    """
    return _active_set(Q, c, row, x) if len(x) <= _FEW else solve_many(Q, c, row, x)


def _active_set(Q: Array, c: Array, row: Array, x: Array) -> Array:
    """Move from face to face, one weight at a time: exact and fast for few weights."""
    x, n = x.copy(), len(x)
    largest = float(np.abs(c).max(initial=0.0))
    # If Q is zero, steps stay finite.
    ridge = max(1e-300 + _RIDGE * float(Q.trace()), _STEEPEST * largest)
    free = np.empty(n, dtype=np.intp)
    _walk_faces(Q, c, row, x, free, ridge, _LEVEL * largest, np.empty((n + 1, n + 2)))
    return x


@compiled
def _walk_faces(
    Q: Array, c: Array, row: Array, x: Array, free: Indices, ridge: float, level: float, room: Array
) -> None:
    """Walk to the minimiser; x is changed in place."""
    n, size = x.shape[0], x.shape[0] - x.shape[0]
    for i in range(n):
        if x[i] > 0.0:
            free[size] = i
            size += 1
    for _ in range(20 * n):
        _minimise_on_face(Q, c, row, x, free, size, ridge, room)
        step, blocked = 1.0, -1
        for a in range(size):
            here, there = x[free[a]], room[a, size + 1]
            if there <= 0.0 and here <= step * (here - there):
                step, blocked = here / (here - there) if here > there else 0.0, a
        for a in range(size):
            x[free[a]] = (1.0 - step) * x[free[a]] + step * room[a, size + 1]
        if blocked >= 0:
            x[free[blocked]] = 0.0
            size -= 1
            for a in range(blocked, size):
                free[a] = free[a + 1]
            continue
        entering, steepest = -1, -level
        for i in range(n):
            slope = c[i] + room[size, size + 1] * row[i]
            for j in range(n):
                slope += Q[i, j] * x[j]
            if slope < steepest and not x[i] > 0.0:
                entering, steepest = i, slope
        if entering < 0:
            break
        free[size] = entering
        size += 1


# Quadratic programs over many non-negative weights: Mehrotra's interior-point method.
#
# About fifteen Cholesky factorisations, however many weights leave or enter. At the end the weights
# that are above zero are solved for exactly, so that the others are exactly zero.


_NEARLY_ALL = 0.99
_ITERATIONS = 50
_CLOSE = 1e-11
_MANY_STEEPEST = 1e-100
_POLISHES = 10
_MANY_LEVEL = 1e-10


def solve_many(Q: Array, c: Array, row: Array, x: Array) -> Array:
    """Minimise ``1/2 x'Qx + c'x`` over ``x >= 0`` with ``row'x`` kept; see `solve_nonneg_qp`."""
    budget = float(row @ x)
    slope = max(float(np.abs(c).mean()), 1e-300)
    diagonal = max(float(np.trace(Q)), _MANY_STEEPEST * slope)  # where Q is zero, steps stay finite
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
        wrong = np.where(free, x < 0.0, slope < -_MANY_LEVEL * np.abs(b).max())
        if not wrong.any():
            return x
        free = free ^ wrong
    kept = np.where(free, y, 0.0)
    total = float(row @ kept)
    return kept * (budget / total) if budget > 0.0 and total > 0.0 else kept
