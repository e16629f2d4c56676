"""Kernels that align with the targets: the matrix yy' as the neighborhood.

A sample of weight w counts as w equal samples: all sums over samples carry the weights.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from kernelhood._typing import Array
from kernelhood.penalties import Fixed, Quadratic
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from kernelhood.solvers.solution import Solution, recertified
from kernelhood.solvers.warm_start import closest_start, valued


def target_products(Ks: Array, target: Array, sample_weight: Array) -> Array:
    """Return ``<K^m, yy'>_F = y'K^m y`` for every kernel.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices.
    target, sample_weight : ndarray of shape (n_samples,)
        y and the weights of the samples.
    """
    y = sample_weight * target
    return np.asarray((Ks @ y) @ y)


def nearest_weights(G: Array, products: Array) -> Array:
    """Return the weights >= 0 that minimise ``|sum_m weights_m K^m - yy'|_F^2``.

    Parameters
    ----------
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the kernels.
    products : ndarray of shape (n_kernels,)
        Their Frobenius products with yy'.
    """
    nothing = np.zeros_like(products)
    return solve_nonneg_qp(G, -products, nothing, nothing)


def solve_aligned(
    block: Block,
    G: Array,
    products: Array,
    eta: float,
    *,
    starts: Sequence[Solution] = (),
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Minimise ``S(K) + (eta/2) |K - yy'|_F^2`` without its constant ``(eta/2) |yy'|_F^2``.

    The distance may be far larger than the SVM's value, so that a small gap of the whole says
    little of the SVM: it is solved to the same relative gap of its own at the end.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices, C-contiguous.
    G, products : ndarray
        As in `nearest_weights`, which is the solution for a large eta.
    eta : float
        Weight of the distance, positive.
    starts : sequence of Solution
        Solutions for another eta or box, of which the closest is taken; by default the weights
        for an infinite eta.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of SVMs to solve.

    Returns
    -------
    Solution
        The last row of its trace has the larger of the two gaps: that of the whole problem, and
        that of the SVM at the final weights.
    """
    penalty = distance(eta, G, products)
    start = closest_start(starts, penalty)
    if start is None:
        start = valued([block], nearest_weights(G, products))
    found = solve(Problem([block], penalty), start=start, tol=tol, max_iter=max_iter)
    own_gap = found.svm_gap
    if own_gap <= tol:
        row = [found.objective, max(found.gap, own_gap)]
        return found._replace(trace=np.vstack([found.trace, row]))
    fixed = Problem([block], Fixed(found.weights))
    svm = solve(fixed, start=found, tol=tol, max_iter=max_iter)
    objective = min(found.objective, svm.objective + penalty.value(found.weights))
    return svm._replace(
        objective=objective,
        n_iter=found.n_iter + svm.n_iter,
        trace=np.vstack([found.trace, [objective, max(found.gap, svm.gap)]]),
    )


def certified_etas(
    found: Solution, G: Array, products: Array, etas: Sequence[float], tol: float
) -> int:
    """Return for how many of the leading etas the solution solves the problem, without any SVM.

    The duality gap of fixed weights is convex in eta, and the value it is measured against is
    linear before and after the eta where the distance outweighs the SVM twice: on either side the
    etas that the solution solves are an interval.

    Parameters
    ----------
    found : Solution
        For some eta.
    G, products : ndarray
        As in `nearest_weights`.
    etas : sequence of float
        Ascending.
    tol : float
        Relative gap to accept.
    """

    def missed(number: int) -> bool:
        return recertified(found, distance(etas[number], G, products), tol) is None

    own = distance(1.0, G, products).value(found.weights)
    turn = -2.0 * found.svm_value / own if own < 0.0 else np.inf
    before = bisect_left(etas, turn)
    count = _first_missed(missed, 0, before)
    return count if count < before else _first_missed(missed, before, len(etas))


def _first_missed(missed: Callable[[int], bool], begin: int, end: int) -> int:
    """Return the first number of a range that is missed, where those that are not are a run."""
    if begin == end or missed(begin):
        return begin
    if not missed(end - 1):
        return end
    return begin + bisect_left(range(begin, end), True, key=missed)


def distance(eta: float, G: Array, products: Array) -> Quadratic:
    """Return ``(eta/2) |K - yy'|_F^2`` without its constant."""
    return Quadratic(-eta * products, eta * G)


def centered_alignment_weights(Ks: Array, G: Array, target: Array, sample_weight: Array) -> Array:
    """Return the weights of length one whose centred kernel aligns best with the targets.

    They are mu = v/|v| with v the minimiser over v >= 0 of ``v'Mv - 2 v'a``, where M holds the
    Frobenius products of the centred kernels and a those with yy' (alignf of Cortes, Mohri and
    Rostamizadeh, JMLR 13, 2012). With u the unit vector of equal entries,

        M[m, l] = G[m, l] - 2 u'K^m K^l u + (u'K^m u) (u'K^l u),

    so that no kernel matrix is centred or copied.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices.
    G : ndarray of shape (n_kernels, n_kernels)
        Their Frobenius products.
    target, sample_weight : ndarray of shape (n_samples,)
        y and the weights of the samples.
    """
    root = np.sqrt(sample_weight)
    unit = root / np.linalg.norm(root)
    means = root * (Ks @ (root * unit))
    grand = means @ unit
    M = G - 2.0 * (means @ means.T) + np.outer(grand, grand)
    centred = target - float(sample_weight @ target) / float(sample_weight.sum())
    v = nearest_weights(M, target_products(Ks, centred, sample_weight))
    length = float(np.linalg.norm(v))
    return v / length if length > 0.0 else v
