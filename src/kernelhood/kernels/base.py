"""What a kernel is: an immutable function k(X, Z) of two sets of points.

Those that depend on the points only through inner products say so by `from_products`, so that a
bank can share the products among all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from kernelhood._typing import Array
from kernelhood.kernels._points import square_norms
from kernelhood.kernels._products import Pair, Products, Side

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
        Whether it depends on their distances only. Its points are then moved close to 0 where this
        saves digits, and its products are those of the moved points.
    """

    of_distances: ClassVar[bool] = False

    @property
    def smallest_distance(self) -> float:
        """The smallest distance that matters, where it depends on distances."""
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
