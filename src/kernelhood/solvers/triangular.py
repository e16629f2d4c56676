"""Solve with a Cholesky factor, inside compiled code."""

from __future__ import annotations

from kernelhood._compiled import compiled
from kernelhood._typing import Array


@compiled
def cholesky_solve(L: Array, b: Array) -> Array:
    """Solve ``L L' x = b`` for a lower triangular L."""
    x = b.copy()
    n = b.shape[0]
    for i in range(n):
        row = L[i]
        rest = x[i]
        for k in range(i):
            rest -= row[k] * x[k]
        x[i] = rest / row[i]
    for i in range(n - 1, -1, -1):
        row = L[i]
        x[i] /= row[i]
        for k in range(i):
            x[k] -= row[k] * x[i]
    return x
