"""The evidence of many rows: features for what rows have in common, a block for each group.

Every term has features, those of smooth functions at landmarks. With V the features of all levels
but one, scattered over their groups, and A_t those of that one in its group t,

    Sigma = V D V' + B,   B = blockdiag_t(A_t W A_t' + theta_noise diag(noise_t)).

With H = I + D^1/2 V' B^-1 V D^1/2, by Woodbury's identity,

    Sigma^-1 = B^-1 - B^-1 V D^1/2 H^-1 D^1/2 V' B^-1,   |Sigma| = |B| |H|:

sums over groups, which take n_t^3 or n_t q^2 for a group of n_t rows and q features, and N p^2 for
the p columns of V. Small groups are worked on some at a time.

What landmarks miss of a term's variance is r_i at row i. It counts as noise of that row, and not as
skill: B has theta r_i on its diagonal, too (Snelson and Ghahramani's independent conditionals).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack

from kernelhood._typing import Array, Flags, Indices
from kernelhood.solvers.gaussian import INTERCEPT, Factor, Level, Model, Terms

#: Rows of small groups that share a matrix, and rows that are worked on at a time.
_TOGETHER, _AT_ONCE = 128, 2048
#: Groups of more rows than this, and than features, are solved by their features.
_LARGE = 256
#: With more rows than this, what only traces need is in single precision.
_DOUBLE = 20_000
#: Bytes of what is kept of ``B^-1 V`` for left-out rows.
_KEPT = 1e9


@dataclass(frozen=True)
class Piece:
    """Rows that are next to each other: some groups, or a large one.

    Attributes
    ----------
    rows : slice
        The rows.
    same : ndarray of bool, shape (n, n), or None
        Which of them are of the same group; None for a single group.
    """

    rows: slice
    same: Flags | None


class ManyRows(Model):
    """Terms on levels, and targets, of many rows. All terms have features.

    Parameters
    ----------
    terms, levels, z, noise, tau
        As `Model` takes them. The first level has one group.
    own : int
        The level whose groups are the blocks; rows of a group are next to each other.
    left : ndarray of shape (n, n_terms)
        What landmarks miss of every term's variance at the rows.
    """

    def __init__(
        self,
        terms: Terms,
        levels: Sequence[Level],
        z: Array,
        noise: Array,
        tau: float,
        own: int,
        left: Array,
    ) -> None:
        super().__init__(terms, levels, z, noise, tau)
        self.own = own
        self.missing = np.flatnonzero(left.any(axis=0))
        self.left = left[:, self.missing]

    def features_of(self, level: int) -> Indices:
        """Return the features that a level has."""
        return np.flatnonzero(self.levels[level].terms[: len(self.terms.sizes)][self.terms.term_of])

    @cached_property
    def own_features(self) -> Indices:
        """The features of the blocks' level."""
        return self.features_of(self.own)

    @cached_property
    def common(self) -> Indices:
        """The features of the first level."""
        return self.features_of(0)

    @cached_property
    def others(self) -> list[tuple[int, Indices]]:
        """The other levels that have terms, with their features."""
        found = [(place, self.features_of(place)) for place in range(1, len(self.levels))]
        return [(place, own) for place, own in found if place != self.own and len(own)]

    @cached_property
    def scattered(self) -> sparse.csr_matrix:
        """The features of the other levels, in columns of their groups."""
        n, parts = len(self.z), []
        for place, own in self.others:
            groups = self.levels[place].groups
            columns = groups[:, None] * len(own) + np.arange(len(own))
            starts = np.arange(n + 1) * len(own)
            shape = n, (int(groups.max()) + 1) * len(own)
            values = self.terms.features[:, own].ravel()
            parts.append(sparse.csr_matrix((values, columns.ravel(), starts), shape=shape))
        return sparse.hstack(parts, format="csr") if parts else sparse.csr_matrix((n, 0))

    def roots(self, theta: Array) -> tuple[Array, Array]:
        """Return the roots of the weights of V's columns, the intercept first, and of A's."""
        weights = self.by_level(theta)[:, self.terms.term_of]
        found = [[INTERCEPT], weights[0, self.common]]
        for place, own in self.others:
            found.append(np.tile(weights[place, own], int(self.levels[place].groups.max()) + 1))
        return np.sqrt(np.concatenate(found)), np.sqrt(weights[self.own, self.own_features])

    @cached_property
    def pieces(self) -> list[Piece]:
        """All rows, in order."""
        groups = self.levels[self.own].groups
        if not len(self.own_features):  # blocks are diagonal
            n = len(groups)
            return [Piece(slice(at, min(at + _AT_ONCE, n)), None) for at in range(0, n, _AT_ONCE)]
        found: list[Piece] = []
        begin = 0
        for start, end in self.bounds.values():
            if end - begin > _TOGETHER and start > begin:
                found.append(self._piece(groups, begin, start))
                begin = start
        return [*found, self._piece(groups, begin, len(groups))]

    @cached_property
    def bounds(self) -> dict[int, tuple[int, int]]:
        """The first row of every group of the blocks' level, and the one after its last."""
        groups = self.levels[self.own].groups
        edges = np.flatnonzero(np.diff(groups, prepend=-1, append=-1)).tolist()
        pairs = pairwise(edges)
        return {int(groups[begin]): (begin, end) for begin, end in pairs}

    @staticmethod
    def _piece(groups: Indices, begin: int, end: int) -> Piece:
        own = groups[begin:end]
        alone = own[0] == own[-1]
        return Piece(slice(begin, end), None if alone else own[:, None] == own)

    @cached_property
    def wide(self) -> Array:
        """The features of the first level, a view if they are side by side."""
        return np.asarray(self.terms.features[:, _side_by_side(self.common)])

    @property
    def first(self) -> int:
        """How many columns of V are dense: the intercept, and the features of the first level."""
        return 1 + len(self.common)

    def dense(self, rows: slice) -> Array:
        """Return the dense columns of V."""
        D = self.wide[rows]
        return np.hstack([np.ones((len(D), 1)), D])

    def collected(self, right: Array, rows: slice | None = None) -> Array:
        """Return ``V' right``, with right at some rows, or at all."""
        rows = rows or slice(0, len(right))
        found = [right.sum(axis=0)[None], self.wide[rows].T @ right]
        return np.vstack([*found, self.scattered[rows].T @ right] if self.others else found)

    def spread(self, u: Array) -> Array:
        """Return ``V u``."""
        found = self.wide @ u[1 : self.first] + u[0]
        return found + self.scattered @ u[self.first :] if self.others else found

    def factors(self, theta: Array) -> list[Factor]:
        """Return the factor of Sigma, one for each noise there is."""
        missed = self.left @ self.by_level(theta)[:, self.missing].sum(axis=0)
        return [BlockFactor(self, theta, theta[-1] * noise + missed) for noise in self.noise.T]

    def traces(self, factor: Factor, noise: Array) -> Array:
        """Return the trace of Sigma^-1 with what each weight is multiplied with."""
        assert isinstance(factor, BlockFactor)
        of_wide, of_own, of_missing = factor.squares
        found = np.zeros((len(self.levels), self.terms.n_terms))
        at, term_of = self.first, self.terms.term_of
        np.add.at(found[0], term_of[self.common], of_wide[1:at])
        for place, own in self.others:
            count = len(own) * (int(self.levels[place].groups.max()) + 1)
            sums = of_wide[at : at + count].reshape(-1, len(own)).sum(axis=0)
            np.add.at(found[place], term_of[own], sums)
            at += count
        np.add.at(found[self.own], term_of[self.own_features], of_own)
        found[:, self.missing] += of_missing
        # The trace of Sigma^-1 Sigma is n: what is left of it is the noise's.
        weights = self.by_level(factor.theta)
        rest = len(self.z) - INTERCEPT * of_wide[0] - float(np.vdot(weights, found))
        return self.joined(found, rest / float(factor.theta[-1]))

    def products(self, a: Array, noise: Array) -> Array:
        """Return what each weight is multiplied with times a vector, of shape (n, n_weights)."""
        n, found = len(a), []
        for place, level in enumerate(self.levels):
            own, used = np.zeros((n, self.terms.n_terms)), self.features_of(place)
            if len(used):
                self._add_products(own, a, level.groups, used)
            own[:, self.missing] += self.left * a[:, None]
            found.append(own[:, level.terms])
        return np.column_stack([*found, noise * a])

    def _add_products(self, found: Array, a: Array, groups: Indices, used: Indices) -> None:
        """Add to each term's column its features on a level, times their products with a vector."""
        features, own = self.terms.features, _side_by_side(used)
        terms, first = np.unique(self.terms.term_of[used], return_index=True)
        parts = [slice(at, at + _AT_ONCE) for at in range(0, len(a), _AT_ONCE)]
        sums = np.zeros((int(groups.max()) + 1, len(used)))
        for at in parts:
            there, group = np.unique(groups[at], return_inverse=True)
            shape = len(there), len(group)
            by_group = sparse.csr_matrix((a[at], (group, np.arange(len(group)))), shape=shape)
            sums[there] += by_group @ features[at, own]
        for at in parts:
            values = features[at, own] * sums[groups[at]]
            found[at, terms] += np.add.reduceat(values, first, axis=1)


