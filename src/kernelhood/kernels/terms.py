"""The terms of an additive model, fitted to the columns of a table.

Every column of numbers has a straight line, a smooth curve of two widths and, if it has few values,
a level for each of them; a category has a level for each of its own; all columns together have a
linear function and smooth ones. Most terms have few features; `Radial` has a kernel matrix.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from kernelhood._typing import Array, Flags, Indices
from kernelhood.kernels.base import off_the_median
from kernelhood.kernels.columns import (
    CategoryColumn,
    Column,
    DateColumn,
    LeftOut,
    NumberColumn,
    from_plain,
    labels,
    learn_column,
    to_plain,
)
from kernelhood.kernels.inputs import median_distance
from kernelhood.kernels.standard import directions

#: Spreads of curves on single columns and on all of them, in median distances.
_COLUMN_SPREADS = (0.5, 2.0)
_SPREADS = (0.5, 1.0, 2.0)
#: A column of numbers with at most so many values has a level for each.
_MOST_VALUES = 60
#: With more columns than these, each has fewer terms, or none of its own.
_SOME_COLUMNS, _MANY_COLUMNS = 40, 150
_LANDMARKS = 48
#: Distances between rows of so many features are faster by matrix products.
_WIDE = 4
_RANK = 1e-7
_COMPARED = 400
_DIGITS = 9
#: From so many columns on, most of them mostly one value, rows are compared by directions, too.
_WORDS = 16
#: Points of a circle: the year, the week, the day.
_CIRCLE = 24


@dataclass(frozen=True, eq=False)
class Straight:
    """A linear function of some features of the table.

    Attributes
    ----------
    name : str
        What a user reads.
    places : ndarray of int
        The features.
    """

    name: str
    places: Indices

    def features(self, E: Array) -> Array:
        """Return them, of shape (n_rows, n_places)."""
        return np.asarray(E[:, self.places])


@dataclass(frozen=True, eq=False)
class Levels:
    """A level for each of the values of a column of numbers.

    Attributes
    ----------
    name : str
        What a user reads.
    places : ndarray of int
        The feature.
    values : ndarray of shape (n_values,)
        Its values, ascending and rounded.
    """

    name: str
    places: Indices
    values: Array

    def features(self, E: Array) -> Array:
        """Return indicators of the values, of shape (n_rows, n_values)."""
        own = np.round(E[:, self.places], _DIGITS)
        return np.asarray(own == self.values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Smooth:
    """A curve: a Gaussian kernel of few features, by its values at landmarks.

    Attributes
    ----------
    name : str
        What a user reads.
    places : ndarray of int
        The features.
    spread : float
        Of the Gaussian.
    landmarks : ndarray of shape (n_landmarks, n_places)
        Points of the feature space.
    basis : ndarray of shape (n_landmarks, rank)
        From values at landmarks to features.
    """

    name: str
    places: Indices
    spread: float
    landmarks: Array
    basis: Array

    @classmethod
    def of(cls, name: str, places: Indices, spread: float, landmarks: Array) -> Smooth:
        """Return the curve with a spread."""
        basis = _root_of_inverse(_gaussian(landmarks, landmarks, spread))
        return cls(name, places, spread, landmarks, basis)

    def features(self, E: Array) -> Array:
        """Return features whose products are the kernel, of shape (n_rows, rank)."""
        return _gaussian(E[:, self.places], self.landmarks, self.spread) @ self.basis


@dataclass(frozen=True, eq=False)
class Radial:
    """A smooth function of many features: a Gaussian kernel without features of its own.

    Attributes
    ----------
    name : str
        What a user reads.
    places : ndarray of int
        The features of the table.
    factor : ndarray of shape (n_places,)
        What they are multiplied with.
    spread : float
        Of the Gaussian.
    directions : bool
        Whether rows are divided by their length first.
    """

    name: str
    places: Indices
    factor: Array
    spread: float
    directions: bool

    def matrix(self, E: Array, other: Array) -> Array:
        """Return the kernel matrix, of shape (n_rows, n_other)."""
        return _gaussian(self._rows(E), self._rows(other), self.spread)

    def _rows(self, E: Array) -> Array:
        found = E[:, self.places] * self.factor
        return np.asarray(directions(found)) if self.directions else found


@dataclass(frozen=True, eq=False)
class Landmarked:
    """A smooth function of many features, by its values at landmarks.

    Attributes
    ----------
    radial : Radial
        The function.
    landmarks : ndarray of shape (n_landmarks, n_features)
        Encoded rows.
    basis : ndarray of shape (n_landmarks, rank)
        From values at landmarks to features.
    """

    radial: Radial
    landmarks: Array
    basis: Array

    @property
    def name(self) -> str:
        """What a user reads."""
        return self.radial.name

    @property
    def places(self) -> Indices:
        """The features of the table."""
        return self.radial.places

    def features(self, E: Array) -> Array:
        """Return features whose products are nearly the kernel, of shape (n_rows, rank)."""
        if not len(self.landmarks):
            return np.empty((len(E), 0))
        return self.values(E) @ self.basis

    def values(self, E: Array) -> Array:
        """Return the kernels of rows and landmarks, of shape (n_rows, n_landmarks)."""
        return self.radial.matrix(E, self.landmarks)


Term = Straight | Levels | Smooth | Landmarked


class TermBank:
    """Terms for the columns of a table, fitted to its training rows.

    Attributes
    ----------
    columns : list
        How each column is treated.
    terms : list of Straight, Levels, Smooth or Landmarked
        Those with features.
    radial : list of Radial
        The others.
    low, high : ndarray of shape (n_features,)
        The training range of features that are numbers; infinite for the others.
    """

    def __init__(self, X: Any, names: Sequence[str]) -> None:
        self.columns: list[Column] = _learned(X, names)
        E = self._encoded(X)
        self.low, self.high = self._ranges(E)
        self.terms: list[Term] = []
        self.radial: list[Radial] = []
        self._add_terms(E)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "columns": json.dumps(to_plain(self.columns))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, columns=from_plain(json.loads(state["columns"])))

    @property
    def names(self) -> list[str]:
        """The names of all terms, of the intercept first."""
        return ["level", *(one.name for one in [*self.terms, *self.radial])]

    @property
    def of_all_columns(self) -> Flags:
        """Which terms are functions of all columns together, of shape (n_terms,)."""
        count = sum(not isinstance(one, LeftOut) for one in self.columns)
        last = sum(not isinstance(one, Landmarked) for one in self.terms)
        return np.arange(len(self.names)) > (last - 1 if count >= 2 else last)

    @property
    def approximated(self) -> Flags:
        """Which terms have features at landmarks only, of shape (n_terms,)."""
        return np.array([False, *(isinstance(one, Landmarked) for one in self.terms)])

    @property
    def n_features(self) -> int:
        """How many features there are of all terms that have some."""
        return int(self.features(np.zeros((1, len(self.low))))[1].sum())

    @property
    def n_landmarks(self) -> int:
        """How many landmarks functions of all columns have; 0 without any."""
        return max(
            (len(one.landmarks) for one in self.terms if isinstance(one, Landmarked)), default=0
        )

    def at_landmarks(self, landmarks: Array, wanted: Flags) -> TermBank:
        """Return the bank with features for all terms.

        Parameters
        ----------
        landmarks : ndarray of shape (n_landmarks, n_features)
            Encoded rows, where functions of all columns are known.
        wanted : ndarray of bool, shape (n_terms,)
            The terms that are wanted; other functions of all columns get no features.
        """
        found, first = copy(self), len(self.terms) + 1
        found.terms, found.radial = list(self.terms), []
        for place, one in enumerate(self.radial, start=first):
            own = landmarks if wanted[place] else landmarks[:0]
            K = one.matrix(own, own) if len(own) else np.empty((0, 0))
            found.terms.append(Landmarked(one, own, _root_of_inverse(K)))
        return found

    def encode(self, X: Any) -> Array:
        """Return the features of rows, of shape (n_rows, n_features)."""
        return _softened(self._encoded(X), self.low, self.high)

    @property
    def numbers(self) -> Indices:
        """The features that have a range."""
        return np.flatnonzero(np.isfinite(self.low))

    def outside(self, X: Any) -> dict[str, float]:
        """Return for every column in how many rows it is beyond its range by half of that."""
        E, found = self._encoded(X), {}
        for at, one in self._placed():
            if isinstance(one, NumberColumn | DateColumn):
                half = 0.5 * (self.high[at] - self.low[at])
                far = (E[:, at] > self.high[at] + half) | (E[:, at] < self.low[at] - half)
                found[one.name] = float(np.mean(far))
        return found

    def _placed(self) -> Iterator[tuple[int, Column]]:
        """Yield every column with the place of its first feature."""
        at = 0
        for one in self.columns:
            yield at, one
            at += len(one.features)

    def features(self, E: Array, used: Flags | None = None) -> tuple[Array, Indices]:
        """Return the features of the intercept and of all terms, and how many each has.

        Parameters
        ----------
        E : ndarray of shape (n_rows, n_features)
            Encoded rows.
        used : ndarray of bool, shape (n_terms,), optional
            The terms that are wanted, the intercept first; others have no features.
        """
        none = np.empty((len(E), 0))
        parts = [np.ones((len(E), 1)) if used is None or used[0] else none]
        for place, one in enumerate(self.terms, start=1):
            parts.append(one.features(E) if used is None or used[place] else none)
        return np.hstack(parts), np.array([part.shape[1] for part in parts], dtype=np.intp)

    def _encoded(self, X: Any) -> Array:
        if not hasattr(X, "columns"):
            right = np.zeros(len(X), dtype=bool)
            parts = [
                one.encode(None, (X[:, place], right))
                for place, one in enumerate(self.columns)
                if isinstance(one, NumberColumn)
            ]
        else:
            parts = [
                one.encode(X.iloc[:, place])
                for place, one in enumerate(self.columns)
                if not isinstance(one, LeftOut)
            ]
        return np.hstack(parts) if parts else np.empty((len(X), 0))

    def _ranges(self, E: Array) -> tuple[Array, Array]:
        low, high = np.full(E.shape[1], -np.inf), np.full(E.shape[1], np.inf)
        for at, one in self._placed():
            if isinstance(one, NumberColumn | DateColumn):
                low[at], high[at] = E[:, at].min(), E[:, at].max()
        return low, high

    def _add_terms(self, E: Array) -> None:
        count = sum(not isinstance(one, LeftOut) for one in self.columns)
        spreads = _COLUMN_SPREADS if count <= _SOME_COLUMNS else (1.0,)
        for at, one in self._placed():
            if count <= _MANY_COLUMNS and one.features:
                self._add_column(one, at, E, spreads)
        if count >= 2:
            self._add_all(E, np.arange(E.shape[1]))

    def _add_column(self, one: Column, at: int, E: Array, spreads: Sequence[float]) -> None:
        """Add the terms of one column, whose features begin at a place."""
        if isinstance(one, CategoryColumn):
            self.terms.append(Straight(one.name, np.arange(at, at + len(one.features))))
            return
        place = np.array([at])
        self.terms.append(Straight(f"{one.name} (linear)", place))
        values = np.unique(np.round(E[:, at], _DIGITS))
        if len(values) > 2:
            distance = median_distance(_some(values)[:, None])
            for spread in spreads:
                name = f"{one.name} (curve)" if spread >= 1.0 else f"{one.name} (fine curve)"
                landmarks = _landmarks(values)[:, None]
                self.terms.append(Smooth.of(name, place, spread * distance, landmarks))
            if len(values) <= min(_MOST_VALUES, len(E) // 2):
                self.terms.append(Levels(f"{one.name} (as category)", place, values))
        if isinstance(one, DateColumn):
            for number, cycle in enumerate(one.cycles):
                angle = 2.0 * np.pi * np.arange(_CIRCLE) / _CIRCLE
                circle = np.column_stack([np.sin(angle), np.cos(angle)])
                two = at + 1 + 2 * number + np.arange(2)
                self.terms.append(Smooth.of(f"{one.name} ({cycle})", two, 0.7, circle))
        if one.indicator:  # type: ignore[union-attr]
            last = at + len(one.features) - 1
            self.terms.append(Straight(f"{one.name} (missing)", np.array([last])))

    def _add_all(self, E: Array, places: Indices) -> None:
        """Add the terms of all columns together."""
        spread = E.std(axis=0)
        rare = off_the_median(E, np.full(len(E), 1.0 / len(E)))
        factor = np.where(
            spread > 0.0, spread / np.maximum(np.maximum(spread, 0.5 * rare), 1e-300), 1.0
        )
        self.terms.append(Straight("all columns (linear)", places))
        rows = E[np.linspace(0, len(E) - 1, min(len(E), _COMPARED)).astype(int)] * factor
        kinds = [("all columns", False, median_distance(rows))]
        mostly_one = 0.5 * rare > (1.0 + 1e-9) * spread
        if len(places) >= _WORDS and 2 * int(mostly_one.sum()) > len(places):
            kinds.append(("directions", True, median_distance(directions(rows))))
        for label, by_direction, distance in kinds:
            for one, word in zip(_SPREADS, ("fine ", "", "wide "), strict=True):
                name = f"{label} ({word}surface)"
                self.radial.append(Radial(name, places, factor, one * distance, by_direction))


def _softened(E: Array, low: Array, high: Array) -> Array:
    """Return features that leave their range ever more slowly, and by less than its width.

    Parameters
    ----------
    E : ndarray of shape (n_rows, n_features)
        Features.
    low, high : ndarray of shape (n_features,)
        The range of each, infinite if it has none.
    """
    edge = np.clip(E, low, high)
    width = np.where(high > low, high - low, 1.0)
    width[~np.isfinite(width)] = 1.0
    return np.asarray(edge + (high > low) * width * np.tanh((E - edge) / width))


def _learned(X: Any, names: Sequence[str]) -> list[Column]:
    """Return how each column is treated."""
    if not hasattr(X, "columns"):
        return [_number(name, X[:, place]) for place, name in enumerate(names)]
    found = []
    for name, (_, column) in zip(names, X.items(), strict=True):
        one = learn_column(name, column)
        if isinstance(one, CategoryColumn):
            one = CategoryColumn.learned(name, labels(column), most=None)
        found.append(one)
    return found


def _number(name: str, values: Array) -> Column:
    known = values[~np.isnan(values)]
    if not len(known) or (len(known) == len(values) and np.ptp(known) == 0.0):
        return LeftOut(name, "it has one value")
    return NumberColumn.learned(name, values)


def _root_of_inverse(K: Array) -> Array:
    """Return what turns values at landmarks into features, of shape (n_landmarks, rank)."""
    if not len(K):
        return K
    values, vectors = np.linalg.eigh(K)
    kept = values > _RANK * values.max(initial=0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _gaussian(X: Array, Z: Array, spread: float) -> Array:
    shrink = -0.5 / spread**2
    if X.shape[1] < _WIDE:
        return np.asarray(np.exp(cdist(X, Z, "sqeuclidean") * shrink))
    # One product has the squares of both in it.
    centre = Z.mean(axis=0)
    X, Z, one = X - centre, Z - centre, np.ones(max(len(X), len(Z)))
    left = np.column_stack([X, np.sum(X**2, axis=1), one[: len(X)]])
    right = np.column_stack([-2.0 * Z, one[: len(Z)], np.sum(Z**2, axis=1)])
    found = left @ (shrink * right).T
    return np.exp(np.minimum(found, 0.0, out=found), out=found)


def _some(values: Array) -> Array:
    return np.asarray(values[np.linspace(0, len(values) - 1, min(len(values), 200)).astype(int)])


def _landmarks(values: Array) -> Array:
    """Return points that stand for the values: all, or as many quantiles as places in the range."""
    if len(values) <= _LANDMARKS:
        return values
    share = np.linspace(0.0, 1.0, _LANDMARKS // 2)
    even = np.linspace(values[0], values[-1], _LANDMARKS // 2)
    return np.unique(np.concatenate([np.quantile(values, share), even]))
