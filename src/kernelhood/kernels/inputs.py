"""Where the columns of a table stand in a bank that is fitted to it, and how far rows are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.spatial.distance import pdist

from kernelhood._typing import Array, Flags, Indices
from kernelhood.kernels.base import column_moments, off_the_median
from kernelhood.kernels.standard import directions

Places = tuple[int, ...]

_MOST_INDICATORS = 20
_MOST_COMPARED = 2000
_DIGITS = 9
_MANY = 16
_ROUNDED = 1e-9


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of the fitted inputs.

    Attributes
    ----------
    summary : InputSummary
        What there is to know of the training rows.
    inputs : FittedInputs
        What is done to them.
    """

    summary: InputSummary
    inputs: FittedInputs

    @classmethod
    def of(cls, summary: InputSummary, categorical: Sequence[int]) -> Layout:
        """Lay out the columns of training rows.

        Parameters
        ----------
        summary : InputSummary
            What there is to know of them.
        categorical : sequence of int
            Columns that hold categories, beside those that are coded.
        """
        varies = summary.scale > 0.0
        kinds = sorted(set(summary.coded) | set(categorical))
        codes = [_coded(summary, column) for column in kinds if varies[column]]
        numbers = np.setdiff1d(np.flatnonzero(varies), np.array(kinds, dtype=np.intp))
        # So that a row has the square norm 1 on average, whatever the number of columns.
        ratio = summary.scale[numbers] / summary.size[numbers]
        share = 1.0 / np.sqrt(float(ratio @ ratio) + len(codes) or 1.0)
        inputs = FittedInputs(
            numbers,
            summary.mean[numbers],
            share / summary.size[numbers],
            tuple(Coded(c.column, c.fill, c.values, share * c.factor, c.numbered) for c in codes),
            tuple(np.flatnonzero(summary.missing).tolist()),
        )
        return cls(summary, inputs)

    @cached_property
    def rows(self) -> Array:
        """The sample of rows as the kernels see them, with none for a sparse matrix."""
        rows = self.summary.rows
        return np.asarray(
            self.inputs(np.empty((0, len(self.summary.mean))) if rows is None else rows)
        )

    @property
    def n_numbers(self) -> int:
        """How many columns hold numbers."""
        return len(self.inputs.columns)

    @property
    def first_code(self) -> int:
        """Where the columns of categories begin, behind numbers and indicators."""
        return self.n_numbers + sum(len(one.values) for one in self.inputs.codes)

    @property
    def everything(self) -> Places:
        """The columns of numbers and indicators."""
        return tuple(range(self.first_code))

    @property
    def whole(self) -> Places | None:
        """The same, with None if there are no others, so that nothing has to be taken out."""
        alone = not self.inputs.codes and not self.inputs.flags
        return None if alone else self.everything

    def of_columns(self, columns: Sequence[int]) -> Places:
        """Return the numbers and indicators of some columns of the table."""
        where = np.flatnonzero(np.isin(self.inputs.columns, columns)).tolist()
        at = self.n_numbers
        for one in self.inputs.codes:
            if one.column in columns:
                where += range(at, at + len(one.values))
            at += len(one.values)
        return tuple(where)

    def distance(self, places: Places) -> float:
        """Return the median distance of different rows in some columns.

        For a sparse matrix it is the root of the mean square distance.
        """
        if self.summary.is_sparse:
            return float(np.sqrt(2.0) * np.linalg.norm(self.spread[list(places)]))
        rows = self.rows[:, list(places)]
        if len(places) == 1:
            rows = np.unique(rows)[:, None]
        return median_distance(rows)

    @property
    def angular_distance(self) -> float:
        """The median distance of the directions of different rows.

        For a sparse matrix it is that of directions at right angles, as most texts are.
        """
        if self.summary.is_sparse:
            return float(np.sqrt(2.0))
        return median_distance(directions(self.rows[:, list(self.everything)]))

    @property
    def is_sparse(self) -> bool:
        """Whether there are many columns, most of which mostly have one value.

        These are words, pixels, answers or products: what a row is about is told by its direction,
        how much there is of it by its length.
        """
        return self.n_numbers >= _MANY and 2 * int(np.sum(self.rare)) > self.n_numbers

    @cached_property
    def rare(self) -> Flags:
        """Whether a column of numbers mostly has one value."""
        larger = self.summary.size > (1.0 + _ROUNDED) * self.summary.scale
        return np.asarray(larger[self.inputs.columns])

    @property
    def spread(self) -> Array:
        """The standard deviation of every column of numbers."""
        return np.asarray(self.inputs.factor * self.summary.scale[self.inputs.columns])

    def is_binary(self, place: int) -> bool:
        """Return whether a column of numbers has two values only."""
        return len(np.unique(self.rows[:, place])) <= 2

    @cached_property
    def different(self) -> Indices:
        """The columns of numbers without those that are multiples of an earlier one."""
        known: dict[bytes, int] = {}
        for place, column in enumerate(self.rows[:, : self.n_numbers].T):
            sign = np.sign(column[np.argmax(np.abs(column) > 0.1 * np.abs(column).max())])
            rounded = np.round(sign * column / self.spread[place], _DIGITS) + 0.0
            known.setdefault(rounded.tobytes(), place)
        return np.array(sorted(known.values()), dtype=np.intp)

    def least_alike(self, columns: Indices) -> Indices:
        """Return columns in the order of a pivoted QR decomposition: each is least like before."""
        some = columns[:_MOST_COMPARED]
        order = qr(self.rows[:, some], mode="r", pivoting=True)[1]
        return np.asarray(some[order])


