"""The SVM dual at bounded cost: pair steps first, an interior point where they stall."""

from __future__ import annotations

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.interior_point import solve_interior_point
from kernelhood.solvers.smo import smo
from kernelhood.solvers.svm_value import svm_gap

_PAIR_STEPS_PER_SAMPLE = 50
_FIRST_VIOLATION = 0.1


def solve_svm_dual(K: Array, terms: DualTerms, v: Array, gap_tol: float) -> tuple[Array, Array]:
    """Maximise ``target'v - epsilon |v|_1 - 1/2 v'Kv`` over the box with ``1'v = 0``.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    terms : DualTerms
        Box and linear term, in units where both are of order one.
    v : ndarray of shape (n_samples,)
        A feasible start, for example the solution for a similar kernel.
    gap_tol : float
        Absolute duality gap to reach.

    Returns
    -------
    v, Kv : ndarray of shape (n_samples,)
        The solution and its product with K.
    """
    v = v.copy()
    Kv = K @ v
    violation, budget = _FIRST_VIOLATION, _PAIR_STEPS_PER_SAMPLE * len(v)
    gap = svm_gap(v, Kv, terms)
    while budget > 0:
        budget -= 1 + smo(K, terms, v, Kv, violation, budget)[1]
        gap = svm_gap(v, Kv, terms)
        if gap <= gap_tol:
            return v, Kv
        violation *= min(0.5, max(0.01, 0.5 * gap_tol / gap))
    other = solve_interior_point(K, terms, gap_tol)
    K_other = K @ other
    return (other, K_other) if svm_gap(other, K_other, terms) < gap else (v, Kv)
