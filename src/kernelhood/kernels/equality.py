"""The kernel of categories: equal or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernelhood._typing import Array
from kernelhood.kernels.base import Kernel, Points, restrict


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
