"""A plain SVM on a combination of kernels that is given."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.mkl_loop import Solution, relative_gap
from kernelhood.solvers.task_svm import SvmPoint, TaskSvm, trace_row

_FIRST_ACCURACY = 1e-3


def solve_fixed(
    Ks: Array,
    terms: DualTerms,
    weights: Array,
    *,
    v: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Solve the SVM with the kernel ``sum_m weights_m K^m``.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices, C-contiguous.
    terms : DualTerms
        Box and linear term of the SVM dual.
    weights : ndarray of shape (n_kernels,)
        Not negative.
    v : ndarray of shape (n_samples,), optional
        A feasible start, returned as it is where its gap is small enough.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of times to ask for a better SVM.

    Returns
    -------
    Solution
        With the gap that was reached as the last entry of its trace.
    """
    svm = TaskSvm.of(Ks, terms)
    point, accuracy = svm.at(weights, v), _FIRST_ACCURACY
    known = _row(point)
    trace = [known] if known[1] <= tol else []
    while not trace or (trace[-1][1] > tol and len(trace) < max_iter):
        point = svm.solve(weights, point, accuracy)
        trace.append(_row(point))
        accuracy = 0.5 * min(tol, accuracy)
    return svm.solution(point, np.array(trace))


def _row(point: SvmPoint) -> tuple[float, float]:
    return trace_row(point.value, point.gain - float(point.curvatures @ point.weights))


def svm_gap(found: Solution) -> float:
    """Return the relative duality gap of a solution's SVM, whatever its weights cost."""
    dual = found.gain - float(found.curvatures @ found.weights)
    return relative_gap(found.svm_value, found.svm_value, dual)


def start_at(Ks: Array, terms: DualTerms, weights: Array, v: Array | None = None) -> Solution:
    """Return any weights and dual vector as a solution to start from, with its true values.

    Parameters
    ----------
    Ks, terms, weights
        As in `solve_fixed`.
    v : ndarray of shape (n_samples,), optional
        Feasible dual vector, 0 by default.
    """
    svm = TaskSvm.of(Ks, terms)
    point = svm.at(weights, v)
    return svm.solution(point, np.array([[point.value, np.inf]]))
