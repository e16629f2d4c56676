"""Kernel alignment: the cosine between kernel matrices, plain and centred."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array


def alignment(K: Array, L: Array, *, centered: bool = False) -> float:
    r"""Return the cosine :math:`\langle K, L\rangle / (\lVert K\rVert \lVert L\rVert)`.

    The products are those of Frobenius; it is 0 where one of the matrices vanishes.

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
    >>> from kernelhood.alignment import center
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
    >>> from kernelhood.alignment import span_alignment
    >>> round(span_alignment(np.eye(2), np.array([1.0, 0.0]), np.array([1.0, 1.0])), 3)
    0.707
    """
    return cosine(float(first @ G @ second), float(first @ G @ first), float(second @ G @ second))


def cosine(product: float, first: float, second: float) -> float:
    """Return the cosine from an inner product and two squared norms, 0 where one of them is 0."""
    norms = np.sqrt(max(first, 0.0)) * np.sqrt(max(second, 0.0))
    return float(np.clip(product / norms, -1.0, 1.0)) if norms > 0.0 else 0.0
