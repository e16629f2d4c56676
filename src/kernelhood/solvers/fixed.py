"""A plain SVM on a combination of kernels that is given."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.task_svm import TaskSvm, trace_row

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
        A start.
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
    trace: list[tuple[float, float]] = []
    while not trace or (trace[-1][1] > tol and len(trace) < max_iter):
        point = svm.solve(weights, point, accuracy)
        dual = point.gain - float(point.curvatures @ weights)
        trace.append(trace_row(point.value, dual))
        accuracy = 0.5 * min(tol, accuracy)
    return svm.solution(point, np.array(trace))


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
