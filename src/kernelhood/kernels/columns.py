"""What stands in the columns of a table, and how each kind of column becomes numbers.

A column is a number, a date, a category, or nothing to learn from. What it is follows from its
training rows, is kept, and can be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np

from kernelhood._support import import_extra
from kernelhood._typing import AnyArray, Array

#: Words that stand for a missing value in text, beside nothing at all.
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None")

#: Columns that are read together.
_AT_ONCE = 500

_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.I)
_SECONDS_A_DAY = 86400.0


def as_pandas(table: Any) -> Any:
    """Return a data frame of pandas, made of one of polars if it is one.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        Of pandas or polars.
    """
    import_extra("pandas", "table")
    foreign = hasattr(table, "to_pandas") and not hasattr(table, "iloc")
    return table.to_pandas() if foreign else table


def is_text(column: Any) -> bool:
    """Return whether a column of a data frame holds text or objects rather than numbers."""
    pd = import_extra("pandas", "table")
    types = pd.api.types
    return not (
        types.is_numeric_dtype(column.dtype) or types.is_datetime64_any_dtype(column.dtype)
    ) or types.is_bool_dtype(column.dtype)


def labels(column: Any) -> AnyArray:
    """Return the entries of a column as text without blanks around it, None if missing.

    Whole numbers are written without a fraction, so that a task 3 of a Parquet file is the task
    "3" of a CSV file.

    Parameters
    ----------
    column : Series
        Any column.

    Returns
    -------
    ndarray of shape (n_rows,) of str or None
    """
    found = np.empty(len(column), dtype=object)
    known: dict[Any, str | None] = {}
    for row, value in enumerate(column.tolist()):
        try:
            if value not in known:
                known[value] = _label(value)
            found[row] = known[value]
        except TypeError:  # what cannot be hashed, such as a list in a Parquet file
            found[row] = _label(value)
    return found


def _label(value: Any) -> str | None:
    if value is None or value is not value or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        value = int(value)
    text = str(value).strip()
    return None if text in MISSING or text in ("<NA>", "NaT") else text


def numbers(column: Any) -> tuple[Array, AnyArray]:
    """Return a column as numbers, NaN if there is none, and which entries are other text.

    Parameters
    ----------
    column : Series
        Any column.

    Returns
    -------
    values : ndarray of shape (n_rows,)
        Infinite numbers count as missing.
    wrong : ndarray of bool, shape (n_rows,)
        Entries that are neither numbers nor missing.
    """
    pd = import_extra("pandas", "table")
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "m":  # durations, in days
        column = column / np.timedelta64(1, "D")
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        values, wrong = column.to_numpy().astype(np.float64), np.zeros(len(column), dtype=bool)
    elif is_text(column):
        values, wrong = _read_numbers(column)
    elif pd.api.types.is_datetime64_any_dtype(column.dtype) or column.dtype.kind == "c":
        values, wrong = np.full(len(column), np.nan), np.ones(len(column), dtype=bool)
    else:
        values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        wrong = np.zeros(len(column), dtype=bool)
    return np.where(np.isfinite(values), values, np.nan), wrong


def table_numbers(table: Any) -> list[tuple[Array, AnyArray]]:
    """Return all columns of a data frame as `numbers` does, many at a time if they are numbers.

    Parameters
    ----------
    table : DataFrame
        Any.

    Returns
    -------
    list of (ndarray of shape (n_rows,), ndarray of bool, shape (n_rows,))
    """
    columns = [column for _, column in table.items()]
    found: list[tuple[Array, AnyArray]] = []
    for start in range(0, len(columns), _AT_ONCE):
        some = columns[start : start + _AT_ONCE]
        together = _cast(some) if len(some) > 1 and all(map(is_text, some)) else None
        if together is None:
            found += [numbers(column) for column in some]
            continue
        right = np.zeros(len(table), dtype=bool)
        values = np.where(np.isfinite(together), together, np.nan)
        found += [(one, right) for one in values.reshape(len(some), len(table))]
    return found


def _cast(columns: Sequence[Any]) -> Array | None:
    """Return columns of text as numbers, one after the other; None if some entry is none."""
    try:
        arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    except ImportError:  # one entry after the other, then
        return None
    try:
        parts = [arrow.array(column, from_pandas=True) for column in columns]
        text = compute.utf8_trim_whitespace(arrow.chunked_array(parts))
        absent = compute.is_in(text, value_set=arrow.array(MISSING))
        known = compute.if_else(absent, arrow.scalar(None, text.type), text)
        return np.asarray(compute.cast(known, arrow.float64()).to_numpy())
    except (arrow.ArrowException, TypeError):
        return None


def _read_numbers(column: Any) -> tuple[Array, AnyArray]:
    """Return text as numbers, and which entries are none."""
    found = _cast([column])
    if found is not None:
        return found, np.zeros(len(column), dtype=bool)
    # Some entry is neither a number nor text: each is looked at on its own.
    read = [_number(value) for value in column.tolist()]
    values = np.array([np.nan if one is None else one for one in read], dtype=np.float64)
    return values, np.array([one is None for one in read], dtype=bool)


def _number(value: Any) -> float | None:
    """Return an entry as a number, NaN if it is missing, None if it is something else."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, Real):
        return float(value)
    text = _label(value)
    if text is None:
        return float("nan")
    return float(text) if _NUMBER.fullmatch(text) else None


