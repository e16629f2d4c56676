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
from typing import NamedTuple, Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import BoxLoss
from kernelhood.operators import one_task
from kernelhood.penalties import Distance, Fixed, Simplex
from kernelhood.penalties.priced import nearest_weights
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, Solution, closest_start, solved_ahead, valued

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


# Kernels that align with the targets: the matrix yy' as the neighborhood.
#
# A sample of weight w counts as w equal samples: all sums over samples carry the weights.


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


class BoundTerms(NamedTuple):
    r"""What the bound needs to know of the kernels.

    Attributes
    ----------
    overlap : float
        :math:`d'A^+b = 2\langle\Pi, \hat K\rangle`, with the projection :math:`\Pi` of the identity
        onto the span of the kernels.
    identity : float
        :math:`d'A^+d = \lVert\Pi\rVert^2`.
    rank : int
        Dimension of the span.
    excess : float
        :math:`b'A^+b - 4c`, 0 for matrices :math:`\hat K` within the span and negative otherwise.
    n_tasks : int
        T, which only the printed prefactor asks for.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.inspection import BoundTerms
    >>> K = np.diag([1.0, 3.0])
    >>> terms = BoundTerms.from_tasks([[[np.vdot(K, K)]]], [[np.trace(K)]], [[0.5]])
    >>> round(terms.overlap, 12), round(terms.identity, 12), terms.rank
    (4.0, 1.6, 1)
    """

    overlap: float
    identity: float
    rank: int
    excess: float
    n_tasks: int = 1

    @classmethod
    def from_tasks(
        cls,
        grams: Sequence[Array] | Array,
        traces: Sequence[Array] | Array,
        neighborhoods: Sequence[Array] | Array,
    ) -> Self:
        r"""Sum the terms over tasks.

        Parameters
        ----------
        grams : sequence of ndarray of shape (n_kernels, n_kernels)
            Frobenius products of each task's base kernels.
        traces : sequence of ndarray of shape (n_kernels,)
            Their traces.
        neighborhoods : sequence of ndarray of shape (n_kernels,)
            Coefficients :math:`\kappa` of :math:`\hat K` on the base kernels.
        """
        overlap, identity, rank = 0.0, 0.0, 0
        for G, d, kappa in zip(grams, traces, neighborhoods, strict=True):
            gamma = identity_projection(G, d)
            overlap += 2.0 * float(gamma @ G @ kappa)
            identity += float(gamma @ G @ gamma)
            rank += span_rank(G)
        return cls(overlap, identity, rank, 0.0, len(neighborhoods))
