"""Load: the hourly demand for electricity in 20 zones."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import Array, Indices
from kernelhood.datasets._arguments import check_choice, check_count, check_distinct, check_flags
from kernelhood.datasets._bunch import make_bunch
from kernelhood.datasets._files import find_file, get_data_home
from kernelhood.datasets._gefcom import (
    EPOCH,
    HourlySeries,
    read_daily,
    read_holidays,
    read_hourly,
)

N_ZONES, N_STATIONS = 20, 11
CALENDAR = ("year", "season", "month", "weekday", "holiday")
_CALENDAR_CHOICES = (*CALENDAR, "hour")

DESCR = """Load (Global Energy Forecasting Competition 2012)

20 regression tasks, one for each zone of a utility: the load of the coming hour from the loads of
the 8 hours before it and the calendar. The hourly record runs from 2004-01-01 to 2008-06-30.

Source: T. Hong, P. Pinson and S. Fan, "Global Energy Forecasting Competition 2012", International
Journal of Forecasting 30(2), 2014 (please cite). Licence: none is stated for the files.

Our choices: lags are strictly earlier hours (lags=8: the hours 1 to 8 before), so the target is
never among a row's own features. The calendar is numeric: year, season (0 for December to February,
up to 3), month, weekday (0 is Monday), holiday (1 on a day of the contest's list); "hour" may be
asked for. 2,000 hours are drawn at random without replacement among those whose target and lags
were observed in every zone asked for, the same hours for all zones; sample_id is the hour, counted
from the first of 2004: split by it. As hours are drawn at random, the target of one row may be a
lag of another; split by blocks of sample_id to avoid that. fill=False leaves out the eight weeks
that the contest blanked; fill=True takes them from the solution files. With scale=True (the
default) a zone's loads, as lags and as target, are standardised by the mean and standard deviation
of that zone, and the other columns by their own, all over the usable hours; errors are then in
standard deviations. scale=False gives kW and plain calendar numbers. temperature=True adds the mean
temperature (degrees Fahrenheit) of the stations in the hour of the target itself, as if the
weather forecast were perfect; which station belongs to which zone is not published.

The zones are not independent: zones 3 and 7 are equal, zone 2 is proportional to them and zone 6
nearly so. All 20 are the default, as in arXiv 1707.03426; zones= can leave some out.
"""


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
        descr=DESCR,
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
    """Return the mean over the stations, nan where one of them is missing."""
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
