"""SARCOS and Load: regression tasks, and the files of the forecasting competition of 2012."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import Array, Indices
from kernelhood.datasets._bunch import (
    check_choice,
    check_count,
    check_distinct,
    check_flags,
    make_bunch,
)
from kernelhood.datasets._files import (
    DataFileError,
    find_file,
    get_data_home,
    read_csv,
    read_mat,
    to_numbers,
)

N_INPUTS, N_TORQUES = 21, 7
_N_COLUMNS = N_INPUTS + N_TORQUES


def load_sarcos(
    data_home: str | PathLike[str] | None = None,
    *,
    as_frame: bool = False,
    random_state: Any = None,
    n_samples: int | None = 2000,
    scale: bool = False,
    wide: bool = False,
) -> Bunch:
    """Load the SARCOS robot arm: seven regression tasks with 21 shared inputs.

    Parameters
    ----------
    data_home : path-like or None, default=None
        See `get_data_home`.
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    random_state : int, RandomState or None, default=None
        Seed of the draw of the rows.
    n_samples : int or None, default=2000
        Rows to draw; None takes all.
    scale : bool, default=False
        Whether to standardise the inputs over all rows read.
    wide : bool, default=False
        Whether ``y`` has one column a torque, and ``X`` each row once; ``task`` is then None.

    Returns
    -------
    data : Bunch
        ``X`` (7 * n_samples, 21), ``y``, ``task`` ("torque 1" to "torque 7"), ``task_names``,
        ``feature_names``, ``sample_id`` (equal for the seven copies of a row), ``DESCR``. With
        `wide`, ``X`` (n_samples, 21) and ``y`` (n_samples, 7).

    Examples
    --------
    >>> from kernelhood.datasets import check, load_sarcos
    >>> if all(file.good for file in check("sarcos")):  # its files have been fetched
    ...     data = load_sarcos(n_samples=50, random_state=0)
    ...     assert data.X.shape == (350, 21)
    """
    check_flags(as_frame=as_frame, scale=scale, wide=wide)
    if n_samples is not None:
        n_samples = check_count("n_samples", n_samples)
    rng = check_random_state(random_state)
    data = _read_sarcos(get_data_home(data_home) / "sarcos")
    if n_samples is not None and n_samples > len(data):
        raise ValueError(f"n_samples={n_samples}, but the files hold {len(data)} rows; give less.")
    X, torques = data[:, :N_INPUTS], data[:, N_INPUTS:]
    if scale:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    rows = np.sort(rng.permutation(len(data))[:n_samples])
    names = [f"torque {number}" for number in range(1, N_TORQUES + 1)]
    return make_bunch(
        X[rows] if wide else np.tile(X[rows], (N_TORQUES, 1)),
        torques[rows] if wide else torques[rows].ravel(order="F"),
        task=None if wide else np.repeat(names, len(rows)),
        task_names=names,
        feature_names=[
            f"{kind} {joint}"
            for kind in ("position", "velocity", "acceleration")
            for joint in range(1, N_TORQUES + 1)
        ],
        sample_id=rows if wide else np.tile(rows, N_TORQUES),
        name="sarcos",
        as_frame=as_frame,
    )


def _read_sarcos(folder: Path) -> Array:
    """Return the distinct rows of the best files that are there, in their order."""
    official = folder / "sarcos_inv.mat"
    if official.is_file():
        return _read_mat(official)
    test = find_file(folder, ["sarcos_inv_test.mat"], "sarcos")
    parts = [
        find_file(folder, ["train_rows_a.csv", "sarcos_val.csv"], "sarcos"),
        find_file(folder, ["train_rows_b.csv", "sarcos_test.csv"], "sarcos"),
    ]
    data = np.vstack([_read_mat(test), *map(_read_part, parts)])
    _, first = np.unique(data, axis=0, return_index=True)
    return data[np.sort(first)]


def _read_mat(path: Path) -> Array:
    (data,) = read_mat(path, [path.stem])
    if data.ndim != 2 or data.shape[1] != _N_COLUMNS or data.dtype.kind not in "fiu":
        raise DataFileError(path, f"{path.stem!r} has shape {data.shape}, not (n, {_N_COLUMNS})")
    finite = np.isfinite(data).all(axis=1)
    if not finite.all():
        problem = f"row {int(np.argmin(finite)) + 1} holds a value that is not finite"
        raise DataFileError(path, problem)
    return np.asarray(data, dtype=np.float64)


def _read_part(path: Path) -> Array:
    rows = read_csv(path, _N_COLUMNS, header=[str(column) for column in range(_N_COLUMNS)])
    return to_numbers(path, rows, first_line=2)


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
    """Values by unit (a zone or a station) and hour; nan if nothing was observed.

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


