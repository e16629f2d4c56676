"""The kernels of this library, and those that it takes from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from kernelhood._typing import Array
from kernelhood.kernels._points import quiet, square_norms
from kernelhood.kernels._products import Products
from kernelhood.kernels.base import Kernel, Points, ProductKernel, inverse_norms, restrict


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
        """Return 1, or 0 where the norm is 0."""
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
