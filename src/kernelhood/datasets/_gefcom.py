"""Read the files of the Global Energy Forecasting Competition 2012 as hourly series."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.datasets._parse import DataFileError, read_csv

EPOCH = date(2004, 1, 1)
_HOURS = [f"h{hour}" for hour in range(1, 25)]
# Not from the calendar module, whose names follow the user's locale.
_MONTHS = ["January", "February", "March", "April", "May", "June"]
_MONTHS += ["July", "August", "September", "October", "November", "December"]
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_HOLIDAY = re.compile(r"(\w+), (\w+) (\d{1,2})(?:, (\d{4}))?")
_NUMBER = re.compile(r"|[0-9]{1,3}(?:,[0-9]{3})+|-?[0-9]+(?:\.[0-9]+)?")
# A year outside the contest's is damage, and would make a series of absurd length.
_YEARS = range(2004, 2010)


class HourlySeries:
    """Values by unit (a zone or a station) and hour; nan where nothing was observed.

    Parameters
    ----------
    units : ndarray of shape (n_units,)
        The numbers of the units, ascending.
    values : ndarray of shape (n_units, n_hours)
        Column j is hour j since 2004-01-01, hour h1 of that day being 0.
    """

    def __init__(self, units: Indices, values: Array) -> None:
        self.units = units
        self.values = values

    def fill(self, other: HourlySeries) -> None:
        """Take from `other` what is missing here and is known there, unit by unit."""
        width = max(self.values.shape[1], other.values.shape[1])
        self.values, theirs = _widen(self.values, width), _widen(other.values, width)
        for unit, row in zip(self.units, self.values, strict=True):
            match = theirs[other.units == unit]
            if len(match):
                row[:] = np.where(np.isnan(row), match[0], row)


def _widen(values: Array, width: int) -> Array:
    return np.pad(values, ((0, 0), (0, width - values.shape[1])), constant_values=np.nan)


def read_daily(
    path: Path,
    unit: str,
    n_units: int,
    before: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
) -> HourlySeries:
    """Return a file with one line a unit and day, and 24 columns of hours.

    Parameters
    ----------
    path : Path
        A plain or gzipped CSV file.
    unit : str
        Name of the column that holds the unit.
    n_units : int
        Units are numbered from 1 to this.
    before, after : tuple of str
        Names of columns in front and behind that are not used.

    Returns
    -------
    series : HourlySeries
        Empty cells are nan.
    """
    header = [*before, unit, "year", "month", "day", *_HOURS, *after]
    rows = read_csv(path, len(header), header)
    start = len(before)
    keys, cells = [], []
    for line, row in enumerate(rows, start=2):
        number, year, month, day = (_integer(path, c, line) for c in row[start : start + 4])
        _check_unit(path, unit, number, n_units, line)
        keys.append((number, 24 * _day_number(path, year, month, day, line)))
        hours = row[start + 4 : start + 28]
        if not all(map(_NUMBER.fullmatch, hours)):
            bad = next(cell for cell in hours if not _NUMBER.fullmatch(cell))
            raise DataFileError(path, f"{bad!r} is not a number", line)
        cells.append([float(cell.replace(",", "") or "nan") for cell in hours])
    return _assemble(path, np.array(keys), np.array(cells))


def read_hourly(path: Path, unit: str, n_units: int, value: str) -> HourlySeries:
    """Return a file with one line a unit and hour, in the contest's eight columns."""
    header = [unit, "datetime", "date", "year", "month", "day", "hour", value]
    keys, cells = [], []
    for line, row in enumerate(read_csv(path, len(header), header), start=2):
        numbers = [_integer(path, row[place], line) for place in (0, 3, 4, 5, 6)]
        number, year, month, day, hour = numbers
        _check_unit(path, unit, number, n_units, line)
        if not 1 <= hour <= 24:
            raise DataFileError(path, f"hour {hour} is not in 1..24", line)
        keys.append((number, 24 * _day_number(path, year, month, day, line) + hour - 1))
        if not row[7] or not _NUMBER.fullmatch(row[7]):
            raise DataFileError(path, f"{row[7]!r} is not a number", line)
        cells.append([float(row[7].replace(",", ""))])
    return _assemble(path, np.array(keys), np.array(cells))


def _assemble(path: Path, keys: Indices, cells: Array) -> HourlySeries:
    """Lay out lines with keys (unit, first hour) and consecutive values as one row a unit."""
    units, row = np.unique(keys[:, 0], return_inverse=True)
    if len(np.unique(keys, axis=0)) < len(keys):
        _, first = np.unique(keys, axis=0, return_index=True)
        repeated = np.setdiff1d(np.arange(len(keys)), first)[0]
        raise DataFileError(path, "the same unit and time occur a second time", int(repeated) + 2)
    n_hours = int(keys[:, 1].max()) + cells.shape[1]
    values = np.full((len(units), n_hours), np.nan)
    hours = keys[:, 1, np.newaxis] + np.arange(cells.shape[1])
    values[row[:, np.newaxis], hours] = cells
    return HourlySeries(units, values)


def read_holidays(path: Path) -> set[int]:
    """Return the days, counted from 2004-01-01, that the holiday list names."""
    rows = read_csv(path, 1 + len(_YEARS[:5]), ["", *map(str, _YEARS[:5])])
    days = set()
    for line, row in enumerate(rows, start=2):
        for year, text in zip(_YEARS, row[1:], strict=False):
            if text:
                days.add(_parse_holiday(path, text, year, line))
    return days


def _parse_holiday(path: Path, text: str, year: int, line: int) -> int:
    """Return the day of ``"Friday, December 31, 2004"``; the year is the column's if left out."""
    match = _HOLIDAY.fullmatch(text)
    if not match or match[2] not in _MONTHS or match[1] not in _WEEKDAYS:
        raise DataFileError(path, f"{text!r} is not a date such as 'Monday, July 5'", line)
    year = int(match[4] or year)
    day = _day_number(path, year, _MONTHS.index(match[2]) + 1, int(match[3]), line)
    weekday = date.fromordinal(EPOCH.toordinal() + day).weekday()
    if _WEEKDAYS[weekday] != match[1]:
        raise DataFileError(path, f"{text!r} of {year} is a {_WEEKDAYS[weekday]}", line)
    return day


def _check_unit(path: Path, unit: str, number: int, n_units: int, line: int) -> None:
    if not 1 <= number <= n_units:
        raise DataFileError(path, f"{unit} {number} is not in 1..{n_units}", line)


def _integer(path: Path, cell: str, line: int) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < 10):
        raise DataFileError(path, f"{cell!r} is not a whole number", line)
    return int(cell)


def _day_number(path: Path, year: int, month: int, day: int, line: int) -> int:
    """Return a date as days since 2004-01-01; a date that is none is an error of the file."""
    if year in _YEARS:
        try:
            return date(year, month, day).toordinal() - EPOCH.toordinal()
        except ValueError:
            pass
    problem = f"{year}-{month}-{day} is not a date from {_YEARS[0]} to {_YEARS[-1]}"
    raise DataFileError(path, problem, line)
