"""The Rademacher complexity of MT-ONMKL's hypothesis class: two bounds and an estimate.

The class holds, for N = sum_t n_t samples, all functions with

    sum_t |w_t|^2 <= R,   theta >= 0,   sum_t |K_t - Khat_t|_F^2 <= rho.

For random signs sigma its supremum is sqrt(R) sqrt(sup over theta of sum_t sigma_t'K_t sigma_t).
Without theta >= 0 the inner supremum is a linear function over an ellipsoid. With G the Frobenius
products, d the traces, b = 2 G kappa and c = |Khat|^2, taking expectations inside the roots gives

    Rhat <= (1/N) sqrt(R/2) sqrt( d'G+b + sqrt(d'G+d + 2 rank) sqrt(b'G+b + 4 (rho - c)) ).

Since Khat lies in the span of the kernels, d'G+b = 2 <Pi, Khat>, b'G+b = 4c and the last root is
2 sqrt(rho). The paper's looser form has the arithmetic mean of the two factors in place of their
product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp
from kernelhood.solvers.neighborhood import identity_projection, span_rank

FORMS = ("geometric", "arithmetic")


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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.bounds import BoundTerms
    >>> K = np.diag([1.0, 3.0])
    >>> terms = BoundTerms.from_tasks([[[np.vdot(K, K)]]], [[np.trace(K)]], [[0.5]])
    >>> round(terms.overlap, 12), round(terms.identity, 12), terms.rank
    (4.0, 1.6, 1)
    """

    overlap: float
    identity: float
    rank: int
    excess: float

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
        return cls(overlap, identity, rank, 0.0)


def rademacher_bound(
    terms: BoundTerms,
    n_samples: float,
    *,
    rho: float,
    radius: float = 1.0,
    form: str = "geometric",
) -> float:
    r"""Return the upper bound on the empirical Rademacher complexity.

    Parameters
    ----------
    terms : BoundTerms
        Of the kernels and the neighborhood.
    n_samples : float
        N, the samples of all tasks together, or their total weight.
    rho : float
        Squared radius of the neighborhood.
    radius : float
        R, the bound on :math:`\sum_t \lVert w_t\rVert^2`.
    form : {"geometric", "arithmetic"}
        The tight form, or the paper's.

    Examples
    --------
    >>> terms = BoundTerms(overlap=0.0, identity=2.0, rank=1, excess=0.0)
    >>> rademacher_bound(terms, 2, rho=1.0), rademacher_bound(terms, 2, rho=1.0, form="arithmetic")
    (0.707..., 0.707...)
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}.")
    if not rho >= 0.0:
        raise ValueError(f"rho must be at least 0, got {rho!r}.")
    if not radius >= 0.0:
        raise ValueError(f"radius must be at least 0, got {radius!r}.")
    spread = terms.identity + 2.0 * terms.rank
    reach = terms.excess + 4.0 * rho
    if reach < 0.0:
        raise ValueError("rho is too small: no combination of the kernels is that close to Khat.")
    mixed = np.sqrt(spread * reach) if form == "geometric" else 0.5 * (spread + reach)
    return float(np.sqrt(0.5 * radius * max(terms.overlap + mixed, 0.0)) / n_samples)


def monte_carlo_complexity(
    stacks: Sequence[Array],
    neighborhoods: Sequence[Array] | Array,
    *,
    rho: float,
    radius: float = 1.0,
    n_draws: int = 100,
    random_state: int | None = None,
) -> float:
    r"""Estimate the empirical Rademacher complexity by drawing signs.

    For every draw the supremum over :math:`\theta \ge 0` within the neighborhood is found exactly,
    up to a bisection on the multiplier of the neighborhood.

    Parameters
    ----------
    stacks : sequence of ndarray of shape (n_kernels, n_t, n_t)
        Base kernel matrices of each task.
    neighborhoods : sequence of ndarray of shape (n_kernels,)
        Coefficients :math:`\kappa` of :math:`\hat K` on the base kernels.
    rho, radius : float
        As in `rademacher_bound`.
    n_draws : int
        Number of sign vectors.
    random_state : int, optional
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.bounds import monte_carlo_complexity
    >>> stack = np.eye(4)[None]  # one task with one kernel
    >>> estimate = monte_carlo_complexity([stack], [[1.0]], rho=0.0, n_draws=3, random_state=0)
    >>> round(estimate, 3)
    0.5
    """
    rng = np.random.default_rng(random_state)
    grams = [np.einsum("mij,lij->ml", Ks, Ks) for Ks in stacks]
    n_samples = sum(Ks.shape[1] for Ks in stacks)
    values = []
    for _ in range(n_draws):
        gains = []
        for Ks in stacks:
            signs = rng.choice([-1.0, 1.0], size=Ks.shape[1])
            gains.append(np.einsum("i,mij,j->m", signs, Ks, signs))
        values.append(np.sqrt(radius * max(_largest_gain(grams, gains, neighborhoods, rho), 0.0)))
    return float(np.mean(values) / n_samples)


def _largest_gain(
    grams: Sequence[Array],
    gains: Sequence[Array],
    neighborhoods: Sequence[Array] | Array,
    rho: float,
) -> float:
    """Return max of gains'theta over theta >= 0 with sum_t |theta_t - kappa_t|_G^2 <= rho."""

    def best(multiplier: float) -> tuple[float, float]:
        value, distance = 0.0, 0.0
        for G, gain, kappa in zip(grams, gains, neighborhoods, strict=True):
            c = -gain / multiplier - G @ kappa
            theta = solve_nonneg_qp(G, c, np.zeros_like(c), np.maximum(kappa, 0.0))
            value += float(gain @ theta)
            distance += float((theta - kappa) @ G @ (theta - kappa))
        return value, distance

    low, high = -30.0, 60.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if best(2.0**middle)[1] > rho else (low, middle)
    value, distance = best(2.0**high)
    if distance > rho + 1e-6 * max(rho, 1.0):
        raise ValueError("rho is too small: no kernel of weights >= 0 is that close to Khat.")
    return value
