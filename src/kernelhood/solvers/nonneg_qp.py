"""Small quadratic programs over non-negative weights, by a primal active-set method."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array

_RIDGE = 1e-13


@compiled
def _minimise_on_face(Q: Array, c: Array, row: Array, x: Array, free: Array) -> tuple[Array, float]:
    """Minimise over the free entries, keeping ``row'x``; return the point and the multiplier."""
    index = np.flatnonzero(free)
    k = index.shape[0]
    kkt, rhs = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
    ridge = _RIDGE * np.trace(Q) + 1e-300
    bound = False
    for a in range(k):
        for b in range(k):
            kkt[a, b] = Q[index[a], index[b]]
        kkt[a, a] += ridge
        rhs[a] = ridge * x[index[a]] - c[index[a]]
        kkt[a, k] = kkt[k, a] = row[index[a]]
        rhs[k] += row[index[a]] * x[index[a]]
        bound = bound or row[index[a]] > 0.0
    if not bound:
        kkt[k, k] = 1.0
    solution = np.linalg.solve(kkt, rhs)
    y = np.zeros(x.shape[0])
    for a in range(k):
        y[index[a]] = solution[a]
    return y, solution[k]


@compiled
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
    n = x.shape[0]
    x = x.copy()
    free = x > 0.0
    level = 1e-12 * (np.max(np.abs(c)) + np.max(np.abs(Q @ x)))
    for _ in range(20 * n):
        y, multiplier = _minimise_on_face(Q, c, row, x, free)
        step, blocked = 1.0, -1
        for i in range(n):
            if free[i] and y[i] <= 0.0 and x[i] <= step * (x[i] - y[i]):
                step, blocked = x[i] / (x[i] - y[i]) if x[i] > y[i] else 0.0, i
        x += step * (y - x)
        if blocked >= 0:
            free[blocked], x[blocked] = False, 0.0
            continue
        slope = Q @ x + c + multiplier * row
        entering, steepest = -1, -level
        for i in range(n):
            if not free[i] and slope[i] < steepest:
                entering, steepest = i, slope[i]
        if entering < 0:
            break
        free[entering] = True
    return x
