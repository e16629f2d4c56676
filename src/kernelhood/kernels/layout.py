"""Where the columns of a table stand in a bank that is fitted to it, and how far rows are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr
from scipy.spatial.distance import pdist

from kernelhood._typing import Array, Flags, Indices
from kernelhood.kernels.composed import directions
from kernelhood.kernels.inputs import Coded, FittedInputs, InputSummary

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
        """The same, with None where there are no others, so that nothing has to be taken out."""
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
