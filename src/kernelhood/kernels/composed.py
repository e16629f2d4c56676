"""Kernels made of kernels: products of several, and one of the directions of points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from scipy import sparse

from kernelhood._typing import Array
from kernelhood.kernels._points import square_norms
from kernelhood.kernels.base import Columns, Kernel, Points, inverse_norms, restrict
from kernelhood.kernels.standard import Changed, as_kernel


@dataclass(frozen=True)
class Interaction(Kernel):
    """The product of kernels: points are alike where all of them say so.

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
