"""Arithmetic on points that are the rows of a dense or of a sparse matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from kernelhood._typing import Array, Indices

#: Square norms up to this can be added and doubled without overflow.
LARGEST = 1e307
#: Numbers of points that are made dense at a time, and the most points.
_BLOCK, _MOST_POINTS = 2**20, 2**10


class Centre(NamedTuple):
    """A point to which others are moved.

    Attributes
    ----------
    columns : ndarray of int or None
        The features it has; in all others it is 0. None stands for all features.
    values : ndarray of shape (n_columns,)
        Its values there.
    """

    columns: Indices | None
    values: Array


Parts = tuple[Any, ...]


def quiet() -> np.errstate:
    """Return a context in which numbers become infinite without a warning."""
    return np.errstate(over="ignore", invalid="ignore")


def square_norms(X: Any) -> Array:
    """Return |x|^2 for every row of a dense or sparse matrix."""
    if not sparse.issparse(X):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    with quiet():
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()


def write_differences(X: Any, rows: Indices, Z: Any, columns: Indices, out: Array) -> None:
    """Write -|x - z|^2 / 2 between some points into out, which is of all points, in blocks."""
    X, Z = X[rows], Z[columns]
    if sparse.issparse(X) and sparse.issparse(Z):
        used = np.union1d(X.nonzero()[1], Z.nonzero()[1])
        X, Z = X[:, used], Z[:, used]
    step = max(1, min(_MOST_POINTS, _BLOCK // max(1, X.shape[1])))
    for j in range(0, len(columns), step):
        right = dense(Z[j : j + step])
        for i in range(0, len(rows), step):
            where = np.ix_(rows[i : i + step], columns[j : j + step])
            distances = cdist(dense(X[i : i + step]), right, "sqeuclidean")
            out[where] = -0.5 * np.minimum(distances, LARGEST)


def column_sums(Z: Any) -> Array:
    """Return the sum of the points."""
    if not sparse.issparse(Z):
        return np.asarray(np.add.reduce(Z))
    if Z.format == "csr":  # Several times as fast as its own method.
        return np.asarray(np.bincount(Z.indices, Z.data, Z.shape[1]), dtype=np.float64)
    return np.asarray(Z.sum(axis=0)).ravel()


def mean_point(Z: Array) -> Array:
    """Return the mean of points, which is exact in features that are constant."""
    return np.asarray(Z[0] + (Z - Z[0]).mean(axis=0))


def seen_from(X: Any, centre: Centre) -> Parts:
    """Return the points seen from a centre, as matrices whose inner products add up."""
    if centre.columns is None:
        return (dense(X) - centre.values,)
    others = np.setdiff1d(np.arange(X.shape[1]), centre.columns)
    X = X.tocsc() if sparse.issparse(X) else X
    moved = dense(X[:, centre.columns]) - centre.values
    rest = X[:, others]
    return (moved, rest.tocsr() if sparse.issparse(rest) else rest)


def inner_products(left: Parts, right: Parts) -> Array:
    """Return the sum of the inner products of parts."""
    first, *others = (X @ Z.T for X, Z in zip(left, right, strict=True))
    total = np.ascontiguousarray(dense(first))
    for other in others:
        total += dense(other)
    return total


def sum_of_squares(parts: Parts) -> Array:
    """Return the square norms of points that come in parts."""
    return np.asarray(sum(square_norms(part) for part in parts))


def dense(X: Any) -> Array:
    """Return the points as a dense matrix."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
