"""How each kind of column becomes numbers: learned from the training rows, visible, kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array
from kernelhood.tables.values import days, labels, numbers

#: Most frequent categories that get a feature of their own.
MOST_LEVELS = 30

#: A column as numbers, and which entries are none.
Read = tuple[Array, AnyArray]

_YEAR, _WEEK = 365.2425, 7.0
_CYCLES = {"year": _YEAR, "week": _WEEK, "day": 1.0}


@dataclass(frozen=True)
class NumberColumn:
    """A number: its median takes the place of missing values, then it is standardised.

    Attributes
    ----------
    name : str
        The column.
    median, mean, spread : float
        Of the training rows; the mean and the standard deviation with the median filled in.
    indicator : bool
        Whether a feature says which values are missing: where the training rows lacked some.
    """

    name: str
    median: float
    mean: float
    spread: float
    indicator: bool

    @classmethod
    def learned(cls, name: str, values: Array) -> NumberColumn:
        """Return the treatment of a column with these training values."""
        absent = np.isnan(values)
        median = float(np.median(values[~absent])) if not absent.all() else 0.0
        mean, spread = _scale(np.where(absent, median, values))
        return cls(name, median, mean, spread, bool(absent.any()))

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.name, *([f"{self.name} missing"] if self.indicator else [])]

    def encode(self, column: Any, read: Read | None = None) -> Array:
        """Return the features of shape (n_rows, n_features)."""
        values, wrong = numbers(column) if read is None else read
        refuse(self.name, column, wrong, "a number")
        absent = np.isnan(values)
        scaled = (np.where(absent, self.median, values) - self.mean) / self.spread
        return np.column_stack([scaled, *([absent.astype(np.float64)] if self.indicator else [])])

    def describe(self) -> str:
        """Return the treatment in words."""
        text = f"number, mean {self.mean:.4g}, standard deviation {self.spread:.4g}"
        return f"{text}; missing: {self.median:.4g} and a mark" if self.indicator else text


@dataclass(frozen=True)
class DateColumn:
    """A date: how late it is, and its place in the year, the week and the day where these vary.

    Attributes
    ----------
    name : str
        The column.
    median, mean, spread : float
        Of the days since 1970 in the training rows.
    cycles : tuple of str
        Those of "year", "week" and "day" that have a sine and a cosine.
    indicator : bool
        Whether a feature says which dates are missing.
    """

    name: str
    median: float
    mean: float
    spread: float
    cycles: tuple[str, ...]
    indicator: bool

    @classmethod
    def learned(cls, name: str, values: Array) -> DateColumn:
        """Return the treatment of a column with these training dates, in days since 1970."""
        absent = np.isnan(values)
        known = values[~absent]
        length = float(np.ptp(known))
        cycles = [
            cycle
            for cycle, wanted in (
                ("year", length >= _YEAR / 4.0),
                ("week", length >= _WEEK),
                ("day", bool(np.ptp(known % 1.0) > 0.0)),
            )
            if wanted
        ]
        median = float(np.median(known))
        mean, spread = _scale(np.where(absent, median, values))
        return cls(name, median, mean, spread, tuple(cycles), bool(absent.any()))

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        waves = [f"{self.name} {cycle} {wave}" for cycle in self.cycles for wave in ("sin", "cos")]
        missing = [f"{self.name} missing"] if self.indicator else []
        return [f"{self.name} time", *waves, *missing]

    def encode(self, column: Any) -> Array:
        """Return the features of shape (n_rows, n_features)."""
        values, wrong = days(column)
        refuse(self.name, column, wrong, "a date such as 2024-05-17 or 2024-05-17 08:30")
        absent = np.isnan(values)
        filled = np.where(absent, self.median, values)
        parts = [(filled - self.mean) / self.spread]
        for cycle in self.cycles:
            angle = 2.0 * np.pi * filled / _CYCLES[cycle]
            parts += [np.where(absent, 0.0, np.sin(angle)), np.where(absent, 0.0, np.cos(angle))]
        if self.indicator:
            parts.append(absent.astype(np.float64))
        return np.column_stack(parts)

    def describe(self) -> str:
        """Return the treatment in words."""
        waves = f" and its place in the {', the '.join(self.cycles)}" if self.cycles else ""
        missing = "; missing: the median date and a mark" if self.indicator else ""
        return f"date, how late it is{waves}{missing}"


@dataclass(frozen=True)
class CategoryColumn:
    """A category: a feature for each frequent level, none of them for a level not known.

    Two rows of different levels are at the distance 1.

    Attributes
    ----------
    name : str
        The column.
    levels : tuple of str
        The frequent ones, most frequent first.
    indicator : bool
        Whether a feature says which values are missing.
    """

    name: str
    levels: tuple[str, ...]
    indicator: bool

    @classmethod
    def learned(cls, name: str, values: AnyArray) -> CategoryColumn:
        """Return the treatment of a column with these training labels."""
        known = [value for value in values.tolist() if value is not None]
        counted = sorted(Counter(known).items(), key=lambda pair: (-pair[1], pair[0]))
        levels = [level for level, count in counted if count > 1][:MOST_LEVELS]
        return cls(name, tuple(levels), len(known) < len(values))

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        missing = [f"{self.name} missing"] if self.indicator else []
        return [*(f"{self.name}={level}" for level in self.levels), *missing]

    def encode(self, column: Any) -> Array:
        """Return the features of shape (n_rows, n_features)."""
        places = {level: place for place, level in enumerate(self.levels)}
        if self.indicator:
            places[None] = len(self.levels)  # type: ignore[index]
        found = np.zeros((len(column), len(places)))
        for row, value in enumerate(labels(column).tolist()):
            if value in places:
                found[row, places[value]] = np.sqrt(0.5)
        return found

    def describe(self) -> str:
        """Return the treatment in words."""
        shown = ", ".join(self.levels[:4]) + (", ..." if len(self.levels) > 4 else "")
        missing = "; missing: a level of its own" if self.indicator else ""
        return f"category of {len(self.levels)} levels: {shown}{missing}"


@dataclass(frozen=True)
class LeftOut:
    """A column that tells nothing, and why.

    Attributes
    ----------
    name, reason : str
        The column, and what is the matter with it.
    """

    name: str
    reason: str

    @property
    def features(self) -> list[str]:
        """None."""
        return []

    def encode(self, column: Any) -> Array:
        """Return nothing for every row."""
        return np.zeros((len(column), 0))

    def describe(self) -> str:
        """Return the treatment in words."""
        return f"left out: {self.reason}"


Column = NumberColumn | DateColumn | CategoryColumn | LeftOut


_COLUMNS: dict[str, type[Any]] = {
    one.__name__: one for one in (NumberColumn, DateColumn, CategoryColumn, LeftOut)
}


def to_plain(columns: list[Column]) -> list[dict[str, Any]]:
    """Return treatments of columns as numbers and text."""
    return [{"kind": type(one).__name__, **asdict(one)} for one in columns]


def from_plain(plain: list[dict[str, Any]]) -> list[Column]:
    """Return the treatments that `to_plain` has written."""
    found = []
    for one in plain:
        fields = {name: tuple(own) if isinstance(own, list) else own for name, own in one.items()}
        found.append(_COLUMNS[str(fields.pop("kind"))](**fields))
    return found


def _scale(values: Array) -> tuple[float, float]:
    """Return mean and standard deviation, 1 for the latter where it is lost in rounding."""
    # Divided first, so that squares of very large numbers do not overflow.
    size = float(np.abs(values).max()) or 1.0
    mean, spread = float(np.mean(values / size)) * size, float(np.std(values / size)) * size
    return mean, spread if spread > 1e-12 * size else 1.0


def refuse(name: str, column: Any, wrong: AnyArray, wanted: str) -> None:
    """Raise where entries of a column are not what they should be."""
    if wrong.any():
        row = int(np.argmax(wrong))
        value = str(column.iloc[row])
        shown = value if len(value) <= 40 else f"{value[:40]}..."
        raise ValueError(f"column {name!r} holds {shown!r} where {wanted} should be.")
