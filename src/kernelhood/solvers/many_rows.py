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

from kernelhood._typing import Array, Flags, Indices
from kernelhood.solvers.gaussian import INTERCEPT, Factor, Level, Model, Terms

#: Rows of small groups that are worked on together, and rows at a time of large ones.
_TOGETHER, _AT_ONCE = 128, 4096
#: Groups of more rows than this, and than features, are solved by their features.
_LARGE = 256
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
        """The columns of V that are dense: the intercept, and the features of the first level."""
        found = np.empty((len(self.z), 1 + len(self.common)))
        found[:, 0] = 1.0
        np.take(self.terms.features, self.common, axis=1, out=found[:, 1:])
        return found

    def parts(self, rows: slice) -> Iterator[tuple[slice, Array, sparse.csr_matrix | None]]:
        """Yield rows, some at a time, with V there: what is dense, and what is scattered if any."""
        for begin in range(rows.start, rows.stop, _AT_ONCE):
            at = slice(begin, min(begin + _AT_ONCE, rows.stop))
            yield at, self.wide[at], self.scattered[at] if self.others else None

    def factors(self, theta: Array) -> list[Factor]:
        """Return the factor of Sigma, one for each noise there is."""
        missed = self.left @ self.by_level(theta)[:, self.missing].sum(axis=0)
        return [BlockFactor(self, theta, theta[-1] * noise + missed) for noise in self.noise.T]

    def traces(self, factor: Factor, noise: Array) -> Array:
        """Return the trace of Sigma^-1 with what each weight is multiplied with."""
        assert isinstance(factor, BlockFactor)
        of_wide, of_own = factor.squares()
        found = np.zeros((len(self.levels), self.terms.n_terms))
        at, term_of = 1 + len(self.common), self.terms.term_of
        np.add.at(found[0], term_of[self.common], of_wide[1:at])
        for place, own in self.others:
            count = len(own) * (int(self.levels[place].groups.max()) + 1)
            sums = of_wide[at : at + count].reshape(-1, len(own)).sum(axis=0)
            np.add.at(found[place], term_of[own], sums)
            at += count
        np.add.at(found[self.own], term_of[self.own_features], of_own)
        if len(self.missing):
            found[:, self.missing] += factor.diagonal @ self.left
        # The trace of Sigma^-1 Sigma is n: what is left of it is the noise's.
        weights = self.by_level(factor.theta)
        rest = len(self.z) - INTERCEPT * of_wide[0] - float(np.vdot(weights, found))
        return self.joined(found, rest / float(factor.theta[-1]))

    def products(self, a: Array, noise: Array) -> Array:
        """Return what each weight is multiplied with times a vector, of shape (n, n_weights)."""
        n, features, found = len(a), self.terms.features, []
        sized = np.flatnonzero(self.terms.sizes)
        first = (np.cumsum(self.terms.sizes) - self.terms.sizes)[sized]
        for level in self.levels:
            shape = int(level.groups.max()) + 1, n
            sums = sparse.csr_matrix((a, (level.groups, np.arange(n))), shape=shape) @ features
            own = np.zeros((n, self.terms.n_terms))
            for begin in range(0, n, _AT_ONCE):
                at = slice(begin, begin + _AT_ONCE)
                values = features[at] * sums[level.groups[at]]
                own[at, sized] = np.add.reduceat(values, first, axis=1)
            own[:, self.missing] += self.left * a[:, None]
            found.append(own[:, level.terms])
        return np.column_stack([*found, noise * a])


