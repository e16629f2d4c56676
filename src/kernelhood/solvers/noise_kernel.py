"""Neighborhoods of a combination of kernels: an SVM with one more kernel, the identity.

    min over nu >= 0 with sum nu = 1, and Khat,  of   S(Khat) + (rho/2) |Khat - K_nu|_F^2

For a dual vector v the best matrix is Khat = K_nu + vv'/(2 rho), and the dual problem

    max over v of   gain(v) - 1/2 max_m v'K^m v - (v'v)^2 / (8 rho)

is that of an SVM with the kernel K_nu + tau I whose ridge costs (rho/2) tau^2: at the optimum
tau = v'v / (2 rho), and (K_nu + tau I) v = Khat v. A sample of weight w counts as w equal samples
that share its v_i, so the identity becomes diag(1/w) and v'v becomes sum_i v_i^2 / w_i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.fixed import start_at
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.penalty import Penalty
from kernelhood.solvers.warm_start import closest_start


def solve_neighborhood(
    Ks: Array,
    terms: DualTerms,
    rho: float,
    *,
    starts: Sequence[Solution] = (),
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Learn a combination of kernels and a matrix in its neighborhood.

    With a single kernel only tau is left to learn.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels + 1, n_samples, n_samples)
        Base kernel matrices, C-contiguous, and last the identity, or diag(1/w).
    terms : DualTerms
        Box and linear term of the SVM dual.
    rho : float
        Weight of the squared distance, positive.
    starts : sequence of Solution
        Solutions for another rho or box, of which the closest is taken; tau follows from the
        dual vector.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of SVMs to solve.

    Returns
    -------
    Solution
        Its weights are nu and last tau; its intercept belongs to the kernel K_nu + tau I.
    """
    n_kernels = len(Ks) - 1
    row = np.ones(n_kernels + 1)
    row[-1] = 0.0
    quadratic = np.zeros((n_kernels + 1, n_kernels + 1))
    quadratic[-1, -1] = rho
    penalty = Penalty(np.zeros_like(row), quadratic, row, 1.0)
    firsts = [
        start_at(Ks, terms, np.append(one.weights[:n_kernels], one.curvatures[-1] / rho), one.v)
        for one in starts
    ]
    first = closest_start(firsts, penalty)
    if first is None:
        weights = row / n_kernels
        weights[-1] = _guess(Ks[-1], terms, rho)
        first = start_at(Ks, terms, weights)
    return solve_mkl(Ks, terms, penalty, start=first, tol=tol, max_iter=max_iter)


def _guess(noise: Array, terms: DualTerms, rho: float) -> float:
    """Return the tau of an SVM without any other kernel, which is an upper bound or close to it.

    There v_i is the smaller of its bound and |target_i| / (tau noise_ii).
    """
    diagonal = np.diag(noise)
    bound = np.maximum(terms.upper, -terms.lower)
    reach = np.maximum(np.abs(terms.target - np.mean(terms.target)) - terms.epsilon, 0.0)
    bounded = float(np.sum(diagonal * bound**2)) / (2.0 * rho)
    free = float(np.cbrt(np.sum(reach**2 / diagonal) / (2.0 * rho)))
    return min(bounded, free)
