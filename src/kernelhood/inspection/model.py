"""The Rademacher complexity of MT-ONMKL's hypothesis class: three bounds and an estimate.

The class holds, for N = sum_t n_t samples, all functions without an intercept with

    sum_t |w_t|^2 <= R,   theta >= 0,   sum_t |K_t - Khat_t|_F^2 <= rho.

For random signs sigma its supremum is sqrt(R) sqrt(sup over theta of sum_t sigma_t'K_t sigma_t).
Without theta >= 0 the inner supremum is a linear function over an ellipsoid. With G the Frobenius
products, d the traces, b = 2 G kappa and c = |Khat|^2, taking expectations inside the roots gives

    Rhat <= (1/N) sqrt(R/2) sqrt( d'G+b + sqrt(d'G+d + 2 rank) sqrt(b'G+b + 4 (rho - c)) ).

Since Khat lies in the span of the kernels, d'G+b = 2 <Pi, Khat>, b'G+b = 4c and the last root is
2 sqrt(rho). The looser form, from which the paper's regulariser comes, has the arithmetic mean of
the two factors in place of their product. The printed form has the prefactor (1/n) sqrt(R/(2T)),
n = N/T, which is sqrt(T) times what the steps give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._support import aligned
from kernelhood._typing import Array, Indices
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp
from kernelhood.solvers.neighborhood import BoundTerms

FORMS = ("geometric", "arithmetic", "printed")


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
    form : {"geometric", "arithmetic", "printed"}
        The tight form; the looser one with the arithmetic mean; or the tight one with the prefactor
        of Theorem 1 as printed, which is larger by the square root of the number of tasks.

    Examples
    --------
    >>> terms = BoundTerms(overlap=0.0, identity=2.0, rank=1, excess=0.0, n_tasks=4)
    >>> [round(rademacher_bound(terms, 2, rho=1.0, form=form), 3) for form in FORMS]
    [0.707, 0.707, 1.414]
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
    mixed = 0.5 * (spread + reach) if form == "arithmetic" else np.sqrt(spread * reach)
    scale = terms.n_tasks if form == "printed" else 1
    return float(np.sqrt(0.5 * scale * radius * max(terms.overlap + mixed, 0.0)) / n_samples)


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
    >>> from kernelhood.inspection.model import monte_carlo_complexity
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


def alignment(K: Array, L: Array, *, centered: bool = False) -> float:
    r"""Return the cosine :math:`\langle K, L\rangle / (\lVert K\rVert \lVert L\rVert)`.

    The products are those of Frobenius; it is 0 if one of the matrices vanishes.

    Parameters
    ----------
    K, L : ndarray of shape (n_samples, n_samples)
        Matrices on the same samples.
    centered : bool
        Whether to centre both in feature space first (Cortes, Mohri, Rostamizadeh 2012).

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 1.0, -1.0])
    >>> round(alignment(np.outer(y, y), 2 * np.outer(y, y)), 12)
    1.0
    """
    K, L = np.asarray(K, dtype=np.float64), np.asarray(L, dtype=np.float64)
    if K.ndim != 2 or K.shape != L.shape:
        raise ValueError(f"K and L must be matrices of one shape, got {K.shape} and {L.shape}.")
    if centered:
        K, L = center(K), center(L)
    return cosine(float(np.vdot(K, L)), float(np.vdot(K, K)), float(np.vdot(L, L)))


def center(K: Array) -> Array:
    """Return the kernel matrix of the features with their mean taken away, :math:`HKH`.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.inspection.model import center
    >>> center(np.eye(2)).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    K = np.asarray(K, dtype=np.float64)
    return np.asarray(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())


def span_alignment(G: Array, first: Array, second: Array) -> float:
    """Return the alignment of two combinations of base kernels.

    Parameters
    ----------
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the base kernels.
    first, second : ndarray of shape (n_kernels,)
        Coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.inspection.model import span_alignment
    >>> round(span_alignment(np.eye(2), np.array([1.0, 0.0]), np.array([1.0, 1.0])), 3)
    0.707
    """
    return cosine(float(first @ G @ second), float(first @ G @ first), float(second @ G @ second))


def cosine(product: float, first: float, second: float) -> float:
    """Return the cosine from an inner product and two squared norms, 0 if one of them is 0."""
    norms = np.sqrt(max(first, 0.0)) * np.sqrt(max(second, 0.0))
    return float(np.clip(product / norms, -1.0, 1.0)) if norms > 0.0 else 0.0


def places_of(X: Any, points: Any) -> Indices:
    """Return the place of each row of X among some points, -1 for a row that is not there.

    Of equal points the first counts, unless X holds all points in their order.

    Parameters
    ----------
    X, points : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
        Rows.

    Examples
    --------
    >>> from kernelhood.inspection.model import places_of
    >>> places_of([[2.0], [3.0]], [[1.0], [2.0]]).tolist()
    [1, -1]
    """
    asked, known = (
        np.asarray(one.toarray() if sparse.issparse(one) else one, dtype=np.float64) + 0.0
        for one in (X, points)
    )
    if np.array_equal(asked, known):
        return np.arange(len(known))
    place = {row.tobytes(): number for number, row in reversed(list(enumerate(known)))}
    return np.array([place.get(row.tobytes(), -1) for row in asked], dtype=np.intp)


@dataclass(frozen=True)
class Neighborhood:
    """The neighborhood-defining matrix of one task.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        Coefficients on the base kernels of the matrix, or of the part of it that exists beyond
        the training points.
    gram : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the base kernels.
    traces : ndarray of shape (n_kernels,)
        Their traces.
    alignment : float, optional
        Cosine between the task's kernel and the whole matrix on the training points, if the
        base kernels carry only a part of it.
    """

    weights: Array
    gram: Array
    traces: Array
    alignment: float | None = None


def as_table(values: Array, rows: list[Any], columns: list[str], name: str) -> Any:
    """Return numbers as a data frame, or as text if pandas is not installed.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        The numbers.
    rows, columns : list
        Labels.
    name : str
        What the rows are.
    """
    try:
        import pandas as pd
    except ImportError:
        return _text_table([str(row) for row in rows], columns, values, name)
    index = pd.Index(rows, name=name, tupleize_cols=False)
    return pd.DataFrame(values, index=index, columns=columns)


def _text_table(rows: list[str], columns: list[str], values: Array, name: str) -> str:
    """Return a plain-text table of numbers with labels."""
    head = [name, *columns]
    body = [
        [row, *(f"{value:.4g}" for value in line)] for row, line in zip(rows, values, strict=True)
    ]
    return "\n".join(aligned([head, *body]))
