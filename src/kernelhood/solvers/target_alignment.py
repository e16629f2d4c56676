"""Kernels that align with the targets: the matrix yy' as the neighborhood.

A sample of weight w counts as w equal samples: all sums over samples carry the weights.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.fixed import solve_fixed, unsolved
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.nonneg_qp import solve_nonneg_qp
from kernelhood.solvers.penalty import Penalty, penalty_value


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
    Ks: Array,
    terms: DualTerms,
    G: Array,
    products: Array,
    eta: float,
    *,
    start: Solution | None = None,
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
    terms : DualTerms
        Box and linear term of the SVM dual.
    G, products : ndarray
        As in `nearest_weights`, which is the solution for a large eta.
    eta : float
        Weight of the distance, positive.
    start : Solution, optional
        The solution for another eta; by default the weights for an infinite one.
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
    if start is None:
        start = unsolved(Ks, terms, nearest_weights(G, products))
    penalty = Penalty(-eta * products, eta * G, np.zeros_like(products), 0.0)
    found = solve_mkl(Ks, terms, penalty, start=start, tol=tol, max_iter=max_iter)
    svm = solve_fixed(Ks, terms, found.weights, v=found.v, tol=tol, max_iter=max_iter)
    objective = min(found.objective, svm.objective + penalty_value(penalty, found.weights))
    return svm._replace(
        objective=objective,
        n_iter=found.n_iter + svm.n_iter,
        trace=np.vstack([found.trace, [objective, max(found.gap, svm.gap)]]),
    )


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
