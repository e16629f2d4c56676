"""Problem (P): an SVM whose kernel is a priced combination, solved to a certified gap.

    min over weights >= 0 of   S(sum_m weights_m K^m) + penalty(weights)

Here the problem is put into units of order one and given a start; the loop is in `mkl_loop`.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.mkl_loop import Solution, minimise
from kernelhood.solvers.penalty import Penalty
from kernelhood.solvers.units import units_of


def solve_mkl(
    Ks: Array,
    terms: DualTerms,
    penalty: Penalty,
    *,
    weights: Array | None = None,
    v: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Minimise the SVM's value plus the penalty of the weights.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices, C-contiguous.
    terms : DualTerms
        Box and linear term of the SVM dual.
    penalty : Penalty
        Price and budget of the weights.
    weights, v : ndarray, optional
        A start, for example the solution of a similar problem. By default equal weights and 0.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of SVMs to solve.

    Returns
    -------
    Solution
        With the gap that was reached as the last entry of its trace.
    """
    unit = units_of(terms)
    price = unit.scaled_penalty(penalty)
    scaled = unit.scaled_terms(terms)
    start = _start(price) if weights is None else weights / unit.weight
    first = np.zeros(Ks.shape[1]) if v is None else v / unit.box
    found = minimise(Ks, scaled, price, start, first, tol, max_iter)
    trace = found.trace * [unit.value, 1.0]
    return Solution(
        found.weights * unit.weight,
        found.v * unit.box,
        found.intercept * unit.target + unit.centre,
        float(trace[-1, 0]),
        found.n_iter,
        trace,
    )


def _start(penalty: Penalty) -> Array:
    """Return equal weights that keep the budget, or sum to one where there is none."""
    n_kernels = len(penalty.linear)
    equal = np.full(n_kernels, 1.0 / n_kernels)
    spent = float(penalty.row @ equal)
    return equal * (penalty.budget / spent) if spent > 0.0 else equal
