"""An additive function of all tasks, as a fit leaves it: what predictions need."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.kernels.terms import SOFTNESS, TermBank, softened
from kernelhood.solvers.gaussian import INTERCEPT, Factor, Level, Point, Terms, left_out

_CONSTANT = 1e-10
_ROWS_AT_ONCE = 2048
#: Rows by which extrapolation is judged at most, and the fewest at an end of a column.
_JUDGED, _FEWEST = 600, 5
#: A column is judged if it has so much of the weights.
_USED = 0.01


@dataclass(frozen=True, eq=False)
class Scaled:
    """A bank whose terms have the variance 1 at the training rows, so that weights are variances.

    Attributes
    ----------
    bank : TermBank
        The terms.
    scale : ndarray of shape (n_terms,)
        What the kernel of each is divided by; infinite for a term that is constant.
    """

    bank: TermBank
    scale: Array

    @classmethod
    def at(cls, bank: TermBank, E: Array) -> tuple[Scaled, Terms]:
        """Return the scaled terms and their values at the training rows."""
        features, sizes = bank.features(E)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        size = np.bincount(owner, (features**2).mean(axis=0), len(sizes))
        spread = size - np.bincount(owner, features.mean(axis=0) ** 2, len(sizes))
        matrices = [one.matrix(E, E) for one in bank.radial]
        others = [float(np.mean(np.diagonal(K)) - K.mean()) for K in matrices]
        spread, size = np.append(spread, others), np.append(size, np.ones(len(others)))
        scale = np.where(spread > _CONSTANT * size, spread, np.inf)
        scale[0] = 1.0
        found = cls(bank, scale)
        stack = np.array(matrices) if matrices else np.empty((0, len(E), len(E)))
        stack /= scale[len(sizes) :, None, None]
        return found, Terms(features / np.sqrt(scale[owner]), sizes, stack)

    def features(self, E: Array, used: Flags) -> tuple[Array, Indices]:
        """Return the features of rows for some terms, and the term of each."""
        found, sizes = self.bank.features(E, used)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        return found / np.sqrt(self.scale[owner]), owner

    def matrix(self, place: int, E: Array, other: Array) -> Array:
        """Return the kernel matrix of one of the terms without features."""
        first = len(self.bank.terms) + 1
        return np.asarray(self.bank.radial[place].matrix(E, other) / self.scale[first + place])


def varies_within(terms: Terms, groups: Indices) -> Flags:
    """Return which terms vary within groups of rows.

    Parameters
    ----------
    terms : Terms
        At the training rows.
    groups : ndarray of int, shape (n,)
        The group of every row, from 0.
    """
    counts = np.maximum(np.bincount(groups), 1)
    within = np.empty(terms.features.shape[1])
    for j, column in enumerate(terms.features.T):
        mean = np.bincount(groups, column) / counts
        within[j] = np.mean((column - mean[groups]) ** 2)
    first = np.bincount(terms.term_of, within, len(terms.sizes)) > 1e-6
    apart = len(groups) > len(counts) and bool(first[1:].any())
    return np.concatenate([first, np.full(len(terms.matrices), apart)])


@dataclass(frozen=True, eq=False)
class AdditiveFunction:
    """What is left of a fit: all that predictions need.

    Attributes
    ----------
    scaled : Scaled
        The terms.
    names : list of list
        The groups of every level; a row of another group has nothing of the level.
    weights : ndarray of shape (n_levels, n_terms)
        Variances of the terms.
    E : ndarray of shape (n, n_features)
        The training rows.
    groups : ndarray of int, shape (n_levels, n)
        Their groups.
    a : ndarray of shape (n, n_targets)
        Dual coefficients.
    noise : ndarray of shape (n, 1) or (n, n_targets)
        Variances of the noise of the training rows.
    """

    scaled: Scaled
    names: list[list[Hashable]]
    weights: Array
    E: Array
    groups: Indices
    a: Array
    noise: Array

    @classmethod
    def of(
        cls, scaled: Scaled, names: Sequence[Sequence[Hashable]], E: Array, point: Point
    ) -> AdditiveFunction:
        """Return the function of a fitted model."""
        model = point.model
        groups = np.array([level.groups for level in model.levels])
        weights = model.by_level(point.theta)
        noise = point.theta[-1] * model.noise
        return cls(scaled, [list(own) for own in names], weights, E, groups, point.a, noise)

    def places(self, labels: Sequence[AnyArray | None], n: int) -> Indices:
        """Return the groups of rows by number, -1 for those not known, a row for each level."""
        found = np.full((len(self.names), n), -1, dtype=np.intp)
        for own, names, given in zip(found, self.names, labels, strict=True):
            if given is not None:
                known = {name: place for place, name in enumerate(names)}
                own[:] = [known.get(label, -1) for label in given.tolist()]
        return found

    def mean(self, X: Any, places: Indices) -> Array:
        """Return the functions at rows, of shape (n_rows, n_targets)."""
        parts = [
            self.at_features(self.scaled.bank.encode(X[at]), places[:, at]) for at in _parts(len(X))
        ]
        return np.vstack(parts) if parts else np.empty((0, self.a.shape[1]))

    def at_features(self, E: Array, places: Indices) -> Array:
        """Return the functions at encoded rows, of shape (n_rows, n_targets)."""
        features, owner = self.scaled.features(E, self._used)
        found = np.full((len(E), self.a.shape[1]), INTERCEPT * self.a.sum(axis=0))
        first = len(self.scaled.bank.terms) + 1
        rows = zip(self.weights, self._coefficients, places, strict=True)
        for weights, coefficients, own in rows:
            used = np.flatnonzero(weights[:first][owner])
            known = own >= 0
            if len(used) and known.any():
                for target, values in enumerate(coefficients):
                    found[known, target] += np.einsum(
                        "ij,ij->i", features[known][:, used], values[own[known]]
                    )
        for place in range(len(self.scaled.bank.radial)):
            if self.weights[:, first + place].any():
                K = self.scaled.matrix(place, E, self.E)
                found += (K * self._between(places, self.weights[:, first + place])) @ self.a
        return found

    @cached_property
    def _coefficients(self) -> list[list[Array]]:
        """What features are multiplied with: by level and target, of shape (n_groups, n_used)."""
        first = len(self.scaled.bank.terms) + 1
        owner = self.scaled.features(self.E[:1], self._used)[1]
        found = []
        for names, weights in zip(self.names, self.weights, strict=True):
            size = np.count_nonzero(weights[:first][owner])
            found.append([np.zeros((len(names), size)) for _ in self.a.T])
        for at in _parts(len(self.E)):
            features = self.scaled.features(self.E[at], self._used)[0]
            rows = np.arange(len(features))
            for weights, sums, groups in zip(self.weights, found, self.groups, strict=True):
                of_features = weights[:first][owner]
                used = np.flatnonzero(of_features)
                own = features[:, used] * of_features[used]
                for total, a in zip(sums, self.a.T, strict=True):
                    shape = len(total), len(rows)
                    total += sparse.csr_matrix((a[at], (groups[at], rows)), shape=shape) @ own
        return found

    def _between(self, places: Indices, weights: Array) -> Array:
        """Return the sum of a term's weights over the levels on which two rows are one group."""
        found = np.zeros((places.shape[1], len(self.E)))
        for own, groups, weight in zip(places, self.groups, weights, strict=True):
            if weight > 0.0:
                found += weight * ((own[:, None] == groups) & (own[:, None] >= 0))
        return found

    def variance(self, X: Any, places: Indices) -> Array:
        """Return the variances of the functions at rows, of shape (n_rows, n_targets)."""
        parts = [
            self._variance(self.scaled.bank.encode(X[at]), places[:, at]) for at in _parts(len(X))
        ]
        return np.vstack(parts) if parts else np.empty((0, self.a.shape[1]))

    def _variance(self, E: Array, places: Indices) -> Array:
        cross = self._covariance(E, places)
        features, owner = self.scaled.features(E, self._used)
        first = len(self.scaled.bank.terms) + 1
        total = self.weights.sum(axis=0)
        prior = INTERCEPT + (features**2) @ total[:first][owner]
        for place, one in enumerate(total[first:]):
            prior += one / self.scaled.scale[first + place]
        halves = [factor.half(cross.T) for factor in self._factors]
        found = np.column_stack([prior - np.sum(half**2, axis=0) for half in halves])
        whole = np.broadcast_to(found, (len(E), self.a.shape[1]))
        return np.asarray(np.maximum(whole, 0.0))

    def _covariance(self, E: Array, places: Indices) -> Array:
        """Return the covariance of rows with the training rows."""
        (features, owner), trained = self.scaled.features(E, self._used), self._trained
        first = len(self.scaled.bank.terms) + 1
        found = np.full((len(E), len(self.E)), INTERCEPT)
        for own, groups, weights in zip(places, self.groups, self.weights, strict=True):
            of_features = weights[:first][owner]
            used = np.flatnonzero(of_features)
            if len(used):
                same = (own[:, None] == groups) & (own[:, None] >= 0)
                found += same * ((features[:, used] * of_features[used]) @ trained[:, used].T)
        for place in range(len(self.scaled.bank.radial)):
            if self.weights[:, first + place].any():
                K = self.scaled.matrix(place, E, self.E)
                found += K * self._between(places, self.weights[:, first + place])
        return found

    def left_out(self, groups: Sequence[Indices]) -> tuple[Array, Array]:
        """Return the functions at training rows by the rows outside their group, and variances.

        Parameters
        ----------
        groups : sequence of ndarray of int
            Rows that are left out together; NaN is returned for rows in no group.

        Returns
        -------
        mean, variance : ndarray of shape (n, n_targets)
            Of the functions, without noise.
        """
        means, variances = [], []
        for factor, a, noise in zip(self._factor_of, self.a.T, self._noise_of, strict=True):
            residual, variance = left_out(factor, a, groups)
            means.append(factor.times(a) - residual)
            variances.append(np.maximum(variance - noise, 0.0))
        return np.column_stack(means), np.column_stack(variances)

    def alone(self, rows: Indices) -> AdditiveFunction:
        """Return what some training rows tell without the others, at the same weights."""
        parts = self.E[rows], self.groups[:, rows], self.a[rows], self._whole_noise(rows)
        own = AdditiveFunction(self.scaled, self.names, self.weights, *parts)
        pairs = zip(own._factor_of, self.targets[rows].T, strict=True)
        return replace(own, a=np.column_stack([factor.solve(z) for factor, z in pairs]))

    def _whole_noise(self, rows: Indices) -> Array:
        """Return all of the variance of some training rows that no other row shares."""
        return np.asarray(self.noise[rows])

    def with_weights(self, weights: Array) -> AdditiveFunction:
        """Return the part of the function that other weights give to the same coefficients."""
        parts = self.E, self.groups, self.a, self.noise
        return AdditiveFunction(self.scaled, self.names, weights, *parts)

    @cached_property
    def targets(self) -> Array:
        """The targets of the training rows, of shape (n, n_targets)."""
        pairs = zip(self._factor_of, self.a.T, strict=True)
        return np.column_stack([factor.times(a) for factor, a in pairs])

    @property
    def _factor_of(self) -> list[Factor]:
        """The factor of every target."""
        return self._factors * int(self.a.shape[1] // len(self._factors))

    @property
    def _noise_of(self) -> Array:
        """The noise of every target, one for each row."""
        return np.broadcast_to(self.noise, self.a.shape).T

    @property
    def _used(self) -> Flags:
        """The terms that have a weight on some level."""
        return np.asarray(self.weights.any(axis=0))

    @cached_property
    def _trained(self) -> Array:
        """The features of the training rows."""
        return self.scaled.features(self.E, self._used)[0]

    @cached_property
    def _factors(self) -> list[Factor]:
        """The factors of the training rows."""
        S, found = self._covariance(self.E, self.groups), []
        for noise in self.noise.T:
            own = S.copy()
            own.flat[:: len(own) + 1] += noise
            found.append(Factor(own))
        return found

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the rest is not part of a model file.
        return {one.name: getattr(self, one.name) for one in fields(self)}


def judge_ranges(function: AdditiveFunction, point: Point) -> None:
    """Choose how far each column of numbers may leave its range.

    The rows at the ends of a column are left out, at the weights of the fit; they are predicted
    with columns that stop at the range of the rest, that leave it slowly, or as they are. What is
    best at both ends is used for predictions outside of the training range.

    Parameters
    ----------
    function : AdditiveFunction
        Fitted; its bank is changed.
    point : Point
        Of the same rows.
    """
    bank = function.scaled.bank
    rows = np.arange(0, len(function.E), -(-len(function.E) // _JUDGED))
    small = Point(point.model.take(rows), point.theta)
    parts = function.E[rows], function.groups[:, rows], small.a, function.noise[rows]
    some = AdditiveFunction(function.scaled, function.names, function.weights, *parts)
    share = bank.share_of(function.weights.sum(axis=0))
    for place in bank.numbers[share[bank.numbers] > _USED * share.sum()]:
        column = some.E[:, place]
        errors = np.zeros(len(SOFTNESS))
        for far in (column > np.quantile(column, 0.8), column < np.quantile(column, 0.2)):
            if _FEWEST <= far.sum() <= 0.5 * len(rows):
                errors += _errors_outside(some, small, far)
        if errors.any():
            bank.soft[place] = SOFTNESS[int(np.argmin(errors))]


def _errors_outside(some: AdditiveFunction, point: Point, far: Flags) -> Array:
    """Return the squared errors of rows that are left out, for each softness."""
    g, rest = np.flatnonzero(far), np.flatnonzero(~far)
    a = point.a[rest]
    for target, factor in enumerate(point.factor_of):
        Z, own = factor.inverse, point.a[g, target]
        a[:, target] -= Z[rest[:, None], g] @ np.linalg.solve(Z[g[:, None], g], own)
    low, high = some.E[rest].min(axis=0), some.E[rest].max(axis=0)
    fixed = ~np.isfinite(some.scaled.bank.low)
    low[fixed], high[fixed] = -np.inf, np.inf
    known = replace(some, E=some.E[rest], groups=some.groups[:, rest], a=a)
    errors = []
    for softness in SOFTNESS:
        E = softened(some.E[g], low, high, np.full(some.E.shape[1], softness))
        found = known.at_features(E, some.groups[:, g])
        errors.append(float(np.sum((found - point.model.z[g]) ** 2 / point.model.noise[g])))
    return np.array(errors)


def _parts(n: int) -> list[slice]:
    return [slice(at, at + _ROWS_AT_ONCE) for at in range(0, n, _ROWS_AT_ONCE)]


def make_level(labels: AnyArray, terms: Flags) -> tuple[Level, list[Hashable]]:
    """Return the level of some labels, and the names of its groups in order."""
    names = sorted(dict.fromkeys(labels.tolist()), key=lambda name: (str(type(name)), name))
    place = {name: number for number, name in enumerate(names)}
    groups = np.array([place[label] for label in labels.tolist()], dtype=np.intp)
    return Level(groups, terms), names