def days(column: Any) -> tuple[Array, AnyArray]:
    """Return a column of dates as days since 1970, NaN if missing, and which are not dates.

    Parameters
    ----------
    column : Series
        Dates, the starts of periods, or text such as 2024-05-17 or 2024-05-17 08:30, in UTC if it
        names no zone.

    Returns
    -------
    values : ndarray of shape (n_rows,)
        Days and parts of days.
    wrong : ndarray of bool, shape (n_rows,)
        Entries that are neither dates nor missing.
    """
    pd = import_extra("pandas", "table")
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _since_1970(pd.to_datetime(column, utc=True)), np.zeros(len(column), dtype=bool)
    text = labels(column)
    absent = np.array([value is None for value in text.tolist()], dtype=bool)
    series = pd.Series(text, dtype=object)
    looks = series.where(~absent, "").str.fullmatch(_DATE).to_numpy(dtype=bool)
    parsed = pd.to_datetime(series.where(looks, None), format="ISO8601", errors="coerce", utc=True)
    values = _since_1970(parsed)
    return values, np.isnan(values) & ~absent


def _since_1970(dates: Any) -> Array:
    seconds = dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
    values = seconds.astype(np.int64) / (1e6 * _SECONDS_A_DAY)
    return np.where(np.isnat(seconds), np.nan, values)


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
        Whether a feature says which values are missing: if the training rows lacked some.
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
        return (
            f"{text}; missing values become {self.median:.4g}, with an indicator"
            if self.indicator
            else text
        )


@dataclass(frozen=True)
class DateColumn:
    """A date: how late it is, and its place in the year, the week and the day if these vary.

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
        waves = f", and its place in the {', the '.join(self.cycles)}" if self.cycles else ""
        missing = "; missing values become the median, with an indicator" if self.indicator else ""
        return f"date: trend{waves}{missing}"


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
    def learned(cls, name: str, values: AnyArray, most: int | None = MOST_LEVELS) -> CategoryColumn:
        """Return the treatment of a column with these training labels, and at most some levels."""
        known = [value for value in values.tolist() if value is not None]
        counted = sorted(Counter(known).items(), key=lambda pair: (-pair[1], pair[0]))
        levels = [level for level, count in counted if count > 1][:most]
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
        missing = "; missing values are a level of their own" if self.indicator else ""
        return f"category of {len(self.levels)} levels: {shown}{missing}"


@dataclass(frozen=True)
class LeftOut:
    """A column that is left out, and why.

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
    """Return mean and standard deviation, 1 for the latter if it is lost in rounding."""
    # Divided first, so that squares of very large numbers do not overflow.
    size = float(np.abs(values).max()) or 1.0
    mean, spread = float(np.mean(values / size)) * size, float(np.std(values / size)) * size
    return mean, spread if spread > 1e-12 * size else 1.0


def refuse(name: str, column: Any, wrong: AnyArray, wanted: str) -> None:
    """Raise if entries of a column are not what they should be."""
    if wrong.any():
        row = int(np.argmax(wrong))
        value = str(column.iloc[row])
        shown = value if len(value) <= 40 else f"{value[:40]}..."
        raise ValueError(f"column {name!r} holds {shown!r}, and must hold {wanted}.")