def _side_by_side(columns: Indices) -> slice | Indices:
    """Return columns as a slice, which takes no copy, if they are next to each other."""
    alone = len(columns) > 0 and columns[-1] - columns[0] + 1 == len(columns)
    return slice(int(columns[0]), int(columns[-1]) + 1) if alone else columns


class _Dense:
    """The blocks of a few small groups, by the inverse R of their Cholesky factor."""

    def __init__(self, A: Array, noise: Array, same: Flags | None) -> None:
        S = A @ A.T
        if same is not None:
            S *= same
        S.flat[:: len(S) + 1] += noise
        factor = Factor(S)
        self.log_determinant = factor.log_determinant
        self.R = lapack.dtrtri(factor.L, lower=1)[0]

    def solve(self, right: Array) -> Array:
        """Return ``B^-1 right``."""
        if right.shape[1] > len(self.R):
            inverse = (self.R.T @ self.R).astype(right.dtype, copy=False)
            return np.asarray(inverse @ right)
        return np.asarray(self.R.T @ (self.R @ right))

    def block(self, rows: Indices) -> Array:
        """Return a block of ``B^-1``."""
        own = self.R[:, rows]
        return np.asarray(own.T @ own)

    @property
    def diagonal(self) -> Array:
        """The diagonal of ``B^-1``."""
        return np.einsum("ij,ij->j", self.R, self.R)