class _Dense:
    """The inverse of the blocks of a few small groups."""

    def __init__(self, A: Array, noise: Array, same: Flags | None) -> None:
        S = A @ A.T
        if same is not None:
            S *= same
        S.flat[:: len(S) + 1] += noise
        factor = Factor(S)
        self.log_determinant, self.inverse = factor.log_determinant, factor.inverse

    def solve(self, right: Array) -> Array:
        """Return ``B^-1 right``."""
        return self.inverse @ right

    def block(self, rows: Indices) -> Array:
        """Return a block of ``B^-1``."""
        return self.inverse[rows[:, None], rows]

    @property
    def diagonal(self) -> Array:
        """The diagonal of ``B^-1``."""
        return np.diagonal(self.inverse)


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
        found = (right.T / self.noise).T
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

    def _inverse(self, piece: Piece) -> _Dense | _LowRank:
        A = self.model.terms.features[piece.rows][:, self.model.own_features[self.used]]
        A, noise = A * self.own_root, self.noise[piece.rows]
        large = len(A) > max(_LARGE, A.shape[1]) or not len(self.model.own_features)
        if large and piece.same is None:
            return _LowRank(A, noise)
        return _Dense(A, noise, piece.same)

    def _gram(self) -> Array:
        """Return ``V' B^-1 V``."""
        model, p = self.model, len(self.root)
        first = 1 + len(model.common)
        G = np.zeros((p, p))
        for piece, own in zip(model.pieces, self.blocks_of, strict=True):
            if isinstance(own, _Dense):
                (_, D, E) = next(model.parts(piece.rows))
                G[:first, :first] += D.T @ own.solve(D)
                if E is not None:
                    _add_scattered(G, first, D, E, E.T @ own.inverse)
                continue
            reduced = np.zeros((own.over.shape[1], p))
            for at, D, E in model.parts(piece.rows):
                weight = 1.0 / self.noise[at]
                inside = slice(at.start - piece.rows.start, at.stop - piece.rows.start)
                G[:first, :first] += D.T @ (weight[:, None] * D)
                reduced[:, :first] += own.over[inside].T @ D
                if E is not None:
                    _add_scattered(G, first, D, E, E.T.multiply(weight).tocsr())
                    reduced[:, first:] += (E.T @ own.over[inside]).T
            if own.factor:
                half = own.factor.half(reduced)
                G -= half.T @ half
        return G

    def _collected(self, right: Array, rows: slice | None = None) -> Array:
        """Return ``V' right``, with right at some rows, or at all."""
        rows = rows or slice(0, len(right))
        found = np.zeros((len(self.root), right.shape[1]))
        first = 1 + len(self.model.common)
        for at, D, E in self.model.parts(rows):
            own = right[at.start - rows.start : at.stop - rows.start]
            found[:first] += D.T @ own
            if E is not None:
                found[first:] += E.T @ own
        return found

    def _within(self, right: Array) -> Array:
        """Return ``B^-1 right``."""
        pairs = zip(self.model.pieces, self.blocks_of, strict=True)
        return np.concatenate([own.solve(right[piece.rows]) for piece, own in pairs])

    def solve(self, right: Array) -> Array:
        """Return ``S^-1 right``."""
        columns = right[:, None] if right.ndim == 1 else right
        found = self._within(columns)
        u = self.root[:, None] * self.H.solve(self.root[:, None] * self._collected(found))
        return np.asarray((found - self._within(self._spread(u))).reshape(right.shape))

    def _spread(self, u: Array) -> Array:
        """Return ``V u``."""
        first = 1 + len(self.model.common)
        found = self.model.wide @ u[:first]
        return found + self.model.scattered @ u[first:] if self.model.others else found

    def quadratic(self, right: Array) -> Array:
        """Return ``right' S^-1 right``."""
        found = self._within(right)
        half = self.H.half(self.root[:, None] * self._collected(found))
        return np.asarray(right.T @ found - half.T @ half)

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of S."""
        return self.H.log_determinant + sum(own.log_determinant for own in self.blocks_of)

    def squares(self) -> tuple[Array, Array]:
        """Return the diagonals of ``V' S^-1 V``, and the sums of those of ``A_t' S^-1 A_t``."""
        of_wide = np.diagonal(self.G) - np.sum(
            self.H.half(self.root[:, None] * self.G) ** 2, axis=0
        )
        of_own = np.zeros(len(self.model.own_features))
        if not len(of_own):
            return of_wide, of_own
        for number, (piece, own) in enumerate(zip(self.model.pieces, self.blocks_of, strict=True)):
            A = self.model.terms.features[piece.rows][:, self.model.own_features]
            if isinstance(own, _Dense):
                half = self._half(number)
                Z = own.inverse - half.T @ half
                if piece.same is not None:
                    Z *= piece.same
                of_own += np.einsum("ij,ij->j", A, Z @ A)
            else:
                solved = own.solve(A)
                half = self.H.half(self.root[:, None] * self._collected(solved, piece.rows))
                of_own += np.einsum("ij,ij->j", A, solved) - np.sum(half**2, axis=0)
        return of_wide, of_own

    def _half(self, number: int) -> Array:
        """Return ``H^-1/2 D^1/2 V' B^-1`` at the rows of a piece, of shape (p, n)."""
        if number in self._kept:
            return self._kept[number]
        piece, own = self.model.pieces[number], self.blocks_of[number]
        V = self.model.wide[piece.rows]
        if self.model.others:
            V = np.hstack([V, self.model.scattered[piece.rows].toarray()])
        found = self.H.half(self.root[:, None] * own.solve(V).T)
        if len(self.root) * len(self.noise) * 8 > _KEPT:
            self._kept.clear()
        self._kept[number] = found
        return found

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of ``S^-1``."""
        return np.concatenate(
            [
                own.diagonal - np.sum(self._half(number) ** 2, axis=0)
                for number, own in enumerate(self.blocks_of)
            ]
        )

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
        A = self.model.terms.features[begin:end][:, self.model.own_features[self.used]]
        A, own = A * self.own_root, self.blocks_of[number]
        inside = slice(begin - starts[number], end - starts[number])
        solved = own.inverse[inside, inside] @ A if isinstance(own, _Dense) else own.solve(A)
        across = self._collected(solved, slice(begin, end))
        return across, np.eye(A.shape[1]) - A.T @ solved

    def times(self, right: Array) -> Array:
        """Return ``S right``."""
        columns = right[:, None] if right.ndim == 1 else right
        u = self.root[:, None] ** 2 * self._collected(columns)
        found = self._spread(u)
        for piece in self.model.pieces:
            A = self.model.terms.features[piece.rows][:, self.model.own_features[self.used]]
            A, own = A * self.own_root, columns[piece.rows]
            within = A @ (A.T @ own) if piece.same is None else ((A @ A.T) * piece.same) @ own
            found[piece.rows] += within + self.noise[piece.rows, None] * own
        return found.reshape(right.shape)


def _add_scattered(
    G: Array, first: int, D: Array, E: sparse.csr_matrix, right: sparse.csr_matrix | Array
) -> None:
    """Add ``[D, E]' X E`` and its transpose to G, with ``right = E' X``, for symmetric X."""
    columns = np.unique(E.indices)
    right = right[columns]
    across = np.asarray(right @ D)
    own = right @ E[:, columns]
    own = own.toarray() if sparse.issparse(own) else np.asarray(own)
    at = first + columns
    G[at, :first] += across
    G[:first, at] += across.T
    G[at[:, None], at] += own
