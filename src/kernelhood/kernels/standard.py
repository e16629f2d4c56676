"""The kernels of this library, and those that it takes from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from kernelhood._typing import Array
from kernelhood.kernels.base import (
    Columns,
    Kernel,
    Points,
    ProductKernel,
    Products,
    inverse_norms,
    quiet,
    restrict,
    square_norms,
)


@dataclass(frozen=True)
class Linear(ProductKernel):
    r"""The inner product :math:`x'z`.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def from_products(self, products: Products) -> Array:
        """Return the inner products."""
        return products.inner

    def from_square_norms(self, squares: Array) -> Array:
        """Return |x|^2."""
        return squares

    def normalized_from_products(self, products: Products) -> Array:
        """Return the cosines of the angles between the points."""
        return super().normalized_from_products(products.finite())


@dataclass(frozen=True)
class Polynomial(ProductKernel):
    r"""The polynomial :math:`(x'z + \text{offset})^{\text{degree}}`.

    Parameters
    ----------
    degree : int
        At least 1.
    offset : float
        Not negative, or the kernel would not be positive semi-definite.

    Examples
    --------
    >>> Polynomial(degree=2)([[1.0]], [[2.0], [3.0]])
    array([[ 9., 16.]])
    """

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.degree) != self.degree or self.degree < 1:
            raise ValueError(f"degree must be an integer of at least 1, got {self.degree!r}.")
        if not (np.isfinite(self.offset) and self.offset >= 0.0):
            raise ValueError(f"offset must be finite and at least 0, got {self.offset!r}.")

    def from_products(self, products: Products) -> Array:
        """Return the polynomial of the inner products."""
        with quiet():
            return np.asarray((products.inner + self.offset) ** int(self.degree))

    def from_square_norms(self, squares: Array) -> Array:
        """Return (|x|^2 + offset)^degree."""
        with quiet():
            return np.asarray((squares + self.offset) ** int(self.degree))

    def scales(self, squares: Array) -> Array:
        """Return |x|^2 + offset, without the power, which may be too large for a number."""
        if type(self) is not Polynomial:  # One that inherits from it may be another function.
            return super().scales(squares)
        return np.asarray(squares + self.offset)

    def normalized_from_products(self, products: Products) -> Array:
        """Return the power of what is normalised before."""
        if type(self) is not Polynomial:
            return super().normalized_from_products(products)
        left, right = (inverse_norms(self.scales(one)) for one in (products.left, products.right))
        base = np.multiply.outer(left, right) * (products.finite().inner + self.offset)
        return np.asarray(base ** int(self.degree))


@dataclass(frozen=True)
class Gaussian(ProductKernel):
    r"""The Gaussian :math:`\exp(-\lVert x - z \rVert^2 / (2\,\text{spread}^2))`.

    Parameters
    ----------
    spread : float
        Positive, in the units of the features.

    Examples
    --------
    >>> Gaussian(1.0)([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 0.607]])
    """

    of_distances: ClassVar[bool] = True

    spread: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.spread) and self.spread > 0.0):
            raise ValueError(f"spread must be finite and positive, got {self.spread!r}.")

    @property
    def smallest_distance(self) -> float:
        """Its spread."""
        return self.spread

    def from_products(self, products: Products) -> Array:
        """Return the Gaussian of the distances."""
        values = products.square_distances()
        with quiet():
            values /= -2.0 * self.spread**2
        return np.exp(values, out=values)

    def from_square_norms(self, squares: Array) -> Array:
        """Return ones."""
        return np.ones_like(squares)


@dataclass(frozen=True)
class Pairwise(Kernel):
    """One of scikit-learn's pairwise kernels, by name.

    Parameters
    ----------
    name : str
        A key of ``sklearn.metrics.pairwise.PAIRWISE_KERNEL_FUNCTIONS``.
    parameters : dict, optional
        Passed on to it, for example ``{"gamma": 0.5}``.

    Examples
    --------
    >>> Pairwise("laplacian", {"gamma": 1.0})([[0.0]], [[0.0]])
    array([[1.]])
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name not in PAIRWISE_KERNEL_FUNCTIONS:
            known = ", ".join(sorted(PAIRWISE_KERNEL_FUNCTIONS))
            raise ValueError(f"unknown kernel name {self.name!r}; known are {known}.")

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return what scikit-learn's function returns."""
        return np.asarray(pairwise_kernels(X, Z, metric=self.name, **self.parameters))


@dataclass(frozen=True)
class Changed(Kernel):
    """What is done to another kernel, whose columns it has."""

    kernel: Any

    def __post_init__(self) -> None:
        inner = as_kernel(self.kernel)
        columns = inner.columns if self.columns is None else self.columns
        object.__setattr__(self, "columns", columns)
        super().__post_init__()
        object.__setattr__(self, "kernel", inner.with_columns(None))


