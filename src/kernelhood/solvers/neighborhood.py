"""Neighborhood-defining matrices: MT-ONMKL's closed form, and ONJKL's as one more kernel.

The latter learns a combination of kernels and a matrix near it:

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
from kernelhood.losses import BoxLoss
from kernelhood.operators import one_task
from kernelhood.penalties import Simplex
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from kernelhood.solvers.solution import Solution
from kernelhood.solvers.warm_start import closest_start, valued

_RELATIVE_RANK = 1e-12


def _span(G: Array) -> tuple[Array, Array, Array]:
    """Return the scale of every kernel and the eigenpairs of the scaled G above rounding level.

    Wide Gaussians are nearly the same matrix, so G may have a condition number beyond 1e30. Every
    kernel is scaled to unit norm first, so that large kernels do not hide small ones.
    """
    size = np.sqrt(np.maximum(np.diag(G), 0.0))
    unit = np.where(size > 0.0, 1.0 / np.where(size > 0.0, size, 1.0), 0.0)
    values, vectors = np.linalg.eigh(G * unit[:, None] * unit)
    keep = values > _RELATIVE_RANK * values[-1]
    return unit, values[keep], vectors[:, keep]


def identity_projection(G: Array, d: Array) -> Array:
    """Return gamma, with sum_m gamma^m K^m the projection of I onto the span of the kernels.

    It is a least-squares solution of G gamma = d.
    """
    unit, values, vectors = _span(G)
    return np.asarray(unit * (vectors @ ((vectors.T @ (unit * d)) / values)))


def span_rank(G: Array) -> int:
    """Return the dimension of the span of the kernels."""
    return len(_span(G)[1])


def neighborhood_weights(weights: Array, gamma: Array, s: float, r: float) -> Array:
    """Return kappa = s theta - r gamma, the coefficients of Khat on the base kernels."""
    return s * weights - r * gamma


def solve_neighborhood(
    Ks: Array,
    loss: BoxLoss,
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
    loss : BoxLoss
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
    ridge = rho * (1.0 - row)
    penalty, block = Simplex(row, 1.0, None, ridge), Block(one_task(Ks), loss)
    firsts = [
        valued([block], np.append(one.weights[:n_kernels], one.q[-1] / rho), one.v)
        for one in starts
    ]
    first = closest_start(firsts, penalty)
    if first is None:
        weights = row / n_kernels
        weights[-1] = _guess(Ks[-1], loss, rho)
        first = valued([block], weights)
    return solve(Problem([block], penalty), start=first, tol=tol, max_iter=max_iter)


def _guess(noise: Array, loss: BoxLoss, rho: float) -> float:
    """Return the tau of an SVM without any other kernel, which is an upper bound or close to it.

    There v_i is the smaller of its bound and |target_i| / (tau noise_ii).
    """
    diagonal = np.diag(noise)
    bound = np.maximum(loss.upper, -loss.lower)
    reach = np.maximum(np.abs(loss.target - np.mean(loss.target)) - loss.epsilon, 0.0)
    bounded = float(np.sum(diagonal * bound**2)) / (2.0 * rho)
    free = float(np.cbrt(np.sum(reach**2 / diagonal) / (2.0 * rho)))
    return min(bounded, free)
