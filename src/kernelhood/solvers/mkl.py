"""Problem (P): an SVM whose kernel is a priced combination, solved to a certified gap.

    min over weights >= 0 of   S(sum_m weights_m K^m) + penalty(weights)

Here the problem is put into units of order one and given a start; the loop is in `mkl_loop`.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.family import KernelFamily, as_family
from kernelhood.solvers.mkl_loop import Solution, minimise, relative_gap
from kernelhood.solvers.penalty import Penalty, certificate, penalty_value
from kernelhood.solvers.units import units_of


def solve_mkl(
    kernels: KernelFamily | Array,
    terms: DualTerms,
    penalty: Penalty,
    *,
    start: Solution | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Minimise the SVM's value plus the penalty of the weights.

    Parameters
    ----------
    kernels : KernelFamily, or ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernels; matrices, C-contiguous, where they are those of a single task.
    terms : DualTerms
        Box and linear term of the SVM dual.
    penalty : Penalty
        Price and budget of the weights.
    start : Solution, optional
        The solution of the same SVM with another penalty; returned with its new certificate
        where it solves this problem too. By default the loop starts from equal weights.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of SVMs to solve.

    Returns
    -------
    Solution
        With the gap that was reached as the last entry of its trace.
    """
    if start is not None:
        again = recertified(start, penalty, tol)
        if again is not None:
            return again
    weights, v = (None, None) if start is None else (start.weights, start.v)
    return _in_units(kernels, terms, penalty, weights, v, tol, max_iter)


def solve_svm(
    kernels: KernelFamily | Array, terms: DualTerms, penalty: Penalty, weights: Array
) -> Solution:
    """Return the SVM with weights that are given, as a solution to start from.

    Parameters
    ----------
    kernels, terms, penalty
        As in `solve_mkl`.
    weights : ndarray of shape (n_weights,)
        Not negative.
    """
    return _in_units(kernels, terms, penalty, weights, None, 0.0, 1)


def _in_units(
    kernels: KernelFamily | Array,
    terms: DualTerms,
    penalty: Penalty,
    weights: Array | None,
    v: Array | None,
    tol: float,
    max_iter: int,
) -> Solution:
    """Run the loop in units in which box and target are of order one."""
    unit = units_of(terms)
    price = unit.scaled_penalty(penalty)
    scaled = unit.scaled_terms(terms)
    first = _equal_weights(price) if weights is None else weights / unit.weight
    dual = np.zeros(len(terms.target)) if v is None else v / unit.box
    found = minimise(as_family(kernels), scaled, price, first, dual, tol, max_iter)
    trace = found.trace * [unit.value, 1.0]
    return Solution(
        found.weights * unit.weight,
        found.v * unit.box,
        found.intercepts * unit.target + unit.centre,
        float(trace[-1, 0]),
        found.svm_value * unit.value,
        found.gain * unit.value + unit.centre * float(found.v.sum()) * unit.box,
        found.curvatures * unit.box**2,
        found.n_iter,
        trace,
    )


def recertified(solution: Solution, penalty: Penalty, tol: float) -> Solution | None:
    """Return the solution with its certificate for another penalty, or None where it has none.

    The same weights and dual vector often solve the neighbours on a path as well; to see it takes
    no SVM.

    Parameters
    ----------
    solution : Solution
        Of the same SVM with some penalty.
    penalty : Penalty
        The other penalty.
    tol : float
        Relative duality gap to accept.
    """
    if abs(float(penalty.row @ solution.weights) - penalty.budget) > 1e-9 * penalty.budget:
        return None
    objective = solution.svm_value + penalty_value(penalty, solution.weights)
    missing = certificate(
        penalty, solution.weights, solution.svm_value, solution.gain, solution.curvatures
    )
    gap = relative_gap(objective, solution.svm_value, objective - missing)
    if gap > tol:
        return None
    return solution._replace(objective=objective, n_iter=0, trace=np.array([[objective, gap]]))


def _equal_weights(penalty: Penalty) -> Array:
    """Return equal weights that keep the budget, or sum to one where there is none."""
    n_kernels = len(penalty.linear)
    equal = np.full(n_kernels, 1.0 / n_kernels)
    spent = float(penalty.row @ equal)
    return equal * (penalty.budget / spent) if spent > 0.0 else equal
