"""A plain SVM on a combination of kernels that is given."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.mkl_loop import Solution, relative_gap
from kernelhood.solvers.task_svm import TaskSvm

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
        trace.append((point.value, relative_gap(point.value, point.value, dual)))
        accuracy = 0.5 * min(tol, accuracy)
    return svm.solution(point, np.array(trace))


def unsolved(Ks: Array, terms: DualTerms, weights: Array) -> Solution:
    """Return the weights with the dual vector 0, for a solver to start from.

    Parameters
    ----------
    Ks, terms, weights
        As in `solve_fixed`.
    """
    svm = TaskSvm.of(Ks, terms)
    point = svm.at(weights)
    return svm.solution(point, np.array([[point.value, np.inf]]))