@dataclass(frozen=True)
class Normalized(Changed):
    r"""A kernel divided by the norms it induces, :math:`k(x, z) / \sqrt{k(x, x)\,k(z, z)}`.

    A point whose norm is 0, or whose square norm is too large for a number, has the value 0 with
    every point.

    Parameters
    ----------
    kernel : Kernel, str or callable
        What is normalised; the columns are those of this kernel.

    Examples
    --------
    >>> Normalized(Linear())([[3.0, 4.0]], [[6.0, 8.0], [-4.0, 3.0]]).round(3)
    array([[1., 0.]])
    """

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return the normalised matrix."""
        if isinstance(self.kernel, ProductKernel):
            return self.kernel.normalized_from_products(self.kernel.products(X, Z))
        left, right = inverse_norms(self.kernel.diagonal(X)), inverse_norms(self.kernel.diagonal(Z))
        return np.asarray(np.multiply.outer(left, right) * self.kernel(X, Z))

    def diagonal(self, X: Points) -> Array:
        """Return 1, or 0 if the norm is 0."""
        X = restrict(X, self.columns)
        if isinstance(self.kernel, ProductKernel):
            scales = self.kernel.scales(square_norms(X))
        else:
            scales = self.kernel.diagonal(X)
        return np.where(inverse_norms(scales) > 0.0, 1.0, 0.0)


@dataclass(frozen=True)
class Custom(Kernel):
    """Any function that maps (X, Z) to a matrix of shape (n, m).

    Parameters
    ----------
    function : callable
        Has to be positive semi-definite; this is not checked.

    Examples
    --------
    >>> from kernelhood import Custom
    >>> Custom(lambda X, Z: (X @ Z.T) ** 3)([[1.0]], [[2.0], [3.0]])
    array([[ 8., 27.]])
    """

    function: Callable[[Points, Points], Any]

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return the function's matrix after a look at its shape."""
        K = np.asarray(self.function(X, Z), dtype=np.float64)
        if K.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"kernel function {_name(self.function)} returned shape {K.shape}, "
                f"expected {(X.shape[0], Z.shape[0])}."
            )
        return K


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def as_kernel(kernel: Any) -> Kernel:
    """Return a `Kernel` for a kernel, the name of a pairwise kernel, or a callable."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return Pairwise(kernel)
    if callable(kernel):
        return Custom(kernel)
    raise TypeError(
        "a kernel must be a kernelhood kernel, a scikit-learn kernel name or a callable, "
        f"got {type(kernel).__name__}."
    )


@dataclass(frozen=True)
class Constant(Kernel):
    """The constant 1.

    Its functions are constants: under a relation that gives tasks a part of their own, they are
    intercepts that are shrunk. If a task has a free intercept besides, they change nothing.

    Examples
    --------
    >>> Constant()([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
    array([[1., 1.]])
    """

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return ones."""
        return np.ones((X.shape[0], Z.shape[0]))

    def diagonal(self, X: Points) -> Array:
        """Return ones."""
        return np.ones(X.shape[0])


@dataclass(frozen=True)
class Equality(Kernel):
    """One if two points agree in all its columns, zero elsewhere; NaN agrees with nothing.

    Parameters
    ----------
    columns : sequence of int or str, optional
        The features that have to agree; all of them by default.

    Examples
    --------
    >>> Equality()([[1.0], [2.0]], [[2.0], [2.0], [3.0]])
    array([[0., 0., 0.],
           [1., 1., 0.]])
    """

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return where the points agree."""
        X, Z = _dense(X), _dense(Z)
        same = np.ones((X.shape[0], Z.shape[0]), dtype=np.bool_)
        for left, right in zip(X.T, Z.T, strict=True):
            same &= left[:, None] == right
        return same.astype(np.float64)

    def diagonal(self, X: Points) -> Array:
        """Return ones, and zeros for points with a NaN."""
        points = _dense(restrict(X, self.columns))
        return np.asarray(~np.isnan(points).any(axis=1), dtype=np.float64)


def _dense(X: Points) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


@dataclass(frozen=True)
class Interaction(Kernel):
    """The product of kernels: points are alike if all of them say so.

    With `Equality` on a category and `Linear` on numbers, every category has a linear function of
    its own. A product of positive semi-definite kernels is one, too.

    Parameters
    ----------
    kernels : sequence of Kernel, str or callable
        Two or more, each with columns of its own.

    Examples
    --------
    >>> from kernelhood import Equality, Interaction, Linear
    >>> by_shop = Interaction([Equality(columns=[0]), Linear(columns=[1])])
    >>> by_shop([[1.0, 2.0], [2.0, 3.0]], [[1.0, 5.0], [2.0, 5.0]])
    array([[10.,  0.],
           [ 0., 15.]])
    """

    kernels: Any

    def __post_init__(self) -> None:
        if self.columns is not None:
            raise ValueError("columns of an Interaction are those of its kernels: give them there.")
        parts = tuple(as_kernel(kernel) for kernel in self.kernels)
        if len(parts) < 2:
            raise ValueError(f"kernels of an Interaction must be two or more, got {len(parts)}.")
        object.__setattr__(self, "kernels", parts)

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return the product of the matrices."""
        return np.asarray(reduce(np.multiply, (kernel(X, Z) for kernel in self.kernels)))

    def diagonal(self, X: Points) -> Array:
        """Return the product of the diagonals."""
        return np.asarray(reduce(np.multiply, (kernel.diagonal(X) for kernel in self.kernels)))

    def with_columns(self, columns: Columns) -> Self:
        """Return the product with these columns for kernels that see all."""
        parts = [
            one if one.columns is not None else one.with_columns(columns) for one in self.kernels
        ]
        return replace(self, kernels=tuple(parts))

    def resolved(self, numbers: Mapping[str, int]) -> Self:
        """Return the product with names of columns replaced by numbers."""
        return replace(self, kernels=tuple(kernel.resolved(numbers) for kernel in self.kernels))


@dataclass(frozen=True)
class Directions(Changed):
    """A kernel of points divided by their lengths: only their directions count.

    With counts of words, long and short texts on one subject are alike so. A point at 0 stays
    there.

    Parameters
    ----------
    kernel : Kernel, str or callable
        What sees the directions; the columns are those of this kernel.

    Examples
    --------
    >>> from kernelhood import Directions, Gaussian
    >>> Directions(Gaussian(1.0))([[3.0, 4.0]], [[6.0, 8.0], [-3.0, -4.0]]).round(3)
    array([[1.   , 0.135]])
    """

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return the kernel's matrix for the directions."""
        left = directions(X)
        return np.asarray(self.kernel(left, left if Z is X else directions(Z)))

    def diagonal(self, X: Points) -> Array:
        """Return the kernel's diagonal for the directions."""
        return np.asarray(self.kernel.diagonal(directions(restrict(X, self.columns))))


def directions(X: Points) -> Points:
    """Return points divided by their lengths; those at 0 stay there."""
    scale = inverse_norms(square_norms(X))
    if sparse.issparse(X):
        return sparse.diags_array(scale).dot(X).tocsr()
    return X * scale[:, None]


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A kernel on row numbers, given by its matrix on all rows.

    The points are one column of row numbers, so that cross-validation can split them as it splits
    any other data.

    Parameters
    ----------
    K : array-like of shape (n_rows, n_rows)
        Symmetric.
    columns : sequence of one int or str, optional
        The feature that holds the row number, if there are several.

    Examples
    --------
    >>> import numpy as np
    >>> Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))([[1]], [[0], [1]])
    array([[1., 3.]])
    """

    K: Array = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        K = np.array(self.K, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K of Precomputed must be square, got shape {K.shape}.")
        if not np.all(np.isfinite(K)):
            raise ValueError("K of Precomputed must be finite, it holds NaN or infinity.")
        if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * max(1.0, float(np.abs(K).max()))):
            raise ValueError("K of Precomputed must be symmetric: K[i, j] = K[j, i].")
        K.setflags(write=False)
        object.__setattr__(self, "K", K)

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return the entries of K for the row numbers in X and Z.

        Rows that are equally far apart are read where they are, without a copy.
        """
        rows = self._rows(X)
        columns = rows if Z is X else self._rows(Z)
        one, other = _as_slice(rows), _as_slice(columns)
        if one is None or other is None:
            return np.asarray(self.K[np.ix_(rows, columns)])
        return np.asarray(self.K[one, other])

    def diagonal(self, X: Points) -> Array:
        """Return the entries on K's diagonal."""
        return np.asarray(np.diag(self.K)[self._rows(restrict(X, self.columns))])

    def _rows(self, X: Points) -> Any:
        numbers = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if numbers.shape[1] != 1:
            raise ValueError(
                f"Precomputed needs one column of row numbers, got {numbers.shape[1]}: "
                "name it by columns=[...]."
            )
        rows = np.rint(numbers[:, 0]).astype(np.intp)
        if np.any(rows != numbers[:, 0]) or np.any(rows < 0) or np.any(rows >= len(self.K)):
            raise ValueError(
                f"row numbers for Precomputed must be integers from 0 to {len(self.K) - 1}."
            )
        return rows


def _as_slice(rows: Any) -> slice | None:
    """Return ascending numbers that are equally far apart as a slice, others as None."""
    if len(rows) == 0:
        return None
    step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
    if step < 1 or np.any(np.diff(rows) != step):
        return None
    return slice(int(rows[0]), int(rows[-1]) + 1, step)
