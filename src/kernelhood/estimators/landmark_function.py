"""Models of many rows: what is learned from some of them, then from all by landmarks."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from kernelhood._typing import Array, Flags, Indices
from kernelhood.estimators.additive import AdditiveFunction, Scaled, varies_within
from kernelhood.estimators.model_choice import Fit
from kernelhood.kernels.terms import Landmarked, Straight
from kernelhood.parallel import Advance, be_silent
from kernelhood.solvers.gaussian import Factor, Level, Point, Terms, maximise_evidence
from kernelhood.solvers.likelihoods import Found
from kernelhood.solvers.many_rows import BlockFactor, ManyRows

#: Rows among which landmarks are chosen, and the most landmarks.
_LOOKED_AT, _MOST = 3_000, 600
#: Landmarks are enough if they miss less than this of the variance of the noise.
_ENOUGH = 0.01
#: Weights are learned from so many rows before all are used.
_LEARNED = 6_000
#: Covariances of so many rows; and of all, until their gap is that of weights from fewer rows.
_STEPS, _LAST_STEPS, _CLOSE = 12, 6, 0.02
#: How close the weights of the linear model are, and the most features that it may have.
_ROUGHLY, _MOST_LINEAR = 0.01, 300
#: Features of terms that few rows did without, and that more rows are asked about.
_CHEAP = 300
#: Weights that few rows have taken to zero start here, to be able to come back.
_REVIVED = 1e-4
#: The surface that more rows are asked about if few have none: neither the fine nor the wide one.
_MIDDLE = 1
_ROWS_AT_ONCE = 4096
#: Matrices between all rows that a dense fit holds beside those of the kernels.
_MATRICES = 6
#: Copies of the features of all rows, and what they may take of the memory that is free.
_COPIES, _SHARE_OF_MEMORY = 3, 0.5


def some_rows(task: Indices, occasion: Indices | None, most: int) -> Indices:
    """Return some of the rows: as many tasks as rows of each, or all rows of some occasions.

    Parameters
    ----------
    task : ndarray of int, shape (n,)
        The task of every row; rows of a task are next to each other.
    occasion : ndarray of int, shape (n,), or None
        Its occasion.
    most : int
        How many rows, about.

    Examples
    --------
    >>> some_rows(np.repeat(np.arange(100), 100), None, 400).shape
    (400,)
    >>> some_rows(np.arange(4), None, 400).tolist()
    [0, 1, 2, 3]
    """
    n = len(task)
    if n <= most:
        return np.arange(n)
    if occasion is not None:
        count = int(occasion.max()) + 1
        kept = np.unique(np.linspace(0, count - 1, max(most * count // n, 2)).astype(np.intp))
        among = np.flatnonzero(np.isin(occasion, kept))
        return among[:: -(-len(among) // most)]
    starts = np.flatnonzero(np.diff(task, prepend=-1))
    sizes = np.diff(np.append(starts, n))
    each = max(int(np.sqrt(most)), most // len(starts))
    order = np.argsort(sizes, kind="stable")
    held = np.cumsum(np.minimum(sizes, each)[order])
    count = max(round(len(order) * most / float(held[-1])), 1)
    chosen = order[
        np.unique(np.linspace(0, len(order) - 1, min(count, len(order))).astype(np.intp))
    ]
    parts = [
        starts[one]
        + np.unique(np.linspace(0, sizes[one] - 1, min(sizes[one], each)).astype(np.intp))
        for one in np.sort(chosen)
    ]
    return np.concatenate(parts)


class Learned(NamedTuple):
    """What some of the rows have taught.

    Attributes
    ----------
    found : Found
        The model of these rows.
    scaled : Scaled
        The terms.
    kept : list of int
        The levels that it uses.
    """

    found: Found
    scaled: Scaled
    kept: list[int]


def choose_landmarks(scaled: Scaled, weights: Array, noise: float, E: Array, most: int) -> Array:
    """Return landmarks for the functions of all columns that have a weight.

    The next landmark is the row of which those before leave most of the functions' variance.

    Parameters
    ----------
    scaled : Scaled
        The terms.
    weights : ndarray of shape (n_levels, n_terms)
        Their variances.
    noise : float
        The variance of the noise. If landmarks miss a hundredth of it on average, they are enough.
    E : ndarray of shape (n, n_features)
        Encoded rows.
    most : int
        The largest number of landmarks.
    """
    E = E[np.unique(np.linspace(0, len(E) - 1, min(len(E), _LOOKED_AT)).astype(np.intp))]
    first = len(scaled.bank.terms) + 1
    size = weights.sum(axis=0)[first:] / scaled.scale[first:]
    used = np.flatnonzero(size)
    left = np.full(len(E), size.sum())
    rows: list[int] = []
    most = min(most, len(E))
    factor = np.empty((most, len(E)))
    while len(rows) < most and left.mean() > _ENOUGH * noise:
        one = int(left.argmax())
        if left[one] <= 1e-9 * size.sum():
            break
        K = sum(size[m] * scaled.bank.radial[m].matrix(E[[one]], E)[0] for m in used)
        known = factor[: len(rows)]
        column = factor[len(rows)] = (K - known[:, one] @ known) / np.sqrt(left[one])
        left = np.maximum(left - column**2, 0.0)
        left[one] = 0.0
        rows.append(one)
    return E[np.sort(np.array(rows, dtype=np.intp))]


class ManyRowsData(NamedTuple):
    """All rows, as the solver sees them.

    Attributes
    ----------
    E : ndarray of shape (n, n_features)
        Encoded rows.
    levels : list of Level
        Their groups.
    z, noise : ndarray of shape (n, n_targets), (n, 1) or (n, n_targets)
        Targets, and what the variance of the noise is multiplied with.
    own : int
        The level of the tasks.
    advance : callable, optional
        Told how many rows a covariance has whenever one is factorised.
    """

    E: Array
    levels: list[Level]
    z: Array
    noise: Array
    own: int
    advance: Advance = be_silent

    def model(self, scaled: Scaled, flags: Sequence[Flags], tau: float, some: Indices) -> ManyRows:
        """Return the model of some of the rows, with some of the terms on every level."""
        used = np.any(flags, axis=0)
        whole = len(some) == len(self.E)
        E = self.E if whole else self.E[some]
        features, sizes = _all_features(scaled, E, used)
        terms = Terms(features, sizes, np.empty((0, len(E), len(E))), self.advance)
        levels = [
            Level(level.groups if whole else level.groups[some], own)
            for level, own in zip(self.levels, flags, strict=True)
        ]
        z, noise = (self.z, self.noise) if whole else (self.z[some], self.noise[some])
        left = _missed(scaled, features, sizes)
        return ManyRows(terms, levels, z, noise, tau, self.own, left)


def learn_from_all(
    learned: Learned, rows: ManyRowsData, fit: Fit, tol: float, most: int
) -> Learned:
    """Return the model of all rows.

    Weights that few rows have found are learned from more of them, together with those of the
    curves of single columns that all tasks have in common, and then take a step with all rows.
    Weights of logits stay what they are.

    Parameters
    ----------
    learned : Learned
        What some of the rows have taught.
    rows : Rows
        All rows.
    fit : callable
        The likelihood.
    tol : float
        Relative gap to reach.
    most : int
        The largest number of landmarks.
    """
    point, scaled = learned.found.point, learned.scaled
    model, theta, n_iter = point.model, point.theta, learned.found.n_iter
    weights, everything = model.by_level(theta), np.arange(len(rows.E))
    if not model.fixed_noise:
        weights = _with_a_surface(weights, scaled, float(theta[-1]))
    landmarks = choose_landmarks(scaled, weights, float(theta[-1]), rows.E, most)
    bank = scaled.bank.at_landmarks(landmarks, np.any(weights > 0.0, axis=0))
    scaled = replace(scaled, bank=bank)
    flags = [own > 0.0 for own in weights]
    if model.fixed_noise:
        whole = rows.model(scaled, flags, model.tau, everything)
        found = fit(whole, whole.joined(weights, theta[-1]), tol, _LAST_STEPS)
        return Learned(Found(found.point, n_iter, learned.found.gap), scaled, learned.kept)
    flags[0] = _revived(flags[0], model.levels[0].terms & ~bank.of_all_columns, model.terms.sizes)
    flags[rows.own][0] |= model.levels[rows.own].terms[0]
    occasion = rows.levels[-1].groups if len(rows.levels) - 1 > rows.own else None
    some, limits = some_rows(rows.levels[rows.own].groups, occasion, _LEARNED), (tol, _STEPS)
    if len(some) < len(rows.E):
        more = rows.model(scaled, flags, model.tau, some)
        start = more.joined(np.maximum(weights, _REVIVED), theta[-1])
        found = fit(more, start, tol, _STEPS)
        weights, theta = more.by_level(found.point.theta), found.point.theta
        flags, n_iter = [own > 0.0 for own in weights], n_iter + found.n_iter
        limits = max(tol, _CLOSE), _LAST_STEPS
    whole = rows.model(scaled, flags, model.tau, everything)
    found = fit(whole, whole.joined(np.maximum(weights, _REVIVED), theta[-1]), *limits)
    return Learned(found._replace(n_iter=n_iter + found.n_iter), scaled, learned.kept)


def _with_a_surface(weights: Array, scaled: Scaled, noise: float) -> Array:
    """Return weights with one for a surface if few rows took all it has for noise."""
    first, found = len(scaled.bank.terms) + 1, weights.copy()
    if scaled.bank.radial and not weights[:, first:].any():
        place = first + _MIDDLE
        if np.isfinite(scaled.scale[place]):
            found[0, place] = noise
    return found


def _revived(used: Flags, wanted: Flags, sizes: Indices) -> Flags:
    """Return the terms in use and others that are wanted, small ones first, as many as is cheap."""
    found = used.copy()
    of_terms = np.append(sizes, np.zeros(len(used) - len(sizes), dtype=np.intp))
    others = np.flatnonzero(wanted & ~used)
    others = others[np.argsort(of_terms[others], kind="stable")]
    found[others[np.cumsum(of_terms[others]) <= _CHEAP]] = True
    return found


def _all_features(scaled: Scaled, E: Array, used: Flags) -> tuple[Array, Indices]:
    """Return the features of rows for some terms, and how many each has."""
    sizes = scaled.bank.features(E[:1], used)[1]
    found = np.empty((len(E), int(sizes.sum())))
    ends, root = np.cumsum(sizes), np.sqrt(scaled.scale)
    for begin in range(0, len(E), _ROWS_AT_ONCE):
        at = slice(begin, begin + _ROWS_AT_ONCE)
        for place in np.flatnonzero(sizes).tolist():
            own = found[at, ends[place] - sizes[place] : ends[place]]
            if not place:
                own[:] = 1.0
            elif isinstance(one := scaled.bank.terms[place - 1], Landmarked):
                np.matmul(one.values(E[at]), one.basis / root[place], out=own)
            else:
                np.divide(one.features(E[at]), root[place], out=own)
    return found, sizes


def _missed(scaled: Scaled, features: Array, sizes: Indices) -> Array:
    """Return what landmarks leave of every term's variance at rows, of shape (n, n_terms)."""
    found = np.zeros((len(features), len(sizes)))
    ends = np.cumsum(sizes)
    for place in np.flatnonzero(scaled.bank.approximated & (sizes > 0)):
        own = features[:, ends[place] - sizes[place] : ends[place]]
        kept = np.einsum("ij,ij->i", own, own)
        found[:, place] = np.maximum(1.0 / scaled.scale[place] - kept, 0.0)
    return found


