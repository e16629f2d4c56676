import gzip
from datetime import date, timedelta
from functools import lru_cache

import numpy as np
import pytest
from tiny_files import daily_header, daily_line, load_value, write_load

from kernelhood.datasets import DataFileError, load_load
from kernelhood.datasets.regression import HourlySeries, read_daily

MISSING = 24 + 5  # the hour that no zone observed
CALENDAR = ["year", "season", "month", "weekday", "holiday"]


@pytest.fixture
def gefcom(folder):
    folder = folder("gefcom2012")
    write_load(folder)
    return folder


@pytest.fixture
def home(gefcom):
    return gefcom.parent


def load(home, **arguments):
    return load_load(home, **{"n_samples": None, "scale": False, "random_state": 0, **arguments})


def test_rows_are_lags_then_calendar(home):
    data = load(home, lags=3)
    assert data.feature_names == ["lag 1", "lag 2", "lag 3", *CALENDAR]
    assert data.task_names == ["zone 1", "zone 2"]
    first = data.sample_id == 3
    expected = [[load_value(zone, hour) for hour in (2, 1, 0)] for zone in (1, 2)]
    np.testing.assert_array_equal(data.X[first][:, :3], expected)
    np.testing.assert_array_equal(data.y[first], [load_value(1, 3), load_value(2, 3)])
    # Thursday, the first of January 2004: winter, and a holiday.
    np.testing.assert_array_equal(data.X[first][:, 3:], [[2004, 0, 1, 3, 1]] * 2)


@pytest.mark.parametrize("lags", [8, [1], [2, 24], range(1, 5)])
def test_target_is_never_among_the_features(home, lags):
    data = load(home, lags=lags)
    back = list(range(1, lags + 1)) if isinstance(lags, int) else list(lags)
    zone = np.array([int(name.split()[1]) for name in data.task])
    np.testing.assert_array_equal(data.y, load_value(zone, data.sample_id))
    lagged = data.X[:, : len(back)]
    expected = load_value(zone, data.sample_id)[:, None] - np.array(back)
    np.testing.assert_array_equal(lagged, expected)
    # All values differ, so a leak of the target or of a later hour would be seen here.
    assert (lagged < data.y[:, None]).all()


def test_hours_that_touch_a_gap_are_left_out(home):
    hours = set(load(home, lags=2).sample_id)
    assert hours == set(range(2, 72)) - {MISSING, MISSING + 1, MISSING + 2}


def test_fill_takes_the_gap_from_the_solution(home):
    data = load(home, lags=2, fill=True)
    assert set(data.sample_id) == set(range(2, 72))
    np.testing.assert_array_equal(
        data.y[data.sample_id == MISSING], [load_value(1, MISSING), load_value(2, MISSING)]
    )


def test_zone_that_the_solution_lacks_stays_as_it_is(gefcom, home):
    path = gefcom / "Load_solution.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    assert MISSING in load(home, lags=1, fill=True, zones=[1]).sample_id
    assert MISSING not in load(home, lags=1, fill=True, zones=[2]).sample_id


def test_all_zones_have_the_same_hours(home):
    data = load_load(home, n_samples=10, random_state=0)
    first, second = (data.sample_id[data.task == name] for name in data.task_names)
    np.testing.assert_array_equal(first, second)
    assert len(set(first)) == 10