class _LowRank:
    """The inverse of the block of a large group, by its features."""

    def __init__(self, A: Array, noise: Array) -> None:
        self.noise, self.over = noise, A / noise[:, None]
        H = A.T @ self.over
        H.flat[:: len(H) + 1] += 1.0
        self.factor = Factor(H) if len(H) else None
        own = self.factor.log_determinant if self.factor else 0.0
        self.log_determinant = own + float(np.log(noise).sum())

    def solve(self, right: Array) -> Array:
        """Return ``B^-1 right``."""
        found = (right.T / self.noise).T.astype(right.dtype, copy=False)
        if self.factor:
            found -= self.over @ self.factor.solve(self.over.T @ right)
        return np.asarray(found)

    def block(self, rows: Indices) -> Array:
        """Return a block of ``B^-1``."""
        found = np.diag(1.0 / self.noise[rows])
        if self.factor:
            half = self.factor.half(self.over[rows].T)
            found -= half.T @ half
        return found

    @property
    def diagonal(self) -> Array:
        """The diagonal of ``B^-1``."""
        found = 1.0 / self.noise
        if self.factor:
            found = found - np.sum(self.factor.half(self.over.T) ** 2, axis=0)
        return found


class BlockFactor(Factor):
    """A factor of the covariance of many rows.

    Parameters
    ----------
    model : ManyRows
        Everything but the weights.
    theta : ndarray of shape (n_weights,)
        The weights.
    noise : ndarray of shape (n,)
        The variance of the noise of every row.
    """

    def __init__(self, model: ManyRows, theta: Array, noise: Array) -> None:
        self.model, self.theta, self.noise = model, theta, noise
        self.root, own_root = model.roots(theta)
        self.used = np.flatnonzero(own_root)
        self.own_root = own_root[self.used]
        self._kept: dict[int, Array] = {}
        self.blocks_of = [self._inverse(piece) for piece in model.pieces]
        self.G = self._gram()
        H = self.root[:, None] * self.G * self.root
        H.flat[:: len(H) + 1] += 1.0
        self.H = Factor(H)

    def _own(self, rows: slice) -> Array:
        """Return the features of the blocks' level, with their weights."""
        columns = _side_by_side(self.model.own_features[self.used])
        return np.asarray(self.model.terms.features[rows, columns] * self.own_root)

    def _inverse(self, piece: Piece) -> _Dense | _LowRank:
        A, noise = self._own(piece.rows), self.noise[piece.rows]
        large = len(A) > max(_LARGE, A.shape[1]) or not len(self.model.own_features)
        if large and piece.same is None:
            return _LowRank(A, noise)
        return _Dense(A, noise, piece.same)

    @cached_property
    def _chunks(self) -> list[range]:
        """Small pieces that are next to each other, by their numbers; large ones alone."""
        found, begin = [], 0
        for number, (piece, own) in enumerate(zip(self.model.pieces, self.blocks_of, strict=True)):
            start = self.model.pieces[begin].rows.start
            large = isinstance(own, _LowRank) or isinstance(self.blocks_of[begin], _LowRank)
            if number > begin and (large or piece.rows.stop - start > _AT_ONCE):
                found.append(range(begin, number))
                begin = number
        return [*found, range(begin, len(self.model.pieces))]

    def _gram(self) -> Array:
        """Return ``V' B^-1 V``."""
        G = np.zeros((len(self.root), len(self.root)))
        for chunk in self._chunks:
            own = self.blocks_of[chunk[0]]
            if isinstance(own, _LowRank):
                self._add_large(G, self.model.pieces[chunk[0]], own)
            else:
                self._add_small(G, chunk)
        return G

    def _add_small(self, G: Array, chunk: range) -> None:
        """Add what some small pieces have in ``V' B^-1 V``."""
        model, first = self.model, self.model.first
        rows = self._rows(chunk)
        W = np.empty((rows.stop - rows.start, first))
        for inside, piece, own in self._within_chunk(chunk):
            assert isinstance(own, _Dense)
            W[inside, 0] = own.R.sum(axis=1)
            np.matmul(own.R, model.wide[piece.rows], out=W[inside, 1:])
            if model.others:
                E = model.scattered[piece.rows]
                columns = np.unique(E.indices)
                _add_scattered(G, first, columns, W[inside], own.R @ E[:, columns].toarray())
        G[:first, :first] += W.T @ W

    def _add_large(self, G: Array, piece: Piece, own: _LowRank) -> None:
        """Add what a large group has in ``V' B^-1 V``."""
        model, first = self.model, self.model.first
        reduced = np.zeros((own.over.shape[1], len(G)))
        for begin in range(piece.rows.start, piece.rows.stop, _AT_ONCE):
            at = slice(begin, min(begin + _AT_ONCE, piece.rows.stop))
            over = own.over[at.start - piece.rows.start : at.stop - piece.rows.start]
            root = np.sqrt(self.noise[at])
            W = model.dense(at) / root[:, None]
            G[:first, :first] += W.T @ W
            reduced[:, :first] += (over * root[:, None]).T @ W
            if model.others:
                E = model.scattered[at]
                columns = np.unique(E.indices)
                scaled = sparse.diags_array(1.0 / root, format="csr") @ E[:, columns]
                _add_scattered(G, first, columns, W, scaled)
                reduced[:, first:] += (E.T @ over).T
        if own.factor:
            half = own.factor.half(reduced)
            G -= half.T @ half

    def _rows(self, chunk: range) -> slice:
        """Return the rows of some pieces."""
        pieces = self.model.pieces
        return slice(pieces[chunk[0]].rows.start, pieces[chunk[-1]].rows.stop)

    def _within_chunk(self, chunk: range) -> Iterator[tuple[slice, Piece, _Dense | _LowRank]]:
        """Yield some pieces with their inverses, and where their rows are among the chunk's."""
        start = self._rows(chunk).start
        for number in chunk:
            piece = self.model.pieces[number]
            inside = slice(piece.rows.start - start, piece.rows.stop - start)
            yield inside, piece, self.blocks_of[number]

    def _within(self, right: Array) -> Array:
        """Return ``B^-1 right``."""
        pairs = zip(self.model.pieces, self.blocks_of, strict=True)
        return np.concatenate([own.solve(right[piece.rows]) for piece, own in pairs])

    def solve(self, right: Array) -> Array:
        """Return ``S^-1 right``."""
        columns = right[:, None] if right.ndim == 1 else right
        found = self._within(columns)
        half = self.root[:, None] * self.model.collected(found)
        u = self.root[:, None] * self.H.solve(half)
        return np.asarray((found - self._within(self.model.spread(u))).reshape(right.shape))

    def quadratic(self, right: Array) -> Array:
        """Return ``right' S^-1 right``."""
        found = self._within(right)
        half = self.H.half(self.root[:, None] * self.model.collected(found))
        return np.asarray(right.T @ found - half.T @ half)

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of S."""
        return self.H.log_determinant + sum(own.log_determinant for own in self.blocks_of)

    @cached_property
    def squares(self) -> tuple[Array, Array, Array]:
        """Diagonals that traces consist of.

        Those of ``V' S^-1 V``, the sums of those of ``A_t' S^-1 A_t``, and of ``S^-1`` times what
        landmarks miss.
        """
        model = self.model
        of_wide = np.diagonal(self.G) - np.sum(
            self.H.half(self.root[:, None] * self.G) ** 2, axis=0
        )
        of_own, diagonals = np.zeros(len(model.own_features)), []
        for chunk in self._chunks:
            by_rows = len(model.missing) > 0 or any(map(self._has_few_rows, chunk))
            halves = self._halves(chunk, self._single) if by_rows else None
            if len(model.missing):
                diagonals.append(self._diagonal(chunk, halves))
            if len(of_own):
                of_own += self._of_own(chunk, halves)
        of_missing = np.concatenate(diagonals) @ model.left if diagonals else np.empty(0)
        return of_wide, of_own, of_missing

    def _has_few_rows(self, number: int) -> bool:
        """Return whether a piece has fewer rows than its groups have features."""
        piece = self.model.pieces[number]
        few = piece.rows.stop - piece.rows.start < len(self.model.own_features)
        return len(self.model.own_features) > 0 and (few or piece.same is not None)

    def _of_own(self, chunk: range, halves: Array | None) -> Array:
        """Return the sums of the diagonals of ``A_t' S^-1 A_t`` of some pieces."""
        columns = _side_by_side(self.model.own_features)
        found, parts = np.zeros(len(self.model.own_features)), []
        for (inside, piece, own), number in zip(self._within_chunk(chunk), chunk, strict=True):
            A = self.model.terms.features[piece.rows, columns]
            if halves is not None and self._has_few_rows(number):
                Z = own.block(np.arange(len(A))) - halves[:, inside].T @ halves[:, inside]
                if piece.same is not None:
                    Z *= piece.same
                found += np.einsum("ij,ij->j", A, Z @ A)
                continue
            solved = own.solve(A)
            found += np.einsum("ij,ij->j", A, solved)
            if halves is not None:
                own_halves = halves[:, inside] @ A.astype(halves.dtype, copy=False)
                found -= np.sum(own_halves**2, axis=0)
            else:
                parts.append(self.model.collected(solved, piece.rows))
        if parts:
            half = self.H.half(self.root[:, None] * np.hstack(parts))
            found -= np.sum(half**2, axis=0).reshape(len(parts), -1).sum(axis=0)
        return found

    def _halves(self, chunk: range, single: Array | None = None) -> Array:
        """Return ``H^-1/2 D^1/2 V' B^-1`` at the rows of some pieces, of shape (p, n).

        With the factor of H in single precision, that is the precision of all.
        """
        V = self.model.dense(self._rows(chunk))
        if self.model.others:
            V = np.hstack([V, self.model.scattered[self._rows(chunk)].toarray()])
        if single is not None:
            V = V.astype(single.dtype)
        for inside, _, own in self._within_chunk(chunk):
            V[inside] = own.solve(V[inside])
        V *= self.root.astype(V.dtype, copy=False)
        if single is None:
            return self.H.half(V.T)
        return np.asarray(blas.strsm(1.0, single, V.T, lower=1, overwrite_b=1))

    @property
    def _single(self) -> Array | None:
        """The factor of H in single precision, of many rows: their traces are sums of squares."""
        return self.H.L.astype(np.float32) if len(self.noise) > _DOUBLE else None

    def _diagonal(self, chunk: range, halves: Array | None = None) -> Array:
        """Return the diagonal of ``S^-1`` at the rows of some pieces."""
        halves = self._halves(chunk) if halves is None else halves
        blocks = np.concatenate([self.blocks_of[number].diagonal for number in chunk])
        return np.asarray(blocks - np.einsum("ij,ij->j", halves, halves))

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of ``S^-1``."""
        return np.concatenate([self._diagonal(chunk) for chunk in self._chunks])

    def _half(self, number: int) -> Array:
        """Return what `_halves` does of one piece, and keep it for other rows that are left out."""
        if number not in self._kept:
            if len(self.root) * len(self.noise) * 8 > _KEPT:
                self._kept.clear()
            self._kept[number] = self._halves(range(number, number + 1))
        return self._kept[number]

    def blocks(self, groups: Sequence[Indices]) -> Iterator[Array]:
        """Yield the block of ``S^-1`` of every group of rows."""
        starts = np.array([piece.rows.start for piece in self.model.pieces])
        for rows in groups:
            number = np.searchsorted(starts, rows, side="right") - 1
            halves = np.empty((len(self.root), len(rows)))
            found = np.zeros((len(rows), len(rows)))
            for one in np.unique(number).tolist():
                at = np.flatnonzero(number == one)
                inside = rows[at] - starts[one]
                halves[:, at] = self._half(one)[:, inside]
                found[at[:, None], at] = self.blocks_of[one].block(inside)
            yield found - halves.T @ halves

    def variances(self, features: Array, places: Indices, group: int) -> Array:
        """Return the variances of the functions at other rows of a group, given the targets.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
            Features of the rows.
        places : ndarray of int, shape (n_levels, n_rows)
            Their groups; what a level has in a group that is not known counts nothing here.
        group : int
            Their group on the level of the blocks, -1 if it is not known.
        """
        model = self.model
        rows, columns = np.arange(len(features)), [np.ones((len(features), 1))]
        columns.append(features[:, model.common])
        for place, own in model.others:
            count = int(model.levels[place].groups.max()) + 1
            found = np.zeros((len(rows), count, len(own)))
            known = places[place] >= 0
            found[rows[known], places[place][known]] = features[known][:, own]
            columns.append(found.reshape(len(rows), -1))
        V, within = np.hstack(columns), np.zeros(len(rows))
        if group >= 0 and len(self.used):
            A = features[:, model.own_features[self.used]] * self.own_root
            across, shrunk = self._group(group)
            V -= A @ across.T
            within = np.einsum("ij,ij->i", A, A @ shrunk)
        return np.asarray(within + np.sum(self.H.half(self.root[:, None] * V.T) ** 2, axis=0))

    def _group(self, group: int) -> tuple[Array, Array]:
        """Return ``V' B^-1 A`` and ``I - A' B^-1 A`` of one group, A with its weights."""
        begin, end = self.model.bounds[group]
        starts = [piece.rows.start for piece in self.model.pieces]
        number = int(np.searchsorted(starts, begin, side="right")) - 1
        A, own = self._own(slice(begin, end)), self.blocks_of[number]
        if isinstance(own, _Dense):  # other groups may share the piece
            solved = own.block(np.arange(begin, end) - starts[number]) @ A
        else:
            solved = own.solve(A)
        across = self.model.collected(solved, slice(begin, end))
        return across, np.eye(A.shape[1]) - A.T @ solved

    def times(self, right: Array) -> Array:
        """Return ``S right``."""
        columns = right[:, None] if right.ndim == 1 else right
        found = self.model.spread(self.root[:, None] ** 2 * self.model.collected(columns))
        for piece in self.model.pieces:
            A, own = self._own(piece.rows), columns[piece.rows]
            within = A @ (A.T @ own) if piece.same is None else ((A @ A.T) * piece.same) @ own
            found[piece.rows] += within + self.noise[piece.rows, None] * own
        return found.reshape(right.shape)


def _add_scattered(
    G: Array, first: int, columns: Indices, W: Array, X: sparse.csr_array | Array
) -> None:
    """Add ``[W, X]' [W, X]`` but for ``W' W`` to G, X at some of the scattered columns."""
    across, own = np.asarray(X.T @ W), X.T @ X
    if not isinstance(own, np.ndarray):
        own = own.toarray()
    at = first + columns
    G[at, :first] += across
    G[:first, at] += across.T
    G[at[:, None], at] += own
