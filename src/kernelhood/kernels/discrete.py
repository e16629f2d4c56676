"""Kernels that know no distances: the constant, and categories that are equal or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernelhood._typing import Array
from kernelhood.kernels.base import Kernel, Points, restrict


@dataclass(frozen=True)
class Constant(Kernel):
    """The constant 1.

    Its functions are constants: under a relation that gives tasks a part of their own, they are
    intercepts that are shrunk. Where a task has a free intercept besides, they change nothing.

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
    """One where two points agree in all its columns, zero elsewhere; NaN agrees with nothing.

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
