"""Quadratic programs over non-negative weights: an active-set method, or one for many weights."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags
from kernelhood.penalties.many_weights import solve_many

_RIDGE = 1e-13
_LEVEL = 1e-12
_STEEPEST = 1e-200
_FEW = 64


@compiled
def _eliminate(A: Array, b: Array) -> Array:
    """Solve a system by elimination with pivots; both arguments are overwritten."""
    n = b.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        for j in range(n):
            A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            ratio = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= ratio * A[k, j]
            b[i] -= ratio * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]
    return b


@compiled
def _minimise_on_face(
    Q: Array, c: Array, row: Array, x: Array, free: Flags, ridge: float
) -> tuple[Array, float]:
    """Minimise over the free entries, keeping ``row'x``; return the point and the multiplier."""
    n, size = x.shape[0], 0
    places = np.empty(n, np.intp)
    for i in range(n):
        if free[i]:
            places[size] = i
            size += 1
    kkt, rhs = np.zeros((size + 1, size + 1)), np.zeros(size + 1)
    bound = False
    for a in range(size):
        i = places[a]
        for b in range(size):
            kkt[a, b] = Q[i, places[b]]
        kkt[a, a] += ridge
        rhs[a] = ridge * x[i] - c[i]
        kkt[a, size] = kkt[size, a] = row[i]
        rhs[size] += row[i] * x[i]
        bound = bound or row[i] > 0.0
    if not bound:
        kkt[size, size] = 1.0
    solution = _eliminate(kkt, rhs)
    y = np.zeros(n)
    for a in range(size):
        y[places[a]] = solution[a]
    return y, float(solution[size])


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


@compiled
def _active_set(Q: Array, c: Array, row: Array, x: Array) -> Array:
    """Move from face to face, one weight at a time: exact and fast for few weights."""
    n = x.shape[0]
    x = x.copy()
    free = x > 0.0
    ridge, level = 1e-300, 0.0
    for i in range(n):
        ridge += _RIDGE * Q[i, i]
        level = max(level, _LEVEL * abs(c[i]))
        ridge = max(ridge, _STEEPEST * abs(c[i]))  # where Q is zero, steps stay finite
    for _ in range(20 * n):
        y, multiplier = _minimise_on_face(Q, c, row, x, free, ridge)
        step, blocked = 1.0, -1
        for i in range(n):
            if free[i] and y[i] <= 0.0 and x[i] <= step * (x[i] - y[i]):
                step, blocked = x[i] / (x[i] - y[i]) if x[i] > y[i] else 0.0, i
        for i in range(n):
            x[i] += step * (y[i] - x[i])
        if blocked >= 0:
            free[blocked], x[blocked] = False, 0.0
            continue
        entering, steepest = -1, -level
        for i in range(n):
            slope = c[i] + multiplier * row[i]
            for j in range(n):
                slope += Q[i, j] * x[j]
            if not free[i] and slope < steepest:
                entering, steepest = i, slope
        if entering < 0:
            break
        free[entering] = True
    return x
