"""The SVM dual at bounded cost: pair steps first, an interior point where they stall."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.losses.box import BoxLoss, best_gap, svm_gap
from kernelhood.operators.base import Fill
from kernelhood.operators.combined import Combined, combined_matrix
from kernelhood.solvers.interior_point import solve_interior_point
from kernelhood.solvers.pair_steps import pair_steps

_PAIR_STEPS_PER_SAMPLE = 20
_STEPS_GROW_FROM = 20
_FEWEST_STEPS = 4000
_FIRST_VIOLATION = 0.3
_ROWS_AT_ONCE = 256
_WORTH_A_ROW = 0.2


def solve_svm(
    kernel: Combined,
    loss: BoxLoss,
    v: Array,
    Kv: Array,
    gap_tol: float,
    fill: Fill | None = None,
    exact: bool = False,
) -> tuple[Array, Array]:
    """Maximise ``target'v - epsilon |v|_1 - 1/2 v'Kv`` over the box with ``1'v = 0`` per group.

    Parameters
    ----------
    kernel : Combined
        The kernel.
    loss : BoxLoss
        Box and linear term, in units where both are of order one.
    v, Kv : ndarray of shape (n_samples,)
        A feasible start, for example the solution for a similar kernel, and its product with
        the kernel matrix.
    gap_tol : float
        Absolute duality gap to reach.
    fill : callable, optional
        Computes rows of the kernel, where its base kernels are not in memory.
    exact : bool
        Whether to leave pair steps at once for an interior point, where samples allow it.

    Returns
    -------
    v, Kv : ndarray of shape (n_samples,)
        The solution and its product with K.
    """
    v, Kv = v.copy(), Kv.copy()
    budget = _most_steps(len(v))
    while True:
        edges, n_steps, missing = pair_steps(kernel, loss, v, Kv, _FIRST_VIOLATION, budget, gap_tol)
        if fill is None or missing < 0:
            break
        budget -= 1 + n_steps
        fill(kernel, _next_samples(kernel, loss, v, Kv, edges, missing))
    gap = svm_gap(v, Kv, 0.5 * (edges[:, 0] + edges[:, 1]), loss)
    if (gap <= gap_tol and not exact) or len(kernel.rows) < len(v):
        return v, Kv
    if fill is not None:
        fill(kernel, np.flatnonzero(kernel.slot < 0))
    held = combined_matrix(kernel) if fill is None else kernel.rows[kernel.slot]
    K = np.asarray(held, dtype=np.float64)
    other = solve_interior_point(K, loss, gap_tol)
    K_other = K @ other
    return (other, K_other) if best_gap(other, K_other, loss) < gap else (v, Kv)


def _most_steps(n_samples: int) -> int:
    """Return after how many pair steps an interior point is the better bargain.

    A step costs n operations, a factorisation n^3: the more samples, the longer steps are worth it.
    """
    most = n_samples * max(_PAIR_STEPS_PER_SAMPLE, n_samples // _STEPS_GROW_FROM)
    return max(_FEWEST_STEPS, most)


def _next_samples(
    kernel: Combined, loss: BoxLoss, v: Array, Kv: Array, edges: Array, missing: int
) -> Indices:
    """Return the sample that is missing, and those that are likely to be the next ones.

    Free entries of a warm start will move. Of the others those that violate optimality most.
    """
    rest = loss.target - Kv - np.repeat(edges.mean(axis=1), np.diff(loss.group_starts))
    grow = np.where(v < loss.upper, rest - loss.epsilon, -np.inf)
    shrink = np.where(v > loss.lower, -rest - loss.epsilon, -np.inf)
    absent = kernel.slot < 0
    violation = np.where(absent, np.maximum(grow, shrink), -np.inf)
    free = absent & (v != 0.0) & (v > loss.lower) & (v < loss.upper)
    if np.count_nonzero(free) + _ROWS_AT_ONCE <= len(kernel.rows) // 2:
        violation[free] = -np.inf
    else:
        free[:] = False
    free[missing] = True
    wanted = np.flatnonzero(violation > _WORTH_A_ROW * max(0.0, float(violation.max())))
    if len(wanted) >= _ROWS_AT_ONCE:
        wanted = wanted[np.argpartition(-violation[wanted], _ROWS_AT_ONCE - 1)[:_ROWS_AT_ONCE]]
    free[wanted] = True
    return np.flatnonzero(free)
