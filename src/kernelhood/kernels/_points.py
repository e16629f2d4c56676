"""Arithmetic on points that are the rows of a dense or of a sparse matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from kernelhood._typing import Array, Flags, Indices

#: Square norms up to this can be added and doubled without overflow.
LARGEST = 1e307
#: Numbers of points that are made dense at a time, and the most points.
_BLOCK, _MOST_POINTS = 2**20, 2**10
#: A column whose spread is below this share of its largest value is constant but for rounding.
_CONSTANT = 1e-12


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


def column_moments(X: Array, share: Array) -> tuple[Array, Array, Flags]:
    """Return mean, scale and whether values are missing, of each column."""
    absent = np.isnan(X)
    flags = absent.any(axis=0)
    first = X[0] if not flags.any() else _first_known(X, absent)
    moved = X - first
    if flags.any():
        moved[absent] = 0.0
        counts = share @ ~absent
        counts = np.where(counts > 0.0, counts, 1.0)
    else:
        counts = np.ones(X.shape[1])
    centre = share @ moved / counts
    moved -= centre
    if flags.any():
        moved[absent] = 0.0
    # In units of about the largest, so that squares of very large or small values are numbers; a
    # power of two rounds nothing.
    unit = np.ldexp(1.0, np.frexp(np.abs(moved).max(axis=0))[1] - 1)
    moved /= unit
    scale = unit * np.sqrt(share @ (moved * moved) / counts)
    mean = first + centre
    size = np.abs(mean) + scale
    known = np.where(scale > _CONSTANT * size, scale, 0.0)
    return np.asarray(mean), known, np.asarray(flags)


def off_the_median(X: Array, share: Array) -> Array:
    """Return the root mean square of how far values are from the median that are not it."""
    width = max(1, _BLOCK // len(X))
    blocks = [X[:, first : first + width] for first in range(0, X.shape[1], width)]
    return np.concatenate([np.empty(0), *(_far_values(one, share) for one in blocks)])


def _far_values(X: Array, share: Array) -> Array:
    """Return the same of a few columns."""
    known = ~np.isnan(X)
    weight = known * share[:, None]
    order = np.argsort(X, axis=0)
    below = np.cumsum(np.take_along_axis(weight, order, axis=0), axis=0)
    middle = np.argmax(below >= (0.5 - _CONSTANT) * below[-1], axis=0)[None]
    median = np.take_along_axis(X, np.take_along_axis(order, middle, axis=0), axis=0)
    apart = np.where(known, np.abs(X - median), 0.0)
    unit = apart.max(axis=0)
    apart /= np.where(unit > 0.0, unit, 1.0)  # so that squares are numbers
    others = np.sum(weight * (apart > 0.0), axis=0)
    squares = np.einsum("ij,ij,ij->j", weight, apart, apart)
    return np.asarray(unit * np.sqrt(squares / np.where(others > 0.0, others, 1.0)))


def _first_known(X: Array, absent: Flags) -> Array:
    """Return the first value of each column that is not missing; 0 where all are."""
    row = np.argmax(~absent, axis=0)
    values = X[row, np.arange(X.shape[1])]
    return np.where(np.isnan(values), 0.0, values)
