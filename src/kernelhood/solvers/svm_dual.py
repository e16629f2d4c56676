"""The SVM dual at bounded cost: pair steps first, an interior point where they stall."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.combined import CombinedKernel, kernel_matrix
from kernelhood.solvers.interior_point import solve_interior_point
from kernelhood.solvers.smo import smo
from kernelhood.solvers.svm_value import best_intercept, svm_gap

_PAIR_STEPS_PER_SAMPLE = 50
_FIRST_VIOLATION = 0.1


def solve_svm_dual(
    kernel: CombinedKernel, terms: DualTerms, v: Array, Kv: Array, gap_tol: float
) -> tuple[Array, Array]:
    """Maximise ``target'v - epsilon |v|_1 - 1/2 v'Kv`` over the box with ``1'v = 0``.

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

    Returns
    -------
    v, Kv : ndarray of shape (n_samples,)
        The solution and its product with K.
    """
    v, Kv = v.copy(), Kv.copy()
    violation, budget = _FIRST_VIOLATION, _PAIR_STEPS_PER_SAMPLE * len(v)
    gap = np.inf
    while budget > 0:
        _, intercept, n_steps = smo(kernel, terms, v, Kv, violation, budget)
        gap = svm_gap(v, Kv, intercept, terms)
        budget -= 1 + n_steps
        if gap <= gap_tol:
            return v, Kv
        violation *= min(0.5, max(0.01, 0.5 * gap_tol / gap))
    K = kernel_matrix(kernel)
    other = solve_interior_point(K, terms, gap_tol)
    K_other = K @ other
    other_gap = svm_gap(other, K_other, best_intercept(K_other, terms), terms)
    return (other, K_other) if other_gap < gap else (v, Kv)
