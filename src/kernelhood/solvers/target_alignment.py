"""Kernels that align with the targets: the matrix yy' as the neighborhood.

A sample of weight w counts as w equal samples: all sums over samples carry the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.penalties import Distance, Fixed
from kernelhood.penalties.distance import nearest_weights
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.neighborhood import identity_projection
from kernelhood.solvers.problem import Problem
from kernelhood.solvers.solution import Solution, solved_ahead
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


class TargetMatrix(NamedTuple):
    """The matrix yy' as the kernels of a task see it.

    Attributes
    ----------
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the kernels.
    products : ndarray of shape (n_kernels,)
        Their Frobenius products with yy'.
    size : float
        ``|yy'|_F``.
    centre, slack : ndarray of shape (n_kernels,)
        The weights of the nearest kernel, the solution for a large eta, and their slack.
    projection : ndarray of shape (n_kernels,)
        Coefficients of the projection of yy' onto the kernels.
    """

    G: Array
    products: Array
    size: float
    centre: Array
    slack: Array
    projection: Array

    @classmethod
    def of(cls, Ks: Array, G: Array, target: Array, sample_weight: Array) -> TargetMatrix:
        """Look at the targets; parameters as for `centered_alignment_weights`."""
        products = target_products(Ks, target, sample_weight)
        size, nearest = float(sample_weight @ target**2), nearest_weights(G, products)
        return cls(G, products, size, *nearest, identity_projection(G, products))

    @property
    def least_distance(self) -> float:
        """``1/2 |K - yy'|_F^2`` at the nearest kernel, which no weights avoid."""
        inside = self.centre @ (self.G @ self.centre) - 2.0 * (self.centre @ self.products)
        return 0.5 * float(self.size**2 + inside)

    def distance(self, eta: float) -> Distance:
        """Return ``(eta/2) |K - yy'|_F^2`` without the part that no weights avoid."""
        return Distance(eta, self.G, self.centre, self.slack)


def solve_aligned(
    block: Block,
    target: TargetMatrix,
    eta: float,
    *,
    starts: Sequence[Solution] = (),
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Minimise ``S(K) + (eta/2) |K - yy'|_F^2`` without the part that no weights avoid.

    The distance may be far larger than the SVM's value. Beside its smallest value a small gap of
    the whole would say little of the weights, and nothing of the SVM: the former is left out, and
    the latter is solved to the same relative gap of its own at the end.

    Parameters
    ----------
    block : Block
        The SVM.
    target : TargetMatrix
        The matrix yy'.
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
    penalty = target.distance(eta)
    start = closest_start(starts, penalty)
    if start is None:
        start = valued([block], penalty.start())
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


def certified_etas(found: Solution, target: TargetMatrix, etas: Sequence[float], tol: float) -> int:
    """Return for how many of the leading etas the solution solves the problem, without any SVM.

    The penalties lie on a line, see `solved_ahead`.

    Parameters
    ----------
    found : Solution
        For some eta.
    target : TargetMatrix
        The matrix yy'.
    etas : sequence of float
        Ascending.
    tol : float
        Relative gap to accept.
    """
    return solved_ahead(found, lambda number: target.distance(etas[number]), len(etas), tol)


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
    v, _ = nearest_weights(M, target_products(Ks, centred, sample_weight))
    length = float(np.linalg.norm(v))
    return v / length if length > 0.0 else v