@dataclass(frozen=True, eq=False)
class LandmarkFunction(AdditiveFunction):
    """What is left of a fit to many rows.

    Means need the landmarks and the coefficients only; standard deviations and left-out rows also
    the training rows.

    Attributes
    ----------
    z : ndarray of shape (n, n_targets)
        The targets of the training rows.
    coefficients : list of list of ndarray
        What features are multiplied with, by level and target.
    own : int
        The level of the tasks.
    """

    z: Array
    coefficients: list[list[Array]]
    own: int

    @classmethod
    def of(
        cls,
        scaled: Scaled,
        names: Sequence[Sequence[Hashable]],
        E: Array,
        point: Point,
        slopes: Array | None = None,
    ) -> LandmarkFunction:
        """Return the function of a fitted model."""
        plain = AdditiveFunction.of(scaled, names, E, point, slopes)
        model = point.model
        assert isinstance(model, ManyRows)
        parts = {name: getattr(plain, name) for name in AdditiveFunction.__dataclass_fields__}
        found = cls(**parts, z=model.z, coefficients=_coefficients(point), own=model.own)
        pairs = zip(model.levels, plain.weights > 0.0, strict=True)
        if all(np.array_equal(level.terms, own) for level, own in pairs):
            vars(found)["_factors"] = point.factors
        return found

    @property
    def _coefficients(self) -> list[list[Array]]:
        return self.coefficients

    @property
    def targets(self) -> Array:
        """The targets of the training rows, of shape (n, n_targets)."""
        return self.z

    @cached_property
    def _factors(self) -> list[Factor]:
        """The factors of the training rows."""
        levels = [
            Level(groups, own > 0.0) for groups, own in zip(self.groups, self.weights, strict=True)
        ]
        rows = ManyRowsData(self.E, levels, self.z, self.noise, self.own)
        flags = [level.terms for level in levels]
        model = rows.model(self.scaled, flags, 1.0, np.arange(len(self.E)))
        return model.factors(model.joined(self.weights, 1.0))

    def at_features(self, E: Array, places: Indices) -> Array:
        """Return the functions at encoded rows, of shape (n_rows, n_targets)."""
        surfaces, rest = self._surfaces
        found = AdditiveFunction.at_features(rest, E, places)
        for one, values in surfaces:
            found += one.values(E) @ values
        return found

    @cached_property
    def _surfaces(self) -> tuple[list[tuple[Landmarked, Array]], LandmarkFunction]:
        """Surfaces of the first level only, with what kernels at landmarks count, and the rest."""
        bank, weights = self.scaled.bank, self.weights.copy()
        sizes = bank.features(self.E[:1], self._used)[1]
        owner = np.repeat(np.arange(len(sizes)), sizes * (weights[0, : len(sizes)] > 0.0))
        alone = bank.approximated & (weights[0] > 0.0) & ~weights[1:].any(axis=0)
        found = []
        for place in np.flatnonzero(alone).tolist():
            one = bank.terms[place - 1]
            assert isinstance(one, Landmarked)
            own = np.column_stack([part[0, owner == place] for part in self.coefficients[0]])
            found.append((one, one.basis @ own / np.sqrt(self.scaled.scale[place])))
        weights[0, alone], kept = 0.0, ~alone[owner]
        first = [part[:, kept] for part in self.coefficients[0]]
        return found, replace(self, weights=weights, coefficients=[first, *self.coefficients[1:]])

    def _whole_noise(self, rows: Indices) -> Array:
        features, sizes = _all_features(self.scaled, self.E[rows], self._used)
        missed = _missed(self.scaled, features, sizes) @ self.weights.sum(axis=0)
        return np.asarray(self.noise[rows] + missed[:, None])

    def _order(self, places: Indices) -> Indices:
        return np.argsort(places[self.own], kind="stable")  # a task is solved for once

    def _variance(self, E: Array, places: Indices) -> Array:
        features, sizes = _all_features(self.scaled, E, self._used)
        owner, unknown = np.repeat(np.arange(len(sizes)), sizes), places < 0
        prior = _missed(self.scaled, features, sizes) @ self.weights.sum(axis=0)
        for weights, own in zip(self.weights, unknown, strict=True):
            prior += own * ((features**2) @ weights[owner])
        found = np.empty((len(E), self.a.shape[1]))
        task = places[self.own]
        factors: Sequence[Factor] = self._factors
        for group in np.unique(task).tolist():
            at = np.flatnonzero(task == group)
            columns = [
                one.variances(features[at], places[:, at], group)
                for one in factors
                if isinstance(one, BlockFactor)
            ]
            found[at] = np.column_stack(columns) + prior[at, None]
        return np.maximum(found, 0.0)


