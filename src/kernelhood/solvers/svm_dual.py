"""The SVM dual at bounded cost: pair steps first, an interior point where they stall."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.losses import DualTerms
from kernelhood.solvers.combined import CombinedKernel, kernel_matrix
from kernelhood.solvers.family import Fill
from kernelhood.solvers.interior_point import solve_interior_point
from kernelhood.solvers.smo import smo
from kernelhood.solvers.svm_value import best_gap, svm_gap

_PAIR_STEPS_PER_SAMPLE = 20
_STEPS_GROW_FROM = 20
_FEWEST_STEPS = 4000
_FIRST_VIOLATION = 0.3
_ROWS_AT_ONCE = 256


def solve_svm_dual(
    kernel: CombinedKernel,
    terms: DualTerms,
    v: Array,
    Kv: Array,
    gap_tol: float,
    fill: Fill | None = None,
) -> tuple[Array, Array]:
    """Maximise ``target'v - epsilon |v|_1 - 1/2 v'Kv`` over the box with ``1'v = 0`` per group.

    Parameters
    ----------
    kernel : CombinedKernel
        The kernel.
    terms : DualTerms
        Box and linear term, in units where both are of order one.
    v, Kv : ndarray of shape (n_samples,)
        A feasible start, for example the solution for a similar kernel, and its product with
        the kernel matrix.
    gap_tol : float
        Absolute duality gap to reach.
    fill : callable, optional
        Computes rows of the kernel, where its base kernels are not in memory.

    Returns
    -------
    v, Kv : ndarray of shape (n_samples,)
        The solution and its product with K.
    """
    v, Kv = v.copy(), Kv.copy()
    budget = _most_steps(len(v))
    while True:
        edges, n_steps, missing = smo(kernel, terms, v, Kv, _FIRST_VIOLATION, budget, gap_tol)
        if fill is None or missing < 0:
            break
        budget -= 1 + n_steps
        fill(kernel, _next_samples(kernel, terms, v, Kv, edges, missing))
    gap = svm_gap(v, Kv, 0.5 * (edges[:, 0] + edges[:, 1]), terms)
    if gap <= gap_tol:
        return v, Kv
    if fill is not None:
        fill(kernel, np.flatnonzero(~kernel.ready))
    K = np.asarray(kernel_matrix(kernel), dtype=np.float64)
    other = solve_interior_point(K, terms, gap_tol)
    K_other = K @ other
    return (other, K_other) if best_gap(other, K_other, terms) < gap else (v, Kv)


def _most_steps(n_samples: int) -> int:
    """Return after how many pair steps an interior point is the better bargain.

    A step costs n operations, a factorisation n^3: the more samples, the longer steps are worth it.
    """
    most = n_samples * max(_PAIR_STEPS_PER_SAMPLE, n_samples // _STEPS_GROW_FROM)
    return max(_FEWEST_STEPS, most)


def _next_samples(
    kernel: CombinedKernel, terms: DualTerms, v: Array, Kv: Array, edges: Array, missing: int
) -> Indices:
    """Return the sample that is missing and those that violate optimality most."""
    rest = terms.target - Kv - np.repeat(edges.mean(axis=1), np.diff(terms.starts))
    grow = np.where(v < terms.upper, rest - terms.epsilon, -np.inf)
    shrink = np.where(v > terms.lower, -rest - terms.epsilon, -np.inf)
    violation = np.where(kernel.ready, -np.inf, np.maximum(grow, shrink))
    violation[missing] = np.inf
    count = min(_ROWS_AT_ONCE, int(np.count_nonzero(~kernel.ready)))
    return np.sort(np.argpartition(-violation, count - 1)[:count]).astype(np.intp)
