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
from kernelhood.solvers.low_rank.cell import OwnParts

_MEGABYTE = 2**20
_NOTHING = np.zeros((0, 0))


class Part(NamedTuple):
    """Some cells: their samples, their numbers, common features, and own ones if needed."""

    rows: slice
    cells: range
    G: Array
    N: Array

    def of(self, kind: type) -> Part:
        """Return the features as numbers of a kind."""
        return self._replace(G=self.G.astype(kind, copy=False), N=self.N.astype(kind, copy=False))


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
        self._far = np.sqrt(far[of])
        self._own = np.flatnonzero(near.sum(axis=0)[of])
        alike = len(near) > 0 and bool(np.all(near == near[:1]))
        self._near = np.sqrt(near[:1] if alike else near)[:, of[self._own]]
        self._spread = [
            (B.root(), np.flatnonzero(theta[of] > 0.0), np.sqrt(theta[of]))
            for theta, B in zip(between, operator.between, strict=True)
            if theta.any()
        ]
        self._shared = np.flatnonzero(self._far > 0.0)
        self.n_common = len(self._shared) + sum(
            root.shape[1] * len(columns) for root, columns, _ in self._spread
        )
        self.by_cell = len(group_starts) > 2
        self._starts = operator.cells.starts
        self._within = OwnParts(self._starts, len(self._own)) if len(self._own) else None
        self._trace = 0.0
        self._Z: Array | None = None
        self._kept = self._read()

    def _read(self) -> list[Part] | None:
        """Go through all features once; return them where they may be kept.

        What does not fit in double precision is kept in single precision.
        """
        numbers = self.n_samples * (self.n_common + len(self._own)) / _MEGABYTE
        fitting = [
            t
            for t in (np.float64, np.float32)
            if numbers * np.dtype(t).itemsize <= self.operator.megabytes
        ]
        kept: list[Part] | None = [] if fitting else None
        for part in self._new_parts(len(self._own) > 0):
            self._trace += float(np.vdot(part.G, part.G) + np.vdot(part.N, part.N))
            if self._within is not None:
                self._within.learn(part.cells, part.N)
                if not self._within.needs_features:
                    part = part._replace(N=_NOTHING)
            if kept is not None:
                kept.append(part.of(fitting[0]))
        return kept

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return self.operator.n_samples

    def parts(self) -> Iterator[Part]:
        """Yield the features, a few cells at a time."""
        if self._kept is not None:
            for part in self._kept:
                yield part.of(np.float64)
            return
        yield from self._new_parts(self._within is not None and self._within.needs_features)

    def _new_parts(self, with_own: bool) -> Iterator[Part]:
        operator, starts = self.operator, self._starts
        for first, last in operator.runs:
            rows = slice(int(starts[first]), int(starts[last]))
            Phi = operator.features.rows(operator.cells.point[rows], self._used)
            cell = operator.cells.cell[rows]
            common = [_columns(Phi, self._shared) * self._far[self._shared]]
            for root, columns, scale in self._spread:
                scaled = Phi[:, columns] * scale[columns]
                common += [scaled * root[cell, k][:, None] for k in range(root.shape[1])]
            own = _NOTHING
            if with_own:
                own = _columns(Phi, self._own) * self._near[cell if len(self._near) > 1 else [0]]
            G = common[0] if len(common) == 1 else np.concatenate(common, axis=1)
            yield Part(rows, range(first, last), G, own)

    def multiply(self, v: Array) -> Array:
        """Return the product of the kernel, without the diagonal, with a vector."""
        common = np.zeros(self.n_common)
        for part in self.parts():
            common += v[part.rows] @ part.G
        found = np.empty(len(v))
        for part in self.parts():
            found[part.rows] = part.G @ common
            if self._within is not None:
                at = part.rows
                self._within.add_products(part.cells, part.N, v[at], found[at])
        return found

    def trace(self) -> float:
        """Return the trace of the kernel."""
        return self._trace

    def factorise(self, d: Array) -> None:
        """Factorise with a diagonal, of shape (n_samples,) and positive."""
        self._d, self._Z = d, None
        S = np.eye(self.n_common)
        for part in self.parts():
            if self._within is None:
                P = part.G / np.sqrt(d[part.rows])[:, None]
            else:
                self._within.factorise(part.cells, part.N, d[part.rows])
                P, others = self._within.half(part.cells, part.G)
                for H in others:
                    S -= H.T @ H
            S += P.T @ P
        self._S = cho_factor(S, lower=True) if self.n_common else None
        if self.by_cell:
            inverse = self._solve_within(np.ones((self.n_samples, 1)))
            self._a = np.add.reduceat(inverse[:, 0], self._starts[:-1])
            self._Y = self._sums_by_cell(inverse[:, 0])
            rest = S - (self._Y / self._a) @ self._Y.T
            self._S_rest = cho_factor(rest, lower=True) if self.n_common else None

    def _solve_within(self, R: Array) -> Array:
        """Return the solutions with ``diag(d) + N N'`` alone."""
        return R / self._d[:, None] if self._within is None else self._within.solve(R)

    def _sums_by_cell(self, u: Array) -> Array:
        """Return ``G'u`` for each cell, of shape (n_common, n_cells)."""
        found = np.zeros((self.n_common, len(self._starts) - 1))
        for part in self.parts():
            begins = self._starts[part.cells.start : part.cells.stop] - part.rows.start
            scaled = part.G * u[part.rows, None]
            found[:, part.cells.start : part.cells.stop] = np.add.reduceat(scaled, begins).T
        return found

    def solve(self, R: Array) -> Array:
        """Return the solutions for the columns of R, shape (n_samples, n_columns)."""
        if self._S is None:
            return self._solve_within(R)
        U, inner = self._solve_within(R), np.zeros((self.n_common, R.shape[1]))
        for part in self.parts():
            inner += part.G.T @ U[part.rows]
        c, rest = cho_solve(self._S, inner), R.copy()
        for part in self.parts():
            rest[part.rows] -= part.G @ c
        return self._solve_within(rest)

    def solve_with_sums(self, R: Array, sums: Array) -> tuple[Array, Array]:
        """Return x and b with ``A x + E b = R`` and ``E'x = sums``, E marking the groups.

        Parameters
        ----------
        R : ndarray of shape (n_samples, n_columns)
            Right sides.
        sums : ndarray of shape (n_groups, n_columns)
            What x sums to over each group.
        """
        if not self.by_cell and self._Z is None:  # both at once take little more than one
            X = self.solve(np.hstack([R, np.ones((len(R), 1))]))
            X, self._Z = X[:, :-1], X[:, -1]
        else:
            X = self.solve(R)
        if self._Z is not None:
            b = (X.sum(axis=0, keepdims=True) - sums) / self._Z.sum()
            return X - self._Z[:, None] * b, b
        left = (np.add.reduceat(X, self._starts[:-1], axis=0) - sums) / self._a[:, None]
        b = left
        if self._S_rest is not None:
            inner = cho_solve(self._S_rest, self._Y @ left)
            b = left + (self._Y.T @ inner) / self._a[:, None]
        return self.solve(R - np.repeat(b, np.diff(self._starts), axis=0)), b


def _columns(Phi: Array, places: Indices) -> Array:
    """Return some columns, without a copy where they are all."""
    return Phi if len(places) == Phi.shape[1] else Phi[:, places]