N_ZONES, N_STATIONS = 20, 11
CALENDAR = ("year", "season", "month", "weekday", "holiday")
_CALENDAR_CHOICES = (*CALENDAR, "hour")


def load_load(
    data_home: str | PathLike[str] | None = None,
    *,
    as_frame: bool = False,
    random_state: Any = None,
    n_samples: int | None = 2000,
    zones: Sequence[int] | None = None,
    lags: int | Sequence[int] = 8,
    calendar: Sequence[str] = CALENDAR,
    temperature: bool = False,
    fill: bool = False,
    scale: bool = True,
) -> Bunch:
    """Load the electricity demand: 20 regression tasks with 8 lags and the calendar.

    Parameters
    ----------
    data_home : path-like or None, default=None
        See `get_data_home`.
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    random_state : int, RandomState or None, default=None
        Seed of the draw of the hours.
    n_samples : int or None, default=2000
        Hours to draw, the same for all zones; None takes all.
    zones : sequence of int or None, default=None
        The zones, from 1 to 20; None takes all.
    lags : int or sequence of int, default=8
        How many preceding hours are features, or how many hours back each lag lies.
    calendar : sequence of str
        Which of "year", "season", "month", "weekday", "holiday" and "hour" are features.
    temperature : bool, default=False
        Whether to add the mean temperature over the stations in the hour of the target.
    fill : bool, default=False
        Whether to fill the weeks that the contest blanked from its solution files.
    scale : bool, default=True
        Whether to standardise loads by zone, and all other columns.

    Returns
    -------
    data : Bunch
        ``X`` (n_zones * n_samples, n_features), ``y`` the loads, ``task`` ("zone 1" to
        "zone 20"), ``task_names``, ``feature_names``, ``sample_id`` (hour), ``DESCR``.

    Examples
    --------
    >>> from kernelhood.datasets import check, load_load
    >>> if all(file.good for file in check("load")):  # its files have been fetched
    ...     data = load_load(n_samples=50, zones=[1, 2], random_state=0)
    ...     assert data.y.shape == (100,)
    """
    check_flags(as_frame=as_frame, temperature=temperature, fill=fill, scale=scale)
    n_samples = None if n_samples is None else check_count("n_samples", n_samples)
    zone_numbers, back, columns = _check_zones(zones), _check_lags(lags), _check_calendar(calendar)
    rng = check_random_state(random_state)
    folder = get_data_home(data_home) / "gefcom2012"
    loads, zone_numbers = _pick(_read_loads(folder, fill), zone_numbers)
    n_hours = loads.shape[1]
    common = _calendar(folder, n_hours, columns)
    if temperature:
        common["temperature"] = _read_temperature(folder, fill, n_hours)
    usable = _usable_hours(np.vstack([loads, *common.values()]), loads, back)
    drawn = _draw(usable, n_samples, rng)
    if scale:
        loads = _standardize(loads, usable)
        common = {name: _standardize(column, usable) for name, column in common.items()}
    shared = [column[drawn] for column in common.values()]
    blocks = [np.column_stack([*(load[drawn - lag] for lag in back), *shared]) for load in loads]
    names = [f"zone {zone}" for zone in zone_numbers]
    return make_bunch(
        np.vstack(blocks),
        loads[:, drawn].ravel(),
        task=np.repeat(names, len(drawn)),
        task_names=names,
        feature_names=[*(f"lag {lag}" for lag in back), *common],
        sample_id=np.tile(drawn, len(names)),
        name="load",
        as_frame=as_frame,
    )


def _check_zones(zones: Any) -> list[int] | None:
    if zones is None:
        return None
    return [check_count("zones", z, low=1, high=N_ZONES) for z in check_distinct("zones", zones)]


