"""Arithmetic on points that are the rows of a dense or of a sparse matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from kernelhood._compiled import compiled
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
    """Return the first value of each column that is not missing; 0 if all are."""
    row = np.argmax(~absent, axis=0)
    values = X[row, np.arange(X.shape[1])]
    return np.where(np.isnan(values), 0.0, values)


# Inner products and distances, which many kernels have in common.
#
# Distances come from inner products, |x - z|^2 = |x|^2 + |z|^2 - 2 x'z, because these are fast.
# Where
# the points lie close together but far from 0, little is left of the digits after that subtraction.
# The points are then moved to their centre first, which changes no distance. One centre does not
# help
# points in clusters far apart: distances among those that are still far from it are summed up from
# differences, which is slow but loses nothing.


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
        x'z; of shape (0, 0) if the points are numbers and stand in `left` and `right`.
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
        """Return the products with 0 if they are too large for a number."""
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
        """The centre of the points, or None if they are not far from 0 for their distances."""
        n = len(self.squares)
        if n == 0:
            return None
        with quiet():
            total = column_sums(self.points)
            square = float(np.dot(total, total)) / n**2
        if not square > _OFFSET * (self.total / n - square):
            return None
        if not sparse.issparse(self.points):
            return Centre(None, mean_point(self.points))
        # A feature that is 0 in half of the points lies no farther from 0 than it spreads, so that
        # it can stay sparse. The others are no larger as a dense matrix.
        points = self.points.tocsc()
        columns = np.flatnonzero(2 * np.diff(points.indptr) > points.shape[0])
        return Centre(columns, mean_point(points[:, columns].toarray()))

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
    moved points. Both are the same if the offset of the points does not matter.

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
        If only one of them is far, its distance from the other is about as large as its norm and
        loses no digits. If numbers overflow these are all distances, because infinity minus
        infinity would not be a number.

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


# What a kernel is: an immutable function k(X, Z) of two sets of points.
#
# Those that depend on the points only through inner products say so by `from_products`, so that a
# bank can share the products among all of them.


Points = Any
Columns = tuple[int | str, ...] | None

_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive semi-definite function of two points.

    Parameters
    ----------
    columns : sequence of int or str, optional
        The features it sees; all of them by default. Names need a data frame in ``fit``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from kernelhood import Kernel
    >>> @dataclass(frozen=True)
    ... class Smallest(Kernel):
    ...     def evaluate(self, X, Z):
    ...         return np.minimum(X, Z.T)
    >>> Smallest(columns=[1])([[0.0, 2.0], [0.0, 5.0]])
    array([[2., 2.],
           [2., 5.]])
    """

    columns: Columns = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.columns is not None:
            object.__setattr__(self, "columns", _checked_columns(self.columns))

    def __call__(self, X: Points, Z: Points | None = None) -> Array:
        """Return the matrix k(X, Z) of shape (n, m); Z = None stands for X."""
        X = restrict(X, self.columns)
        Z = X if Z is None else restrict(Z, self.columns)
        return np.asarray(self.evaluate(X, Z), dtype=np.float64)

    @abstractmethod
    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return k(X, Z) for points that are restricted to the kernel's columns already."""

    def diagonal(self, X: Points) -> Array:
        """Return k(x, x) for every row of X."""
        rows = (self(X[i : i + 1]) for i in range(X.shape[0]))
        return np.array([float(value[0, 0]) for value in rows])

    def with_columns(self, columns: Columns) -> Self:
        """Return the same kernel on other columns."""
        return replace(self, columns=columns)

    def resolved(self, numbers: Mapping[str, int]) -> Self:
        """Return the same kernel with names of columns replaced by their numbers."""
        if self.columns is None or not any(isinstance(c, str) for c in self.columns):
            return self
        missing = [c for c in self.columns if isinstance(c, str) and c not in numbers]
        if missing:
            raise ValueError(f"columns {missing} are not among the features {list(numbers)}.")
        return self.with_columns(
            tuple(numbers[c] if isinstance(c, str) else c for c in self.columns)
        )

    def __sklearn_clone__(self) -> Self:
        return self


class ProductKernel(Kernel):
    """A kernel that depends on its points only through their inner products.

    Attributes
    ----------
    of_distances : bool
        Whether it depends on their distances only. Its points are then moved close to 0 if this
        saves digits, and its products are those of the moved points.
    """

    of_distances: ClassVar[bool] = False

    @property
    def smallest_distance(self) -> float:
        """The smallest distance that matters, if it depends on distances."""
        return np.inf

    @abstractmethod
    def from_products(self, products: Products) -> Array:
        """Return the kernel matrix from the inner products of the points."""

    @abstractmethod
    def from_square_norms(self, squares: Array) -> Array:
        """Return k(x, x) from |x|^2."""

    def scales(self, squares: Array) -> Array:
        """Return from |x|^2 what `normalized_from_products` divides by the square roots of."""
        return self.from_square_norms(squares)

    def normalized_from_products(self, products: Products) -> Array:
        """Return k(x, z) / sqrt(k(x, x) k(z, z)) from the inner products of the points."""
        left, right = (inverse_norms(self.scales(one)) for one in (products.left, products.right))
        return np.multiply.outer(left, right) * self.from_products(products)

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return k(X, Z)."""
        return self.from_products(self.products(X, Z))

    def products(self, X: Points, Z: Points) -> Products:
        """Return the products of the points that this kernel needs."""
        return Pair(X, Side(Z, self.smallest_distance)).products(self.of_distances)

    def diagonal(self, X: Points) -> Array:
        """Return k(x, x) for every row of X."""
        return self.from_square_norms(square_norms(restrict(X, self.columns)))


def inverse_norms(diagonal: Array) -> Array:
    """Return 1 / sqrt(diagonal), with 0 for entries that are not positive.

    So small ones that they have lost digits count as 0: products of two results would overflow.
    """
    positive = diagonal >= _SMALLEST
    if positive.all():
        return np.asarray(1.0 / np.sqrt(diagonal))
    safe = np.where(positive, diagonal, 1.0)
    return np.where(positive, 1.0 / np.sqrt(safe), 0.0)


def restrict(X: Points, columns: Columns) -> Points:
    """Return the named columns of X."""
    X = X.astype(np.float64, copy=False) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if columns is None:
        return X
    if any(isinstance(column, str) for column in columns):
        raise ValueError(
            f"columns {list(columns)} are named, but the data has no feature names: "
            "fit on a data frame, behind other steps with set_output(transform='pandas'), or give "
            "numbers."
        )
    worst = max(columns, key=lambda column: int(column))
    if int(worst) >= X.shape[1]:
        raise ValueError(f"columns holds {worst}, but there are only {X.shape[1]} features.")
    return X[:, list(columns)]


def _checked_columns(columns: Any) -> Columns:
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    checked = tuple(column if isinstance(column, str) else int(column) for column in columns)
    if not checked or any(not isinstance(c, str) and c < 0 for c in checked):
        raise ValueError(f"columns must be names or numbers from 0, got {list(columns)}.")
    return checked