def test_draw_follows_the_seed(home):
    draws = [tuple(load(home, n_samples=5, random_state=seed).sample_id) for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


def test_zones_can_be_chosen_in_any_order(home):
    data = load(home, zones=[2])
    assert data.task_names == ["zone 2"]
    assert load(home, zones=[2, 1]).task_names == ["zone 2", "zone 1"]
    with pytest.raises(ValueError, match=r"zones asks for \[7\]"):
        load(home, zones=[1, 7])


def test_scale_standardises_each_zone_and_column(home):
    data = load_load(home, n_samples=None, lags=1, random_state=0)
    for name in data.task_names:
        mine = data.task == name
        assert abs(data.y[mine].mean()) < 1e-12
        assert data.y[mine].std() == pytest.approx(1)
        # A lag is the load one hour before on the same scale as the target.
        step = data.y[mine] - data.X[mine][:, 0]
        np.testing.assert_allclose(step, step[0])
    year, holiday = data.X[:, 1], data.X[:, 5]
    np.testing.assert_array_equal(year, 0)
    assert holiday.std() == pytest.approx(1)


def test_temperature_is_the_mean_of_the_stations(home):
    data = load(home, temperature=True, lags=1)
    assert data.feature_names[-1] == "temperature"
    np.testing.assert_array_equal(data.X[:, -1], 70 + data.sample_id % 24)
    # The last four hours have no temperature in the history.
    assert data.sample_id.max() == 67
    filled = load(home, temperature=True, lags=1, fill=True)
    assert filled.sample_id.max() == 71
    assert set(filled.X[filled.sample_id >= 68][:, -1]) == {77}


def test_calendar_can_be_chosen(home):
    data = load(home, calendar=["hour", "weekday"], lags=1)
    assert data.feature_names == ["lag 1", "hour", "weekday"]
    np.testing.assert_array_equal(data.X[:, 1], data.sample_id % 24 + 1)
    assert load(home, calendar=[], lags=1).X.shape[1] == 1


def test_calendar_agrees_with_datetime(gefcom, home):
    days = [date(2004, 1, 1) + timedelta(days) for days in range(1700)]
    lines = [daily_line(1, d.year, d.month, d.day, [1] * 24) for d in days]
    (gefcom / "Load_history.csv").write_text(daily_header("zone_id") + "".join(lines))
    data = load(home, lags=1, n_samples=500)
    for row, hour in zip(data.X, data.sample_id, strict=True):
        day = days[hour // 24]
        season = {12: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 6: 2, 7: 2, 8: 2}.get(day.month, 3)
        holiday = day in (date(2004, 1, 1), date(2004, 12, 31))
        assert tuple(row[1:]) == (day.year, season, day.month, day.weekday(), holiday)


def test_gzipped_file_gives_the_same(gefcom, home):
    plain = load(home)
    path = gefcom / "Load_history.csv"
    (gefcom / "Load_history.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    np.testing.assert_array_equal(load(home).X, plain.X)


def test_too_many_samples_or_lags(home):
    with pytest.raises(ValueError, match="n_samples=2000 asks for 2000, but 55 hours"):
        load_load(home)
    with pytest.raises(ValueError, match="n_samples=None asks for at least one, but 0 hours"):
        load(home, lags=[100])


GOOD = daily_line(1, 2004, 1, 1, range(24))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1,2004,1\r\n", "28 columns expected, 3 found"),
        (daily_line(1, 2004, 2, 30, range(24)), "2004-2-30 is not a date"),
        (daily_line(1, 1999, 2, 3, range(24)), "1999-2-3 is not a date"),
        (daily_line(21, 2004, 1, 1, range(24)), r"zone_id 21 is not in 1\.\.20"),
        (daily_line("one", 2004, 1, 1, range(24)), "'one' is not a whole number"),
        (GOOD.replace(",5,", ',"1,00",'), "'1,00' is not a number"),
        (GOOD.replace(",5,", ",x,"), "'x' is not a number"),
        (GOOD.replace(",5,", ",nan,"), "'nan' is not a number"),
        (GOOD, "the same unit and time occur a second time"),
    ],
)
def test_damaged_load_file_names_the_line(gefcom, home, line, problem):
    path = gefcom / "Load_history.csv"
    path.write_text(daily_header("zone_id") + GOOD + line)
    with pytest.raises(DataFileError, match=rf"Load_history\.csv, line 3: {problem}"):
        load(home)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1,t,d,2004,1,3,25,70\n", r"hour 25 is not in 1\.\.24"),
        ("1,t,d,2004,1,3,24,\n", "'' is not a number"),
        ("12,t,d,2004,1,3,24,70\n", r"station_id 12 is not in 1\.\.11"),
    ],
)
def test_damaged_temperature_solution_names_the_line(gefcom, home, line, problem):
    path = gefcom / "temperature_solution.csv"
    path.write_text(path.read_text() + line)
    with pytest.raises(DataFileError, match=rf"temperature_solution\.csv, line 10: {problem}"):
        load(home, temperature=True, fill=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sometime", "'sometime' is not a date such as"),
        ("Monday, Brumaire 5", "not a date such as"),
        ("Monday, July 4", "of 2004 is a Sunday"),
        ("Monday, July 32", "2004-7-32 is not a date"),
    ],
)
def test_damaged_holiday_list_names_the_line(gefcom, home, text, problem):
    path = gefcom / "Holiday_List.csv"
    path.write_text(f'{path.read_text()}Another,"{text}",,,,\n')
    with pytest.raises(DataFileError, match=rf"Holiday_List\.csv, line 3: .*{problem}"):
        load(home)


read_real = lru_cache(read_daily)


@pytest.fixture
def real_loads(real_home, monkeypatch):
    """Return the folder of the real files, each of which is read once for all tests."""

    def read(*arguments, **more):
        found = read_real(*arguments, **more)
        return HourlySeries(found.units, found.values.copy())

    monkeypatch.setattr("kernelhood.datasets.regression.read_daily", read)
    return real_home


@pytest.fixture(scope="module")
def hours_of_history():
    return 1_650 * 24


def test_published_counts(real_loads, hours_of_history):
    data = load_load(real_loads, random_state=0)
    assert data.task_names == [f"zone {zone}" for zone in range(1, 21)]
    assert data.X.shape == (40_000, 13)
    assert data.feature_names == [*(f"lag {lag}" for lag in range(1, 9)), *CALENDAR]
    assert {(data.task == name).sum() for name in data.task_names} == {2_000}
    every = load_load(real_loads, n_samples=None, scale=False, zones=[1, 3, 7], lags=1)
    # 1,530 hours are blank: eight weeks with an hour more after each, the end, and the first hour.
    assert len(set(every.sample_id)) == hours_of_history - 1_530 - 8 - 1
    means = [every.y[every.task == name].mean() for name in every.task_names]
    np.testing.assert_allclose(means, [18_640, 187_469, 187_469], rtol=1e-3)
    zone_3, zone_7 = (every.y[every.task == name] for name in ("zone 3", "zone 7"))
    np.testing.assert_array_equal(zone_3, zone_7)


def test_no_leakage_in_the_real_file(real_loads):
    data = load_load(real_loads, n_samples=None, zones=[1], lags=8, scale=False)
    load_at = dict(zip(data.sample_id.tolist(), data.y.tolist(), strict=True))
    for row, hour in zip(data.X[::97], data.sample_id[::97].tolist(), strict=True):
        for lag in range(1, 9):
            assert row[lag - 1] == load_at.get(hour - lag, row[lag - 1])


def test_fill_and_temperature_on_the_real_files(real_loads, hours_of_history):
    data = load_load(real_loads, n_samples=None, zones=[1], lags=1, fill=True, temperature=True)
    # Only the 18 hours that no file gives, and the hour behind them, stay out.
    assert len(data.y) == hours_of_history - 18 - 1 - 1
    assert np.isfinite(data.X).all()