def median_distance(rows: Array) -> float:
    """Return the median distance of rows that are apart."""
    apart = pdist(rows)
    apart = apart[apart > 0.0]
    return float(np.median(apart)) if len(apart) else 1.0


def _coded(summary: InputSummary, column: int) -> Coded:
    """Return a column of categories with its most frequent values."""
    assert summary.rows is not None
    own = summary.rows[:, column]
    values, counts = np.unique(own[~np.isnan(own)], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MOST_INDICATORS]
    shares = counts[order] / counts.sum()
    spread = max(1.0 - float(shares @ shares), 1e-3)
    fill, chosen = float(values[order[0]]), np.sort(values[order])
    return Coded(column, fill, chosen, 1.0 / np.sqrt(spread), column in summary.coded)


#: The rows at which distances are looked at, and those among which they are chosen.
_SAMPLE, _LOOKED_AT = 400, 4000


@dataclass(frozen=True, eq=False)
class InputSummary:
    """The columns of the training rows of all tasks.

    Everything is the same in any order of the rows, and for a row of weight two as for the row
    given twice, as long as there are at most 4000 rows.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_features,)
        Mean and standard deviation of each column, missing values left out. The scale is 0 if
        the column is constant. Of a sparse matrix the mean is 0: it is not centred.
    size : ndarray of shape (n_features,)
        What a column is divided by. It is the standard deviation, but larger if most values are
        one and the same: half the root mean square of how far the others are from that one. So a
        word that is in a few texts counts less than one that is in half of them.
    rows : ndarray of shape (n_rows, n_features), or None for a sparse matrix
        Different rows, 400 at most.
    missing : ndarray of bool, shape (n_features,)
        Whether a column has missing values.
    coded : tuple of int
        The columns that hold numbers of categories, -1 for an unknown one.
    names : tuple of str, or None
        Names of the columns.
    """

    mean: Array
    scale: Array
    size: Array
    rows: Array | None
    missing: Flags
    coded: tuple[int, ...] = ()
    names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        sample_weight: Array,
        *,
        coded: Sequence[int] = (),
        names: Sequence[str] | None = None,
    ) -> InputSummary:
        """Look at the training rows.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows; NaN is missing.
        sample_weight : ndarray of shape (n_samples,)
            How often each counts.
        coded : sequence of int
            The columns that hold numbers of categories.
        names : sequence of str, optional
            Names of the columns.
        """
        known = None if names is None else tuple(map(str, names))
        share = sample_weight / sample_weight.sum()
        if sparse.issparse(X):
            mean = np.asarray(X.T @ share).ravel()
            squares = np.asarray(X.multiply(X).T @ share).ravel()
            spread = np.maximum(squares - mean * mean, 0.0)
            scale = np.where(spread > 1e-14 * squares, np.sqrt(spread), 0.0)
            flags, zero = np.zeros(X.shape[1], dtype=np.bool_), np.zeros(X.shape[1])
            others = np.asarray((X != 0).T @ share).ravel()
            far = np.sqrt(squares / np.where(others > 0.0, others, 1.0))
            size = np.where(others < 0.5, np.maximum(scale, 0.5 * far), scale)
            return cls(zero, scale, size, None, flags, tuple(coded), known)
        mean, scale, absent = column_moments(X, share)
        step = -(-X.shape[0] // _LOOKED_AT)
        size = np.maximum(scale, 0.5 * off_the_median(X[::step], share[::step]))
        return cls(mean, scale, size, _some_rows(X), absent, tuple(coded), known)

    @classmethod
    def of_tasks(
        cls,
        X: Any,
        rows: Sequence[Indices],
        sample_weight: Sequence[Array],
        *,
        coded: Sequence[int],
        names: Sequence[str] | None,
    ) -> InputSummary:
        """Look at the rows of all tasks, each of which may belong to several.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            All rows.
        rows : sequence of ndarray of int
            Those of each task that train.
        sample_weight : sequence of ndarray
            How often each of these counts.
        coded, names
            As for `of`.
        """
        counts = np.zeros(X.shape[0])
        for own, weight in zip(rows, sample_weight, strict=True):
            np.add.at(counts, own, weight)
        used = np.flatnonzero(counts)
        return cls.of(X[used], counts[used], coded=coded, names=names)

    @classmethod
    def of_names(cls, names: Sequence[str] | None) -> InputSummary:
        """Return what is known without looking at any row: the names of the columns, if that."""
        known = None if names is None else tuple(map(str, names))
        empty, flags = np.empty(0), np.empty(0, dtype=np.bool_)
        return cls(empty, empty, empty, None, flags, names=known)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are those of a sparse matrix."""
        return self.rows is None

    def label(self, column: int) -> str:
        """Return the name of a column, or its number."""
        return str(column) if self.names is None else self.names[column]

    def number(self, column: int | str) -> int:
        """Return the number of a column that is given by name or number."""
        if isinstance(column, str):
            if self.names is None or column not in self.names:
                known = "the data has no column names" if self.names is None else list(self.names)
                raise ValueError(f"columns names {column!r}, which is not a feature: {known}.")
            return self.names.index(column)
        if not 0 <= int(column) < len(self.mean):
            raise ValueError(f"columns holds {column}, but there are {len(self.mean)} features.")
        return int(column)


def _some_rows(X: Array) -> Array:
    """Return different rows in an order of their own."""
    step = -(-X.shape[0] // _LOOKED_AT)
    different = np.unique(X[::step], axis=0)
    chosen = np.linspace(0, len(different) - 1, min(len(different), _SAMPLE)).round().astype(int)
    return np.asarray(different[chosen], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of categories.

    Attributes
    ----------
    column : int
        The column.
    fill : float
        What stands for a missing value.
    values : ndarray of shape (n_values,)
        The categories that have an indicator of their own.
    factor : float
        What an indicator is multiplied with.
    numbered : bool
        Whether it holds numbers of categories, -1 for an unknown one.
    """

    column: int
    fill: float
    values: Array
    factor: float
    numbered: bool = False

    def filled(self, X: Array) -> Array:
        """Return the column without missing values."""
        own = X[:, self.column]
        return np.where(np.isnan(own), self.fill, own)

    def known(self, filled: Array) -> Array:
        """Return the column with NaN, which equals nothing, for unknown categories."""
        return np.where(filled < 0.0, np.nan, filled) if self.numbered else filled


@dataclass(frozen=True, eq=False)
class FittedInputs:
    """Rows as the kernels of a bank see them.

    The columns are, in this order: numbers, shifted and scaled; indicators of categories; one
    column for each of `codes`, the category; one for each of `flags`, whether the value is missing.
    A missing number is the mean, a missing category the most frequent one.

    Attributes
    ----------
    columns : ndarray of int, shape (n_numbers,)
        The columns that hold numbers.
    shift, factor : ndarray of shape (n_numbers,)
        What is taken off them, and what they are then multiplied with.
    codes : tuple of Coded
        The columns that hold categories.
    flags : tuple of int
        The columns with an indicator of missing values.
    """

    columns: Indices
    shift: Array
    factor: Array
    codes: tuple[Coded, ...] = ()
    flags: tuple[int, ...] = ()

    def __call__(self, X: Any) -> Any:
        """Return the rows as the kernels see them.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            Rows as the user gives them, categories numbered.
        """
        if sparse.issparse(X):
            if not self.shift.any() and not self.codes and not self.flags:
                scaled = X.tocsr()[:, self.columns].multiply(self.factor)
                return scaled.tocsr()
            X = X.toarray()
        numbers = (X[:, self.columns] - self.shift) * self.factor
        absent = np.isnan(numbers)
        if absent.any():
            numbers[absent] = 0.0
        if not self.codes and not self.flags:
            return numbers
        filled = [(one, one.filled(X)) for one in self.codes]
        indicators = [one.factor * (own[:, None] == one.values) for one, own in filled]
        known = [one.known(own)[:, None] for one, own in filled]
        flags = np.isnan(X[:, list(self.flags)]).astype(np.float64)
        return np.hstack([numbers, *indicators, *known, flags])

    def comparable(self, X: Any) -> Any:
        """Return the numbers and the indicators of categories, between which distances make sense.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            Rows as the user gives them, categories numbered.
        """
        return self(X)[:, : len(self.columns) + sum(len(one.values) for one in self.codes)]


@dataclass(frozen=True, eq=False)
class ImputedInputs:
    """Rows as given, with the mean for missing values, and columns that say which are missing.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Of each column.
    flags : tuple of int
        The columns with an indicator of missing values.
    """

    mean: Array
    flags: tuple[int, ...]

    def __call__(self, X: Array) -> Array:
        """Return the rows with indicators behind their columns."""
        return np.hstack([self.comparable(X), np.isnan(X[:, list(self.flags)])])

    def comparable(self, X: Array) -> Array:
        """Return the rows with the mean for missing values."""
        return np.where(np.isnan(X), self.mean, X)
