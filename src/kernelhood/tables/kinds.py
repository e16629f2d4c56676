"""What a column is: a number, a date, a category, or nothing to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array
from kernelhood.tables.columns import (
    CategoryColumn,
    Column,
    DateColumn,
    LeftOut,
    NumberColumn,
    Read,
    refuse,
)
from kernelhood.tables.values import days, is_text, labels, numbers


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
        What `numbers` gives for the column, where it is known already.
    """
    values, wrong = numbers(column) if read is None else read
    if asked == "number":
        refuse(name, column, wrong, "a number")
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
    """Return whether the first entry that is not missing looks like a date."""
    if not is_text(column):
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
