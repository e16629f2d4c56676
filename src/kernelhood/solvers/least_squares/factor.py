"""The Cholesky factor of a kernel matrix with a ridge, and what follows from it.

With A the matrix and E the indicators of the groups that have an intercept, the problem

    max over v with E'v = 0  of   right'v - 1/2 v'Av

is solved by ``v = Z right``, ``Z = A^-1 - A^-1 E (E'A^-1 E)^-1 E'A^-1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from kernelhood._typing import Array, Indices


@dataclass(frozen=True)
class Factor:
    """A = LL', with the groups of the intercepts.

    Attributes
    ----------
    L : ndarray of shape (n_samples, n_samples)
        The lower triangle, in Fortran's order; what is above it has no meaning.
    group_starts : ndarray of int, shape (n_groups + 1,)
        Where each group starts.
    """

    L: Array
    group_starts: Indices

    @classmethod
    def of(cls, A: Array, group_starts: Indices) -> Factor | None:
        """Factorise a symmetric matrix in its own memory; None where it is not definite."""
        potrf = lapack.spotrf if A.dtype == np.float32 else lapack.dpotrf
        L, info = potrf(A.T, lower=1, clean=0, overwrite_a=1)
        return cls(L, group_starts) if info == 0 else None

    def half(self, right: Array) -> Array:
        """Return ``L^-1 right``, of shape (n_samples, n_columns)."""
        trtrs = lapack.strtrs if self.L.dtype == np.float32 else lapack.dtrtrs
        return np.asarray(trtrs(self.L, right, lower=1)[0], dtype=np.float64)

    @cached_property
    def basis(self) -> tuple[Array, Array]:
        """The orthonormal and the triangular factor of ``L^-1 E``."""
        sizes = np.diff(self.group_starts)
        E = np.zeros((len(self.L), len(sizes)), order="F")
        E[np.arange(len(E)), np.repeat(np.arange(len(sizes)), sizes)] = 1.0
        Q, R = np.linalg.qr(self.half(E))
        return np.asarray(Q), np.asarray(R)

    @property
    def _groups(self) -> Array:
        """An orthonormal basis of the columns of ``L^-1 E``."""
        return self.basis[0]

    def without_intercepts(self, right: Array) -> Array:
        """Return W with ``W'W = right' Z right``, of shape (n_samples, n_columns)."""
        found = self.half(right)
        return found - self._groups @ (self._groups.T @ found)

    def form(self, right: Array) -> Array:
        """Return ``right' Z right``."""
        half = self.without_intercepts(right)
        return np.asarray(half.T @ half)

    def solve(self, right: Array) -> Array:
        """Return ``Z right`` for one vector of shape (n_samples,)."""
        return np.asarray(self.back(self.without_intercepts(right[:, None]))[:, 0])

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of A on the vectors that sum to zero over each group.

        With orthonormal columns N that span them it is that of ``N'AN``.
        """
        own = np.log(np.abs(np.diagonal(self.basis[1]))).sum()
        sizes = np.log(np.diff(self.group_starts)).sum()
        whole = np.log(np.diagonal(self.L).astype(np.float64)).sum()
        return float(2.0 * (whole + own) - sizes)

    def back(self, right: Array) -> Array:
        """Return ``L'^-1 right``, of shape (n_samples, n_columns)."""
        trtrs = lapack.strtrs if self.L.dtype == np.float32 else lapack.dtrtrs
        return np.asarray(trtrs(self.L, right, lower=1, trans=1)[0], dtype=np.float64)

    def inverse(self) -> Array:
        """Return Z, of shape (n_samples, n_samples); all of it, as a matrix in C's order."""
        potri = lapack.spotri if self.L.dtype == np.float32 else lapack.dpotri
        found = np.asarray(potri(self.L, lower=1)[0], dtype=np.float64).T
        found = np.triu(found)
        found += np.triu(found, 1).T
        outer = self.back(self._groups)
        return np.asarray(found - outer @ outer.T)
