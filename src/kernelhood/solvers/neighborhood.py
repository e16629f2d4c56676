"""The closed form of the neighborhood-defining matrix, and the Gram matrix it needs."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array

_RELATIVE_RANK = 1e-12


def frobenius_gram(Ks: Array, sample_weight: Array) -> tuple[Array, Array]:
    """Return G with G[m, l] = <K^m, K^l>_F, and the traces d with d[m] = tr K^m.

    A sample of weight 2 counts as two equal samples, in the sums over rows and over columns.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices.
    sample_weight : ndarray of shape (n_samples,)
        Positive weights; all 1 for the plain sums.
    """
    d = np.einsum("mii,i->m", Ks, sample_weight)
    if not np.all(sample_weight == 1.0):
        Ks = Ks * np.sqrt(np.outer(sample_weight, sample_weight))
    flat = Ks.reshape(len(Ks), -1)
    return flat @ flat.T, d


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