def _coefficients(point: Point) -> list[list[Array]]:
    """Return what features are multiplied with, by level and target."""
    model, found = point.model, []
    features, weights = model.terms.features, model.by_level(point.theta)
    for level, own in zip(model.levels, weights[:, model.terms.term_of], strict=True):
        used, n = np.flatnonzero(own), len(features)
        shape, parts = (int(level.groups.max()) + 1, n), []
        for a in point.a.T:
            sums = sparse.csr_matrix((a, (level.groups, np.arange(n))), shape=shape) @ features
            parts.append(sums[:, used] * own[used])
        found.append(parts)
    return found


def learn_slopes(scaled: Scaled, E: Array, point: Point, own: int) -> Array | None:
    """Return slopes that all tasks have in common in a linear model of the same rows.

    Tasks have slopes of their own in that model, too, which are not returned: few rows tell little
    about them.

    Parameters
    ----------
    scaled : Scaled
        The terms of the fit.
    E : ndarray of shape (n, n_features)
        The training rows, encoded.
    point : Point
        What was found with these terms.
    own : int
        The level of the tasks.

    Returns
    -------
    ndarray of shape (n_numbers, n_targets), or None
        None without numbers, with too many features, or if levels are all there is.
    """
    model, bank = point.model, scaled.bank
    linear = np.zeros(len(scaled.scale), dtype=np.bool_)
    linear[1 : len(bank.terms) + 1] = [isinstance(one, Straight) for one in bank.terms]
    linear &= np.isfinite(scaled.scale)
    used = [(number, bank.terms[number - 1]) for number in np.flatnonzero(linear)]
    places = [one.places for _, one in used]
    columns = any(level.terms[1:].any() for level in model.levels)
    if not (columns and used and len(bank.numbers) and sum(map(len, places)) <= _MOST_LINEAR):
        return None
    scaled = replace(scaled, bank=bank.at_landmarks(E[:0], np.zeros_like(linear)))
    some = some_rows(model.levels[own].groups, None, _LEARNED)
    data = ManyRowsData(E, model.levels, model.z, model.noise, own)
    few = data.model(scaled, _linear_flags(scaled, data, linear), model.tau, some)
    few = few.of_logits(model.tau) if model.fixed_noise else few
    found = maximise_evidence(few, few.start(), tol=_ROUGHLY, max_iter=_STEPS)[0]
    slopes = np.zeros((len(bank.low), model.z.shape[1]))
    owner = np.repeat([number for number, _ in used], [len(own) for own in places])
    kept = np.flatnonzero(few.by_level(found.theta)[0][owner])
    size = np.sqrt(scaled.scale[owner[kept]])
    for target, values in enumerate(_coefficients(found)[0]):
        np.add.at(slopes[:, target], np.concatenate(places)[kept], values[0] / size)
    return slopes[bank.numbers]