def _check_lags(lags: Any) -> list[int]:
    if isinstance(lags, Integral):
        return list(range(1, check_count("lags", lags) + 1))
    return [check_count("lags", lag) for lag in check_distinct("lags", lags)]


def _check_calendar(calendar: Any) -> list[str]:
    # No calendar at all is a sensible wish, unlike no zone.
    names = check_distinct("calendar", calendar, low=0)
    return [check_choice("calendar", name, _CALENDAR_CHOICES) for name in names]


def _read_loads(folder: Path, fill: bool) -> HourlySeries:
    names = ["Load_history.csv", "Load_history.csv.gz"]
    series = read_daily(find_file(folder, names, "load"), "zone_id", N_ZONES)
    if fill:
        path = find_file(folder, ["Load_solution.csv"], "load")
        series.fill(_read_solution(path))
    return series


def _read_solution(path: Path) -> HourlySeries:
    """Return the contest's solution, in which zone 21 is the sum of all others."""
    return read_daily(path, "zone_id", N_ZONES + 1, before=("id",), after=("weight",))


def _read_temperature(folder: Path, fill: bool, n_hours: int) -> Array:
    """Return the mean over the stations, nan if one of them is missing."""
    names = ["temperature_history.csv", "temperature_history.csv.gz"]
    series = read_daily(find_file(folder, names, "load"), "station_id", N_STATIONS)
    if fill:
        path = find_file(folder, ["temperature_solution.csv"], "load")
        series.fill(read_hourly(path, "station_id", N_STATIONS, "T0_p1"))
    mean = series.values.mean(axis=0)[:n_hours]
    return np.pad(mean, (0, n_hours - len(mean)), constant_values=np.nan)


def _pick(series: HourlySeries, zones: list[int] | None) -> tuple[Array, list[int]]:
    """Return the series of the zones asked for, and their numbers."""
    there = series.units.tolist()
    zones = there if zones is None else zones
    absent = sorted(set(zones) - set(there))
    if absent:
        raise ValueError(f"zones asks for {absent}, but the file has only {there}.")
    return series.values[[there.index(zone) for zone in zones]], zones


def _calendar(folder: Path, n_hours: int, columns: list[str]) -> dict[str, Array]:
    """Return the calendar columns asked for, one value for every hour of the record."""
    hours = np.arange(n_hours)
    days = hours // 24
    dates = np.datetime64(EPOCH) + days
    month = dates.astype("datetime64[M]").astype(int) % 12 + 1
    values = {
        "year": dates.astype("datetime64[Y]").astype(int) + 1970,
        "season": month % 12 // 3,
        "month": month,
        "weekday": (days + EPOCH.weekday()) % 7,
        "hour": hours % 24 + 1,
    }
    if "holiday" in columns:
        holidays = read_holidays(find_file(folder, ["Holiday_List.csv"], "load"))
        values["holiday"] = np.isin(days, list(holidays))
    return {name: values[name].astype(np.float64) for name in columns}


def _usable_hours(now: Array, loads: Array, back: list[int]) -> Indices:
    """Return the hours at which all of `now`, and all lags of all zones, are observed."""
    usable = np.asarray(np.isfinite(now).all(axis=0))
    known = np.asarray(np.isfinite(loads).all(axis=0))
    for lag in back:
        usable[:lag] = False
        usable[lag:] &= known[:-lag]
    return np.flatnonzero(usable)


def _draw(usable: Indices, n_samples: int | None, rng: np.random.RandomState) -> Indices:
    """Draw hours without replacement, and return them in order of time."""
    if len(usable) < (n_samples or 1):
        wanted = "at least one" if n_samples is None else str(n_samples)
        raise ValueError(
            f"n_samples={n_samples} asks for {wanted}, but {len(usable)} hours have all lags "
            "observed in all zones; give less, or fewer lags."
        )
    return np.sort(rng.permutation(usable)[:n_samples])


def _standardize(values: Array, usable: Indices) -> Array:
    """Shift and scale series along their last axis by mean and deviation over usable hours."""
    seen = values[..., usable]
    spread = seen.std(axis=-1, keepdims=True)
    scaled: Array = (values - seen.mean(axis=-1, keepdims=True)) / np.where(spread > 0, spread, 1)
    return scaled