def learn_column(
    name: str, column: Any, asked: str | None = None, read: Read | None = None
) -> Column:
    """Return how a column is treated, from what its training rows hold.

    Parameters
    ----------
    name : str
        The column.
    column : Series
        Its training rows.
    asked : {"number", "date", "category"}, optional
        What the user says it is.
    read : tuple of ndarray, optional
        What `numbers` gives for the column, if it is known already.
    """
    values, wrong = numbers(column) if read is None else read
    if asked == "number":
        refuse(name, column, wrong, "a number")
    if asked is None and str(column.dtype) == "category":
        asked = "category"
    # Booleans are text here: true and false are levels.
    if asked == "number" or (asked is None and not wrong.any() and not _is_bool(column)):
        return _number_or_nothing(name, values)
    if asked == "date" or (asked is None and _is_maybe_date(column)):
        dates, wrong = days(column)
        if asked == "date":
            refuse(name, column, wrong, "a date such as 2024-05-17 or 2024-05-17 08:30")
        if not wrong.any() and not np.isnan(dates).all():
            return _date_or_nothing(name, dates)
    return _category_or_nothing(name, labels(column))


def _is_maybe_date(column: Any) -> bool:
    """Return whether a column is a date or a period, or its first entry looks like a date."""
    if not is_text(column) or str(column.dtype).startswith("period"):
        return True
    first = next((value for value in labels(column.head(1000)).tolist() if value), None)
    return first is not None and len(first) >= 10 and first[4] == first[7] == "-"


def _is_bool(column: Any) -> bool:
    return str(column.dtype) in ("bool", "boolean")


def _number_or_nothing(name: str, values: Array) -> Column:
    known = values[~np.isnan(values)]
    if not len(known):
        return LeftOut(name, "it holds no value")
    if len(known) == len(values) and np.ptp(known) == 0.0:
        return LeftOut(name, f"it is {known[0]:g} in every row")
    return NumberColumn.learned(name, values)


def _date_or_nothing(name: str, values: Array) -> Column:
    if not np.isnan(values).any() and np.ptp(values) == 0.0:
        return LeftOut(name, "it is the same date in every row")
    return DateColumn.learned(name, values)


def _category_or_nothing(name: str, values: AnyArray) -> Column:
    known = {value for value in values.tolist() if value is not None}
    if not known:
        return LeftOut(name, "it holds no value")
    if len(known) == 1 and None not in values.tolist():
        return LeftOut(name, f"it is {next(iter(known))!r} in every row")
    found = CategoryColumn.learned(name, values)
    if not found.levels:
        return LeftOut(name, "every value occurs once, as in a number of the row or free text")
    return found


#: The categories of each such column, by its place; their order is that of their numbers.
Categories = dict[int, list[Any]]


def find_categories(X: Any) -> Categories:
    """Return the categories of the columns of a data frame that are of that type, or text.

    Parameters
    ----------
    X : any
        Only a data frame, of pandas or polars, has such columns.

    Examples
    --------
    >>> import pandas as pd
    >>> find_categories(pd.DataFrame({"size": [1.0, 2.0], "shop": ["b", "a"]}))
    {1: ['a', 'b']}
    """
    if not hasattr(X, "columns"):
        return {}
    found = {}
    for place in range(X.shape[1]):
        values = _categorical_values(X, place)
        if values is not None:
            known = {value for value in values.tolist() if not _is_missing(value)}
            found[place] = sorted(known, key=lambda value: (str(type(value)), value))
    return found


def as_numbers(X: Any, categories: Categories) -> Array:
    """Return a table with numbers for categories: -1 for an unknown one, NaN for a missing one.

    Parameters
    ----------
    X : data frame or array-like of shape (n_samples, n_features)
        The table.
    categories : dict
        What `find_categories` returned for the training rows.
    """
    columns = []
    for place in range(X.shape[1]):
        values = _column(X, place)
        if place in categories:
            number = {value: code for code, value in enumerate(categories[place])}
            codes = [
                np.nan if _is_missing(value) else number.get(value, -1) for value in values.tolist()
            ]
            columns.append(np.array(codes, dtype=np.float64))
        else:
            columns.append(np.asarray(values, dtype=np.float64))
    return np.column_stack(columns)


def _column(X: Any, place: int) -> AnyArray:
    if not hasattr(X, "columns"):
        return np.asarray(X)[:, place]
    column = X.iloc[:, place] if hasattr(X, "iloc") else X[X.columns[place]]
    return np.asarray(column)


def _categorical_values(X: Any, place: int) -> AnyArray | None:
    """Return the values of a column of categories or text, None for other columns."""
    column = X.iloc[:, place] if hasattr(X, "iloc") else X[X.columns[place]]
    kind = str(getattr(column, "dtype", "")).lower()
    values = np.asarray(column)
    if kind.startswith(("categor", "enum")) or values.dtype.kind in "US":
        return values
    if values.dtype.kind == "O" and any(isinstance(value, str) for value in values.tolist()):
        return values
    return None


def _is_missing(value: Any) -> bool:
    # What pandas' own equals is not known.
    return value is None or type(value).__name__ == "NAType" or value != value
