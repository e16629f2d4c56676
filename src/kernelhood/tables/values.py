"""What stands in a column: missing values, numbers, dates, labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from kernelhood._extras import import_extra
from kernelhood._typing import AnyArray, Array

#: Words that stand for a missing value in text, beside nothing at all.
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None")

#: Columns that are read together.
_AT_ONCE = 500

_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.I)
_SECONDS_A_DAY = 86400.0


def as_pandas(table: Any) -> Any:
    """Return a data frame of pandas, made of one of polars where it is one.

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
    """Return the entries of a column as text without blanks around it, None where missing.

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
    """Return a column as numbers, NaN where there is none, and which entries are other text.

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
    if is_text(column):
        values, wrong = _read_numbers(column)
    elif pd.api.types.is_datetime64_any_dtype(column.dtype) or column.dtype.kind == "c":
        values, wrong = np.full(len(column), np.nan), np.ones(len(column), dtype=bool)
    else:
        values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        wrong = np.zeros(len(column), dtype=bool)
    return np.where(np.isfinite(values), values, np.nan), wrong


def table_numbers(table: Any) -> list[tuple[Array, AnyArray]]:
    """Return all columns of a data frame as `numbers` does, many at a time where they are numbers.

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
    """Return columns of text as numbers, one after the other; None where some entry is none."""
    arrow, compute = import_extra("pyarrow", "table"), import_extra("pyarrow.compute", "table")
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
    # Some entry is no number, or no text: each is looked at on its own.
    read = [_number(value) for value in column.tolist()]
    values = np.array([np.nan if one is None else one for one in read], dtype=np.float64)
    return values, np.array([one is None for one in read], dtype=bool)


def _number(value: Any) -> float | None:
    """Return an entry as a number, NaN where it is missing, None where it is something else."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, Real):
        return float(value)
    text = _label(value)
    if text is None:
        return float("nan")
    return float(text) if _NUMBER.fullmatch(text) else None


def days(column: Any) -> tuple[Array, AnyArray]:
    """Return a column of dates as days since 1970, NaN where missing, and which are no dates.

    Parameters
    ----------
    column : Series
        Dates, or text such as 2024-05-17 or 2024-05-17 08:30, in UTC where it names no zone.

    Returns
    -------
    values : ndarray of shape (n_rows,)
        Days and parts of days.
    wrong : ndarray of bool, shape (n_rows,)
        Entries that are neither dates nor missing.
    """
    pd = import_extra("pandas", "table")
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