def _linear_flags(scaled: Scaled, rows: ManyRowsData, linear: Flags) -> list[Flags]:
    """Return the terms of the linear model on every level."""
    features, sizes = _all_features(scaled, rows.E, linear)
    terms, found = Terms(features, sizes, np.empty((0, len(features), len(features)))), []
    for place, level in enumerate(rows.levels):
        has = linear & varies_within(terms, level.groups) & (place <= rows.own)
        has[0] = place > 0
        found.append(has & (place == 0 or int(level.groups.max()) > 0))
    return found


def approximation(point: Point, scaled: Scaled) -> float:
    """Return the share of the variance of functions of all columns that landmarks keep.

    Parameters
    ----------
    point : Point
        The weights of all rows.
    scaled : Scaled
        The terms.
    """
    if not isinstance(point.model, ManyRows):
        return 1.0
    weights = point.model.by_level(point.theta).sum(axis=0) * scaled.bank.approximated
    total = float(np.sum(weights / scaled.scale))
    missed = float(point.model.left.mean(axis=0) @ weights[point.model.missing])
    return 1.0 - missed / total if total > 0.0 else 1.0


def check_dense(n: int, n_matrices: int) -> None:
    """Raise if matrices between all rows do not fit into memory.

    Parameters
    ----------
    n, n_matrices : int
        Rows, and kernel matrices that are held beside those of the solver.
    """
    bytes_, free = 8.0 * n * n * (n_matrices + _MATRICES), _free_memory()
    if bytes_ > free:
        most = int(np.sqrt(free / (8.0 * (n_matrices + _MATRICES))))
        raise MemoryError(
            f"operator='dense' holds matrices between all {n} rows, {bytes_ / 2**30:.1f} GiB, and "
            f"{free / 2**30:.1f} GiB are free: use operator='auto', or at most {most} rows."
        )


def most_landmarks(n: int, n_features: int, count: int | None) -> int:
    """Return how many landmarks fit into memory beside the features of single columns.

    Parameters
    ----------
    n : int
        Rows.
    n_features : int
        Features of single columns that are held.
    count : int, optional
        How many the user wants.
    """
    free = _free_memory()
    room = _SHARE_OF_MEMORY * free / (8.0 * _COPIES)
    fits = int(room / n) - n_features
    if fits < 8 or (count is not None and fits < count):
        rows = int(room / (n_features + (count or 8)))
        raise MemoryError(
            f"X has {n} rows, whose features take more than half of the {free / 2**30:.1f} GiB of "
            f"memory that are free: fit to at most {rows} of them, or to fewer columns."
        )
    return min(_MOST if count is None else count, fits)


def _free_memory() -> float:
    """Return the bytes of memory that are free, or four GiB if the system does not say."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 4.0 * 2**30
