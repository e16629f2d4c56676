"""Inner products and distances, which many kernels have in common.

Distances come from inner products, |x - z|^2 = |x|^2 + |z|^2 - 2 x'z, because these are fast. Where
the points lie close together but far from 0, little is left of the digits after that subtraction.
The points are then moved to their centre first, which changes no distance.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from kernelhood._typing import Array, Indices

#: The offset of points matters when the square of their mean is more than this many times their
#: mean square distance from it. The distances lose as many times the rounding error at most, which
#: leaves them more than 12 digits of that distance.
_OFFSET = 100.0
#: Square norms up to this can be added and doubled without overflow.
_LARGEST = 1e307


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

    def overflows(self) -> bool:
        """Return whether numbers may be too large to add and double them."""
        with quiet():
            total = np.add.reduce(self.left) + np.add.reduce(self.right)
        return bool(total > _LARGEST)

    def finite(self) -> Products:
        """Return the products with 0 where they are too large for a number."""
        if not self.overflows():
            return self
        return self._replace(inner=np.where(np.isfinite(self.inner), self.inner, 0.0))

    def square_distances(self) -> Array:
        """Return |x - z|^2."""
        distances = np.add.outer(self.left, self.right)
        # Twice, and last: so a symmetric matrix stays symmetric to the last digit.
        distances -= self.inner
        distances -= self.inner
        np.maximum(distances, 0.0, out=distances)
        if self.same:
            np.fill_diagonal(distances, 0.0)
        return distances


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


class Side:
    """The points on the right, with what all points on the left need to know of them.

    Parameters
    ----------
    points : ndarray or sparse matrix of shape (m, n_features)
        The points z.
    """

    def __init__(self, points: Any) -> None:
        self.points = points

    @cached_property
    def squares(self) -> Array:
        """|z|^2 for every point."""
        return square_norms(self.points)

    @cached_property
    def centre(self) -> Centre | None:
        """The centre of the points, or None where they are not far from 0 for their distances."""
        if not _far_from_zero(self.points, self.squares):
            return None
        if not sparse.issparse(self.points):
            return Centre(None, _mean(self.points))
        # A feature that is 0 in half of the points lies no farther from 0 than it spreads, so that
        # it can stay sparse. The others are no larger as a dense matrix.
        points = self.points.tocsc()
        columns = np.flatnonzero(2 * np.diff(points.indptr) > points.shape[0])
        return Centre(columns, _mean(points[:, columns].toarray()))

    @cached_property
    def moved(self) -> Parts:
        """The points seen from their centre."""
        return (self.points,) if self.centre is None else _moved(self.points, self.centre)

    @cached_property
    def moved_squares(self) -> Array:
        """The square distances of the points from their centre."""
        return self.squares if self.centre is None else _sum_of_squares(self.moved)


class Pair:
    """Two sets of points. Each kind of products is evaluated when it is first asked for.

    Kernels of inner products need those of the points as they are, kernels of distances those of
    moved points. Both are the same where the offset of the points does not matter.

    Parameters
    ----------
    points : ndarray or sparse matrix of shape (n, n_features)
        The points x; those of the side itself for a symmetric matrix.
    side : Side
        The points z.
    """

    def __init__(self, points: Any, side: Side) -> None:
        self.points, self.side, self.same = points, side, points is side.points

    def products(self, moved: bool) -> Products:
        """Return the products of the points as they are, or such as are good for distances."""
        return self.distant if moved else self.inner

    @cached_property
    def inner(self) -> Products:
        """The inner products and square norms of the points as they are."""
        left = self.side.squares if self.same else square_norms(self.points)
        inner = _inner((self.points,), (self.side.points,))
        return Products(inner, left, self.side.squares, self.same)

    @cached_property
    def distant(self) -> Products:
        """Products that keep the digits of the distances."""
        products = self.inner if self.side.centre is None else self._moved(self.side.centre)
        return self._overflowing() if products.overflows() else products

    def _moved(self, centre: Centre) -> Products:
        """Return the products of the points seen from the centre."""
        parts, squares = self.side.moved, self.side.moved_squares
        if self.same:
            return Products(_inner(parts, parts), squares, squares, True)
        left = _moved(self.points, centre)
        return Products(_inner(left, parts), _sum_of_squares(left), squares, False)

    def _overflowing(self) -> Products:
        """Return products that stand for distances some of which are too large for a number.

        Infinity minus infinity would be no number, so these are sums over differences.
        """
        distances = cdist(_dense(self.points), _dense(self.side.points), "sqeuclidean")
        inner = -0.5 * np.minimum(distances, _LARGEST)
        return Products(inner, np.zeros(inner.shape[0]), np.zeros(inner.shape[1]), self.same)


def quiet() -> np.errstate:
    """Return a context in which numbers become infinite without a warning."""
    return np.errstate(over="ignore", invalid="ignore")


def square_norms(X: Any) -> Array:
    """Return |x|^2 for every row of a dense or sparse matrix."""
    with quiet():
        if sparse.issparse(X):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(np.einsum("ij,ij->i", X, X))


def _far_from_zero(Z: Any, squares: Array) -> bool:
    """Return whether the mean of points is large against their distances from it."""
    if Z.shape[0] == 0:
        return False
    with quiet():
        total = np.asarray(Z.sum(axis=0)).ravel()
        square = float(total @ total) / len(squares) ** 2
        return square > _OFFSET * (float(np.add.reduce(squares)) / len(squares) - square)


def _mean(Z: Array) -> Array:
    """Return the mean of points, which is exact in features that are constant."""
    return np.asarray(Z[0] + (Z - Z[0]).mean(axis=0))


def _moved(X: Any, centre: Centre) -> Parts:
    """Return the points seen from a centre, as matrices whose inner products add up."""
    if centre.columns is None:
        return (_dense(X) - centre.values,)
    others = np.setdiff1d(np.arange(X.shape[1]), centre.columns)
    X = X.tocsc() if sparse.issparse(X) else X
    moved = _dense(X[:, centre.columns]) - centre.values
    rest = X[:, others]
    return (moved, rest.tocsr() if sparse.issparse(rest) else rest)


def _inner(left: Parts, right: Parts) -> Array:
    """Return the sum of the inner products of parts."""
    with quiet():
        first, *others = (X @ Z.T for X, Z in zip(left, right, strict=True))
        total = np.ascontiguousarray(_dense(first))
        for other in others:
            total += _dense(other)
    return total


def _sum_of_squares(parts: Parts) -> Array:
    """Return the square norms of points that come in parts."""
    return np.asarray(sum(square_norms(part) for part in parts))


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
