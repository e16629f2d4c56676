"""The linear system of one cell: a diagonal and what its samples have for themselves."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kernelhood._typing import Array


class CellFactor:
    """A factorisation of ``diag(d) + N N'`` for the samples of a cell.

    It is of samples by samples or of features by features, whichever is smaller.

    Parameters
    ----------
    d : ndarray of shape (n_samples,)
        Positive.
    N : ndarray of shape (n_samples, n_features)
        Features.
    gram : ndarray of shape (n_samples, n_samples), optional
        ``N N'`` where it is known.
    """

    def __init__(self, d: Array, N: Array, gram: Array | None = None) -> None:
        self.d, self.N = d, N
        self.direct = is_direct(N)
        if self.direct:
            A = (N @ N.T if gram is None else gram) + np.diag(d)
        else:
            A = N.T @ (N / d[:, None])
            A.flat[:: len(A) + 1] += 1.0
        self.L, info = lapack.dpotrf(A, lower=1)
        if info != 0:
            raise np.linalg.LinAlgError("the matrix of a cell is not positive definite")

    def solve(self, R: Array) -> Array:
        """Return the solutions for the columns of R, shape (n_samples, n_columns)."""
        if self.direct:
            return np.asarray(lapack.dpotrs(self.L, R, lower=1)[0])
        scaled = R / self.d[:, None]
        inner = lapack.dpotrs(self.L, self.N.T @ scaled, lower=1)[0]
        return np.asarray(scaled - (self.N @ inner) / self.d[:, None])

    def half(self, G: Array) -> tuple[Array, Array | None]:
        """Return P and H with ``G'(diag(d) + NN')^-1 G = P'P - H'H``; H is None where it is 0."""
        if self.direct:
            return np.asarray(lapack.dtrtrs(self.L, G, lower=1)[0]), None
        root = np.sqrt(self.d)[:, None]
        H = lapack.dtrtrs(self.L, self.N.T @ (G / self.d[:, None]), lower=1)[0]
        return G / root, np.asarray(H)


def is_direct(N: Array) -> bool:
    """Return whether a cell has no more samples than features."""
    return N.shape[0] <= N.shape[1]
