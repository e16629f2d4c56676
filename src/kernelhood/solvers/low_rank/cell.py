"""The linear systems of cells: a diagonal and what the samples of a cell have for themselves."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from kernelhood._typing import Array, Flags, Indices
from kernelhood.solvers.low_rank import small_cells

_SMALL = 32
_KEPT_GRAM = 512


class CellFactor:
    """A factorisation of ``diag(d) + N N'`` for the samples of a cell.

    It is of samples by samples or of features by features, whichever is smaller.

    Parameters
    ----------
    d : ndarray of shape (n_samples,)
        Positive.
    N : ndarray of shape (n_samples, n_features)
        Features; None where `gram` is given.
    gram : ndarray of shape (n_samples, n_samples), optional
        ``N N'`` where it is known and no larger than N.
    """

    def __init__(self, d: Array, N: Array | None, gram: Array | None = None) -> None:
        self.d, self.N = d, N
        if N is None or len(N) <= N.shape[1]:
            self.N = None
            A = N @ N.T if gram is None and N is not None else np.array(gram)
            A.flat[:: len(A) + 1] += d
        else:
            A = N.T @ (N / d[:, None])
            A.flat[:: len(A) + 1] += 1.0
        self.L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError("the matrix of a cell is not positive definite")

    def solve(self, R: Array) -> Array:
        """Return the solutions for the columns of R, shape (n_samples, n_columns)."""
        if self.N is None:
            return np.asarray(lapack.dpotrs(self.L, R, lower=1)[0])
        scaled = R / self.d[:, None]
        inner = lapack.dpotrs(self.L, self.N.T @ scaled, lower=1)[0]
        return np.asarray(scaled - (self.N @ inner) / self.d[:, None])

    def halve(self, G: Array) -> Array | None:
        """Replace G by P with ``G'(diag(d) + NN')^-1 G = P'P - H'H``; return H, None where it is 0.

        G is contiguous: seen as its transpose, it is what BLAS works on in place.
        """
        if self.N is None:
            if G.size:
                blas.dtrsm(1.0, self.L, G.T, side=1, lower=1, trans_a=1, overwrite_b=1)
            return None
        H = lapack.dtrtrs(self.L, self.N.T @ (G / self.d[:, None]), lower=1)[0]
        G /= np.sqrt(self.d)[:, None]
        return np.asarray(H)


class OwnParts:
    """``diag(d) + N N'`` within every cell: small cells together, large ones one by one.

    Parameters
    ----------
    starts : ndarray of int, shape (n_cells + 1,)
        Where the samples of each cell start.
    n_features : int
        The number of features that samples have in common with their own cell only.
    """

    def __init__(self, starts: Indices, n_features: int) -> None:
        sizes, self._starts = np.diff(starts), starts
        self._small = sizes <= min(_SMALL, n_features)
        squares = np.where(self._small, sizes, 0) ** 2
        self._offsets = np.concatenate([[0], np.cumsum(squares)])[:-1]
        self._grams = np.zeros(int(squares.sum()))
        self._factors = np.zeros_like(self._grams)
        self._large_grams: dict[int, Array] = {}
        self._large_factors: dict[int, CellFactor] = {}
        self._any_small = bool(self._small.any())
        self._room = np.empty((0, 0))
        self._known_large: dict[range, list[tuple[int, slice, slice]]] = {}
        #: Whether N is needed again after `learn`.
        self.needs_features = bool(np.any(sizes > min(_KEPT_GRAM, n_features)))

    def _large(self, cells: range) -> list[tuple[int, slice, slice]]:
        """Return the large ones of some cells with their samples, among these and among all."""
        if cells in self._known_large:
            return self._known_large[cells]
        found, origin = [], int(self._starts[cells.start])
        for c in (cells.start + np.flatnonzero(~self._small[cells.start : cells.stop])).tolist():
            a, b = int(self._starts[c]), int(self._starts[c + 1])
            found.append((c, slice(a - origin, b - origin), slice(a, b)))
        self._known_large[cells] = found
        return found

    def _places(self, cells: range) -> tuple[Indices, Indices, Flags, Indices]:
        return self._offsets, self._starts, self._small, np.array([cells.start, cells.stop])

    def learn(self, cells: range, N: Array) -> None:
        """Take in the features of some consecutive cells, whose samples are the rows of N."""
        if self._any_small:
            small_cells.write_grams(self._grams, *self._places(cells), np.ascontiguousarray(N))
        for c, own, _ in self._large(cells):
            if own.stop - own.start <= min(_KEPT_GRAM, N.shape[1]):
                self._large_grams[c] = N[own] @ N[own].T

    def add_products(self, cells: range, N: Array, v: Array, out: Array) -> None:
        """Add ``N N' v`` within some consecutive cells to `out`, both over their samples."""
        small_cells.add_products(self._grams, *self._places(cells), v, out)
        for c, own, _ in self._large(cells):
            gram = self._large_grams.get(c)
            out[own] += N[own] @ (v[own] @ N[own]) if gram is None else gram @ v[own]

    def factorise(self, cells: range, N: Array, d: Array) -> None:
        """Factorise some consecutive cells with a diagonal for their samples."""
        places = self._places(cells)
        if not small_cells.factorise(self._grams, *places, d, self._factors):
            raise np.linalg.LinAlgError("the matrix of a cell is not positive definite")
        for c, own, _ in self._large(cells):
            gram = self._large_grams.get(c)
            self._large_factors[c] = CellFactor(d[own], N[own] if gram is None else None, gram)

    def half(self, cells: range, G: Array) -> tuple[Array, list[Array]]:
        """Return P and some H with ``G'(diag(d) + NN')^-1 G = P'P - sum H'H`` over some cells.

        P stands in room that the next call takes again: new memory costs as much as the numbers.
        """
        if self._room.shape != G.shape:
            self._room = np.empty(G.shape)
        P = self._room
        P[...] = G
        if self._any_small:
            small_cells.forward(self._factors, *self._places(cells), P)
        found = [self._large_factors[c].halve(P[own]) for c, own, _ in self._large(cells)]
        return P, [H for H in found if H is not None]

    def solve(self, R: Array) -> Array:
        """Return the solutions for the columns of R, shape (n_samples, n_columns)."""
        found, everything = np.array(R, order="C"), range(len(self._small))
        small_cells.forward(self._factors, *self._places(everything), found)
        small_cells.backward(self._factors, *self._places(everything), found)
        for c, _, own in self._large(everything):
            found[own] = self._large_factors[c].solve(R[own])
        return found
