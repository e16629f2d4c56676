"""The linear systems of cells: a diagonal and what the samples of a cell have for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, cho_factor, cho_solve, lapack

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags, Indices
from kernelhood.operators.low_rank import LowRankKernels

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
        Features; None if `gram` is given.
    gram : ndarray of shape (n_samples, n_samples), optional
        ``N N'`` if it is known and no larger than N.
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
        """Replace G by P with ``G'(diag(d) + NN')^-1 G = P'P - H'H``; return H, None if it is 0.

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
            write_grams(self._grams, *self._places(cells), np.ascontiguousarray(N))
        for c, own, _ in self._large(cells):
            if own.stop - own.start <= min(_KEPT_GRAM, N.shape[1]):
                self._large_grams[c] = N[own] @ N[own].T

    def add_products(self, cells: range, N: Array, v: Array, out: Array) -> None:
        """Add ``N N' v`` within some consecutive cells to `out`, both over their samples."""
        add_products(self._grams, *self._places(cells), v, out)
        for c, own, _ in self._large(cells):
            gram = self._large_grams.get(c)
            out[own] += N[own] @ (v[own] @ N[own]) if gram is None else gram @ v[own]

    def factorise(self, cells: range, N: Array, d: Array) -> None:
        """Factorise some consecutive cells with a diagonal for their samples."""
        places = self._places(cells)
        if not factorise(self._grams, *places, d, self._factors):
            raise np.linalg.LinAlgError("the matrix of a cell is not positive definite")
        for c, own, _ in self._large(cells):
            gram = self._large_grams.get(c)
            self._large_factors[c] = CellFactor(d[own], N[own] if gram is None else None, gram)

    def half(self, cells: range, G: Array) -> tuple[Array, list[Array]]:
        """Return P and some H with ``G'(diag(d) + NN')^-1 G = P'P - sum H'H`` over some cells.

        P stands in a buffer that the next call uses again: new memory costs as much as the numbers.
        """
        if self._room.shape != G.shape:
            self._room = np.empty(G.shape)
        P = self._room
        P[...] = G
        if self._any_small:
            forward(self._factors, *self._places(cells), P)
        found = [self._large_factors[c].halve(P[own]) for c, own, _ in self._large(cells)]
        return P, [H for H in found if H is not None]

    def solve(self, R: Array) -> Array:
        """Return the solutions for the columns of R, shape (n_samples, n_columns)."""
        found, everything = np.array(R, order="C"), range(len(self._small))
        forward(self._factors, *self._places(everything), found)
        backward(self._factors, *self._places(everything), found)
        for c, _, own in self._large(everything):
            found[own] = self._large_factors[c].solve(R[own])
        return found


@compiled
def factorise(
    grams: Array,
    offsets: Indices,
    starts: Indices,
    small: Flags,
    cells: Indices,
    d: Array,
    factors: Array,
) -> bool:
    """Write the Cholesky factor of ``diag(d) + gram`` of every small cell; False if there is none.

    Parameters
    ----------
    grams, factors : ndarray of float
        The square matrices of the cells one after the other, by rows.
    offsets : ndarray of int, shape (n_cells,)
        Where each of them starts.
    starts : ndarray of int, shape (n_cells + 1,)
        Where the samples of each cell start.
    small : ndarray of bool, shape (n_cells,)
        The cells that are small.
    cells : ndarray of int, shape (2,)
        The first of some consecutive cells, and one past the last.
    d : ndarray of shape (n_rows,)
        Positive, for the samples of these cells.
    """
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        first, n = starts[c] - origin, starts[c + 1] - starts[c]
        at = offsets[c]
        for i in range(n):
            for j in range(i + 1):
                total = grams[at + i * n + j]
                if i == j:
                    total += d[first + i]
                for k in range(j):
                    total -= factors[at + i * n + k] * factors[at + j * n + k]
                if i != j:
                    factors[at + i * n + j] = total / factors[at + j * n + j]
                elif total > 0.0:
                    factors[at + i * n + i] = np.sqrt(total)
                else:
                    return False
    return True


@compiled
def _subtract(R: Array, row: int, other: int, share: float) -> None:
    """Subtract a share of one row of R from another."""
    for j in range(R.shape[1]):
        R[row, j] -= share * R[other, j]


@compiled
def _scale(R: Array, row: int, factor: float) -> None:
    for j in range(R.shape[1]):
        R[row, j] *= factor


@compiled
def forward(
    factors: Array, offsets: Indices, starts: Indices, small: Flags, cells: Indices, R: Array
) -> None:
    """Replace the rows of small cells in R by ``L^-1 R``.

    Parameters
    ----------
    factors, offsets, starts, small, cells
        As `factorise` takes them.
    R : ndarray of shape (n_rows, n_columns)
        The rows of these cells.
    """
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        first, n = starts[c] - origin, starts[c + 1] - starts[c]
        for i in range(n):
            for k in range(i):
                _subtract(R, first + i, first + k, factors[offsets[c] + i * n + k])
            _scale(R, first + i, 1.0 / factors[offsets[c] + i * n + i])


@compiled
def backward(
    factors: Array, offsets: Indices, starts: Indices, small: Flags, cells: Indices, R: Array
) -> None:
    """Replace the rows of small cells in R by ``L'^-1 R``; see `forward`."""
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        first, n = starts[c] - origin, starts[c + 1] - starts[c]
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                _subtract(R, first + i, first + k, factors[offsets[c] + k * n + i])
            _scale(R, first + i, 1.0 / factors[offsets[c] + i * n + i])


@compiled
def add_products(
    grams: Array,
    offsets: Indices,
    starts: Indices,
    small: Flags,
    cells: Indices,
    v: Array,
    out: Array,
) -> None:
    """Add the products of the matrices of small cells with v to `out`; see `forward`."""
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        first, n = starts[c] - origin, starts[c + 1] - starts[c]
        for i in range(n):
            total = 0.0
            for k in range(n):
                total += grams[offsets[c] + i * n + k] * v[first + k]
            out[first + i] += total


@compiled
def write_grams(
    grams: Array, offsets: Indices, starts: Indices, small: Flags, cells: Indices, N: Array
) -> None:
    """Write ``N N'`` of some consecutive cells, whose samples are the rows of N."""
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        n = starts[c + 1] - starts[c]
        own = N[starts[c] - origin : starts[c + 1] - origin]
        grams[offsets[c] : offsets[c] + n * n] = np.dot(own, own.T).ravel()


# Linear systems with a kernel of low rank plus a diagonal, intercepts eliminated.
#
# The matrix is ``diag(d) + N N' + G G'``: G holds the features that samples of different cells have
# in common, scaled by the roots of their weights, and ``N N'`` joins the samples of one cell only.
# Cells are factorised on their own, G by the Woodbury formula. With n samples in a cell, D features
# and N samples in total a factorisation costs ``N D (n + D)``, or ``N D^2`` where n is more than D.


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

    #: How far below the wanted gap an interior point goes, since what it then puts to the bounds
    #: adds to the gap; the share of the trace that makes a system definite; whether dual vectors
    #: on the way are made to sum to zero.
    reached, jitter, balances = 0.3, 1e-14, True
    #: Shares of the largest entry below which entries are put to a bound, if the gap allows it.
    roundings = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 0.0)

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
        """Go through all features once; return them if they may be kept.

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
    """Return some columns, without a copy if they are all."""
    return Phi if len(places) == Phi.shape[1] else Phi[:, places]
