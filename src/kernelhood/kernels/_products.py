"""Inner products and distances, which many kernels have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelhood._typing import Array


class Products(NamedTuple):
    """The inner products of two sets of points and their square norms.

    Attributes
    ----------
    inner : ndarray of shape (n, m)
        x'z.
    left : ndarray of shape (n,)
        |x|^2.
    right : ndarray of shape (m,)
        |z|^2.
    same : bool
        Whether both sets are one, so that the distances on the diagonal are exactly 0.
    """

    inner: Array
    left: Array
    right: Array
    same: bool

    def square_distances(self) -> Array:
        """Return |x - z|^2."""
        distances = -2.0 * self.inner
        distances += self.left[:, None]
        distances += self.right
        np.maximum(distances, 0.0, out=distances)
        if self.same:
            np.fill_diagonal(distances, 0.0)
        return distances


def square_norms(X: Any) -> Array:
    """Return |x|^2 for every row of a dense or sparse matrix."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def inner_products(X: Any, Z: Any) -> Products:
    """Return the inner products of the rows of X with the rows of Z."""
    inner = X @ Z.T
    if sparse.issparse(inner):
        inner = inner.toarray()
    left = square_norms(X)
    same = X is Z
    return Products(np.ascontiguousarray(inner), left, left if same else square_norms(Z), same)
