"""The `normalized` problem: an SVM minus a convex quadratic, at a fixed trace.

    min over weights >= 0 with d'weights = n  of   S(weights) - (w/2) weights'G weights

The convex-concave procedure puts the tangent of the quadratic at the current weights in its
place, which leaves an MKL problem with the prices -w G weights. It starts at w = 0, where the
problem is convex, and follows w upwards. A point is stationary when it solves its own convex
problem, so the gap of that problem is the certificate.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.penalty import Penalty

_FIRST_SHARE = 0.05


def solve_concave(
    Ks: Array,
    terms: DualTerms,
    penalty: Penalty,
    G: Array,
    reward: float,
    *,
    weights: Array | None = None,
    v: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Minimise the SVM's value minus ``reward/2 weights'G weights`` at a fixed budget.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices.
    terms : DualTerms
        Box and linear term of the SVM dual.
    penalty : Penalty
        Holds the budget; its prices are 0.
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the base kernels.
    reward : float
        w, at least 0.
    weights, v : ndarray, optional
        A start.
    tol : float
        Relative gap of the convex problem that a stationary point has to solve.
    max_iter : int
        Largest number of SVMs for each convex problem, and of convex problems for each w.

    Returns
    -------
    Solution
        Its trace has one row for each convex problem at the final w: the concave objective and
        the gap of the convex problem; the last one is the stationarity of the solution.
    """
    found = solve_mkl(Ks, terms, penalty, weights=weights, v=v, tol=tol, max_iter=max_iter)
    n_solved, trace = found.n_iter, []
    for level in _levels(found, G, reward):
        for _ in range(max_iter):
            prices = -level * (G @ found.weights)
            found = solve_mkl(
                Ks,
                terms,
                penalty._replace(linear=prices),
                weights=found.weights,
                v=found.v,
                tol=tol,
                max_iter=max_iter,
            )
            n_solved += found.n_iter
            bent = 0.5 * level * float(found.weights @ G @ found.weights)
            objective = found.objective - float(prices @ found.weights) - bent
            trace.append((level, objective, found.gap))
            if found.n_iter == 1:
                break
    steps = np.array(trace)
    last = steps[steps[:, 0] == steps[-1, 0], 1:]
    return found._replace(objective=float(last[-1, 0]), n_iter=n_solved, trace=last)


def _levels(found: Solution, G: Array, reward: float) -> Array:
    """Return the values of w to follow, each twice the one before, up to `reward`."""
    norm = float(found.weights @ G @ found.weights)
    first = _FIRST_SHARE * found.objective / max(norm, 1e-300)
    n_levels = max(1, int(np.ceil(np.log2(max(reward, 1e-300) / max(first, 1e-300)))) + 1)
    return reward * 2.0 ** -np.arange(n_levels - 1, -1, -1, dtype=np.float64)
