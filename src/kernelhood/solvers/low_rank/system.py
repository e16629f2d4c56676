"""Linear systems with a kernel of low rank plus a diagonal, intercepts eliminated.

The matrix is ``diag(d) + N N' + G G'``: G holds the features that samples of different cells have
in common, scaled by the roots of their weights, and ``N N'`` joins the samples of one cell only.
Cells are factorised on their own, G by the Woodbury formula. With n samples in a cell, D features
and N samples in total a factorisation costs ``N D (n + D)``, or ``N D^2`` where n is more than D.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelhood._typing import Array, Indices
from kernelhood.operators.low_rank import LowRankKernels
from kernelhood.solvers.low_rank.cell import CellFactor, is_direct

_MEGABYTE = 2**20
_KEPT_GRAM = 512


class Part(NamedTuple):
    """Some cells: their samples, their numbers, common and own features."""

    rows: slice
    cells: range
    G: Array
    N: Array


class LowRankSystem:
    """``diag(d) + N N' + G G'`` for one set of weights.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels.
    weights : ndarray of shape (n_weights,)
        Their weights.
    group_starts : ndarray of int
        Of the groups of samples with an intercept: all samples are one, or each cell is.
    """

    def __init__(self, operator: LowRankKernels, weights: Array, group_starts: Indices) -> None:
        self.operator = operator
        far, near, between = operator.split(weights)
        of = operator.kernel_of
        total = far + near.sum(axis=0) + between.sum(axis=0)
        self._used = np.flatnonzero(total[of] > 0.0)
        of = of[self._used]
        self._far, self._near = np.sqrt(far[of]), np.sqrt(near[:, of])
        self._own = np.flatnonzero(self._near.any(axis=0))
        self._spread = [
            (root, np.flatnonzero(theta[of] > 0.0), np.sqrt(theta[of]))
            for theta, B in zip(between, operator.between, strict=True)
            if theta.any()
            for root in [B.root()]
        ]
        self._shared = np.flatnonzero(self._far > 0.0)
        self.n_common = len(self._shared) + sum(
            root.shape[1] * len(columns) for root, columns, _ in self._spread
        )
        self.by_cell = len(group_starts) > 2
        self._starts = operator.cells.starts
        size = operator.n_samples * (self.n_common + len(self._own)) * 8 / _MEGABYTE
        self._kept: list[Part] | None = None
        self._grams: dict[int, Array] = {}
        if size <= operator.megabytes:
            self._kept = list(self._new_parts())

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return self.operator.n_samples

    def parts(self) -> Iterator[Part]:
        """Yield the features, a few cells at a time."""
        yield from self._new_parts() if self._kept is None else self._kept

    def _new_parts(self) -> Iterator[Part]:
        operator, starts = self.operator, self._starts
        for first, last in operator.runs:
            rows = slice(int(starts[first]), int(starts[last]))
            Phi = operator.features.rows(operator.cells.point[rows], self._used)
            cell = operator.cells.cell[rows]
            common = [Phi[:, self._shared] * self._far[self._shared]]
            for root, columns, scale in self._spread:
                scaled = Phi[:, columns] * scale[columns]
                common += [scaled * root[cell, k][:, None] for k in range(root.shape[1])]
            own = np.zeros((len(Phi), 0))
            if len(self._own):
                own = Phi[:, self._own] * self._near[:, self._own][cell]
            yield Part(rows, range(first, last), np.concatenate(common, axis=1), own)

    def _cells(self, part: Part) -> Iterator[tuple[int, slice]]:
        for c in part.cells:
            first = part.rows.start
            yield c, slice(int(self._starts[c]) - first, int(self._starts[c + 1]) - first)

    def multiply(self, v: Array) -> Array:
        """Return the product of the kernel, without the diagonal, with a vector."""
        common = np.zeros(self.n_common)
        for part in self.parts():
            common += v[part.rows] @ part.G
        found = np.empty(len(v))
        for part in self.parts():
            values = part.G @ common
            if part.N.shape[1]:
                for _, own in self._cells(part):
                    N = part.N[own]
                    values[own] += N @ (v[part.rows][own] @ N)
            found[part.rows] = values
        return found

    def trace(self) -> float:
        """Return the trace of the kernel."""
        return float(sum((part.G**2).sum() + (part.N**2).sum() for part in self.parts()))

    def factorise(self, d: Array) -> None:
        """Factorise with a diagonal, of shape (n_samples,) and positive."""
        self._d = d
        self._factors: dict[int, CellFactor] = {}
        S, ones = np.eye(self.n_common), np.ones((self.n_samples, 1))
        for part in self.parts():
            P, d_part = np.empty_like(part.G), d[part.rows]
            if part.N.shape[1] == 0:
                P = part.G / np.sqrt(d_part)[:, None]
            for c, own in self._cells(part) if part.N.shape[1] else ():
                factor = self._factor_of(c, d_part[own], part.N[own])
                P[own], H = factor.half(part.G[own])
                if H is not None:
                    S -= H.T @ H
            S += P.T @ P
        self._S = cho_factor(S, lower=True) if self.n_common else None
        if self.by_cell:
            inverse = self._within(ones)
            self._a = np.add.reduceat(inverse[:, 0], self._starts[:-1])
            self._Y = self._sums_by_cell(inverse[:, 0])
            rest = S - (self._Y / self._a) @ self._Y.T
            self._S_rest = cho_factor(rest, lower=True) if self.n_common else None
        else:
            self._Z = self.solve(ones)[:, 0]

    def _factor_of(self, c: int, d: Array, N: Array) -> CellFactor:
        gram = self._grams.get(c)
        if gram is None and is_direct(N) and len(N) <= _KEPT_GRAM:
            gram = self._grams[c] = N @ N.T
        self._factors[c] = CellFactor(d, N, gram)
        return self._factors[c]

    def _within(self, R: Array) -> Array:
        """Return the solutions with ``diag(d) + N N'`` alone."""
        if not len(self._own):
            return R / self._d[:, None]
        found = np.empty_like(R)
        for c, factor in self._factors.items():
            own = slice(self._starts[c], self._starts[c + 1])
            found[own] = factor.solve(R[own])
        return found

    def _sums_by_cell(self, u: Array) -> Array:
        """Return ``G'u`` for each cell, of shape (n_common, n_cells)."""
        found = np.zeros((self.n_common, len(self._starts) - 1))
        for part in self.parts():
            for c, own in self._cells(part):
                found[:, c] = u[part.rows][own] @ part.G[own]
        return found

    def solve(self, R: Array) -> Array:
        """Return the solutions for the columns of R, shape (n_samples, n_columns)."""
        if self._S is None:
            return self._within(R)
        U, inner = self._within(R), np.zeros((self.n_common, R.shape[1]))
        for part in self.parts():
            inner += part.G.T @ U[part.rows]
        c, rest = cho_solve(self._S, inner), R.copy()
        for part in self.parts():
            rest[part.rows] -= part.G @ c
        return self._within(rest)

    def solve_with_sums(self, R: Array, sums: Array) -> tuple[Array, Array]:
        """Return x and b with ``A x + E b = R`` and ``E'x = sums``, E marking the groups.

        Parameters
        ----------
        R : ndarray of shape (n_samples, n_columns)
            Right sides.
        sums : ndarray of shape (n_groups, n_columns)
            What x sums to over each group.
        """
        X = self.solve(R)
        if not self.by_cell:
            b = (X.sum(axis=0, keepdims=True) - sums) / self._Z.sum()
            return X - self._Z[:, None] * b, b
        left = (np.add.reduceat(X, self._starts[:-1], axis=0) - sums) / self._a[:, None]
        b = left
        if self._S_rest is not None:
            inner = cho_solve(self._S_rest, self._Y @ left)
            b = left + (self._Y.T @ inner) / self._a[:, None]
        return self.solve(R - np.repeat(b, np.diff(self._starts), axis=0)), b
