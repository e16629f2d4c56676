"""Inner products and distances, which many kernels have in common.

Distances come from inner products, |x - z|^2 = |x|^2 + |z|^2 - 2 x'z, because these are fast. Where
the points lie close together but far from 0, little is left of the digits after that subtraction.
The points are then moved to their centre first, which changes no distance. One centre does not help
points in clusters far apart: distances among those that are still far from it are summed up from
differences, which is slow but loses nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.kernels._points import (
    LARGEST,
    Centre,
    Parts,
    column_sums,
    inner_products,
    mean_point,
    quiet,
    seen_from,
    square_norms,
    sum_of_squares,
    write_differences,
)

#: The offset of points matters when the square of their mean is more than this many times their
#: mean square distance from it. The distances lose as many times the rounding error at most, which
#: leaves them more than 12 digits of that distance.
_OFFSET = 100.0
#: What rounding may change: a square distance by this share of the smallest one that matters, or by
#: this share of itself. Inner products change it by about eps (|x|^2 + |z|^2).
_LOSS = 1e-9
_EPS = float(np.finfo(np.float64).eps)


class Products(NamedTuple):
    """The inner products of two sets of points and their square norms.

    Attributes
    ----------
    inner : ndarray of shape (n, m)
        x'z; of shape (0, 0) where the points are numbers and stand in `left` and `right`.
    left : ndarray of shape (n,)
        |x|^2, or x.
    right : ndarray of shape (m,)
        |z|^2, or z.
    same : bool
        Whether both sets are one, so that the distances on the diagonal are exactly 0.
    total : float
        The sum of all square norms.
    """

    inner: Array
    left: Array
    right: Array
    same: bool
    total: float

    def finite(self) -> Products:
        """Return the products with 0 where they are too large for a number."""
        if self.total <= LARGEST:
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


class Side:
    """The points on the right, with what all points on the left need to know of them.

    Parameters
    ----------
    points : ndarray or sparse matrix of shape (m, n_features)
        The points z.
    length : float
        The smallest distance that matters.
    """

    def __init__(self, points: Any, length: float = np.inf) -> None:
        self.points, self.limit = points, min(_LOSS / (2.0 * _EPS) * length * length, LARGEST)
        #: What kernels keep of these points for the next ones on the left, by the kernels' places.
        self.kept: dict[int, Array] = {}
        with quiet():
            self.squares = square_norms(points)
            self.total = float(np.add.reduce(self.squares))

    @cached_property
    def centre(self) -> Centre | None:
        """The centre of the points, or None where they are not far from 0 for their distances."""
        if not self._far_from_zero():
            return None
        if not sparse.issparse(self.points):
            return Centre(None, mean_point(self.points))
        # A feature that is 0 in half of the points lies no farther from 0 than it spreads, so that
        # it can stay sparse. The others are no larger as a dense matrix.
        points = self.points.tocsc()
        columns = np.flatnonzero(2 * np.diff(points.indptr) > points.shape[0])
        return Centre(columns, mean_point(points[:, columns].toarray()))

    def _far_from_zero(self) -> bool:
        """Return whether the mean of the points is large against their distances from it."""
        Z, n = self.points, len(self.squares)
        if n == 0:
            return False
        with quiet():
            total = column_sums(Z)
            square = float(np.dot(total, total)) / n**2
        return square > _OFFSET * (self.total / n - square)

    @cached_property
    def moved(self) -> Parts:
        """The points seen from their centre."""
        return (self.points,) if self.centre is None else seen_from(self.points, self.centre)

    @cached_property
    def moved_squares(self) -> Array:
        """The square distances of the points from their centre."""
        return self.squares if self.centre is None else sum_of_squares(self.moved)


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
        side = self.side
        with quiet():
            inner = inner_products((self.points,), (side.points,))
            if self.same:
                return Products(inner, side.squares, side.squares, True, 2.0 * side.total)
            left = square_norms(self.points)
            total = float(np.add.reduce(left)) + side.total
        return Products(inner, left, side.squares, False, total)

    @cached_property
    def apart(self) -> Products:
        """What distances are computed from: of one column the points, otherwise products.

        The differences of numbers are faster than their products, and lose no digits.
        """
        points, others = self.points, self.side.points
        if points.shape[1] != 1 or sparse.issparse(points) or sparse.issparse(others):
            return self.distant
        left, right = (np.ascontiguousarray(one[:, 0]) for one in (points, others))
        return Products(np.empty((0, 0)), left, right, self.same, 0.0)

    @cached_property
    def distant(self) -> Products:
        """Products that keep the digits of the distances."""
        products = self.inner if self.side.centre is None else self._moved(self.side.centre)
        # The sum is known already, and is small enough for ordinary points.
        return products if products.total <= self.side.limit else self._checked(products)

    def _moved(self, centre: Centre) -> Products:
        """Return the products of the points seen from the centre."""
        parts, right = self.side.moved, self.side.moved_squares
        moved = parts if self.same else seen_from(self.points, centre)
        left = right if self.same else sum_of_squares(moved)
        with quiet():
            total = float(np.add.reduce(left) + np.add.reduce(right))
            return Products(inner_products(moved, parts), left, right, self.same, total)

    def _checked(self, products: Products) -> Products:
        """Return products that stand for the distances, some of them summed up from differences.

        These are the distances between points that are both far from 0, if any are close together.
        Where only one of them is far, its distance from the other is about as large as its norm and
        loses no digits. Where numbers overflow these are all distances, because infinity minus
        infinity would be no number.

        The norms of far points become 0, and half of them is taken off their products instead, so
        that minus half of a distance can stand in the place of a product.
        """
        inner, left, right, same, total = products
        limit = -1.0 if total > LARGEST else self.side.limit
        if limit >= 0.0 and not _loses_digits(products, limit):
            return products
        rows, columns = np.flatnonzero(left > limit), np.flatnonzero(right > limit)
        inner = inner.copy() if products is vars(self).get("inner") else inner
        with quiet():
            inner[rows] -= 0.5 * left[rows, None]
            inner[:, columns] -= 0.5 * right[columns]
        write_differences(self.points, rows, self.side.points, columns, inner)
        left, right = (np.where(one > limit, 0.0, one) for one in (left, right))
        return Products(inner, left, right, same, float(left.sum() + right.sum()))


@compiled
def _loses_digits(products: Products, limit: float) -> bool:
    """Return whether points whose square norms are above the limit are close for their norms."""
    for i in range(products.left.shape[0]):
        if products.left[i] > limit:
            row = products.inner[i]
            for j in range(row.shape[0]):
                size = products.left[i] + products.right[j]
                if (
                    _LOSS * (size - 2.0 * row[j]) < _EPS * size
                    and products.right[j] > limit
                    and not (products.same and i == j)
                ):
                    return True
    return False
