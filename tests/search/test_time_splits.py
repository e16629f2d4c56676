"""Splits by time and by whole tasks, alone and in scikit-learn's functions."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import cross_validate

import kernelhood as kh
from kernelhood.search.splits import as_splits


def panel(rng, n_tasks=4, n_times=30):
    """Return the task and the time of rows in any order; half of the tasks begin later."""
    task = np.repeat(np.arange(n_tasks), n_times)
    time = np.tile(np.arange(n_times), n_tasks) + 10 * (task % 2)
    order = rng.permutation(len(task))
    return task[order], time[order]


@pytest.mark.parametrize("gap", [0, 3])
def test_the_future_of_all_tasks_is_later_than_what_trains(rng, gap):
    task, time = panel(rng)
    splits = list(kh.TaskTimeSplit(4, gap=gap).split(np.zeros((120, 1)), task=task, time=time))
    assert len(splits) == 4
    tested = np.concatenate([test for _, test in splits])
    assert len(np.unique(tested)) == len(tested)
    for train, test in splits:
        assert time[train].max() + max(gap, 1) <= time[test].min()
        # Nothing else of the past is left out.
        rest = np.setdiff1d(np.flatnonzero(time < time[test].min()), train)
        assert np.all(time[rest] > time[test].min() - max(gap, 1))


def test_blocks_of_tasks_are_their_own(rng):
    task, time = panel(rng)
    for train, test in kh.TaskTimeSplit(4, by_task=True).split(
        np.zeros((120, 1)), task=task, time=time
    ):
        for name in range(4):
            own, later = time[train][task[train] == name], time[test][task[test] == name]
            assert own.max() < later.min()
            assert len(later) == 6
    assert time[train].max() > time[test].min()  # of another task


def test_dates_are_times_and_gaps_are_days():
    date = pd.date_range("2024-01-01", periods=40, freq="D").to_numpy()
    days = np.arange(40)
    expected = list(kh.TaskTimeSplit(3, gap=5).split(np.zeros((40, 1)), time=days))
    for time in (date, date.astype("datetime64[D]").astype(str)):
        found = list(kh.TaskTimeSplit(3, gap=5).split(np.zeros((40, 1)), time=time))
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])


def test_tasks_are_left_out_as_a_whole(rng):
    task = rng.integers(7, size=80)
    splits = list(kh.LeaveTasksOut(3, random_state=0).split(np.zeros((80, 1)), task=task))
    assert sorted(np.concatenate([test for _, test in splits]).tolist()) == list(range(80))
    for train, test in splits:
        assert not set(task[train]) & set(task[test])
        assert len(set(task[test])) in (2, 3)
    one = kh.LeaveTasksOut(None)
    assert one.get_n_splits(np.zeros((80, 1)), task=task) == len(set(task))
    assert [len(set(task[test])) for _, test in one.split(np.zeros((80, 1)), task=task)] == [1] * 7


def test_scikit_learn_routes_task_and_time(rng):
    task, time = panel(rng, n_times=10)
    X = rng.normal(size=(40, 1))
    y = X[:, 0] + task
    model = kh.KernelhoodRegressor(unseen_task="shared")
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(task=True).set_score_request(task=True)
        for cv, given in (
            (kh.TaskTimeSplit(2).set_split_request(task=True, time=True), {"time": time}),
            (kh.LeaveTasksOut(2, random_state=0).set_split_request(task=True), {}),
        ):
            found = cross_validate(model, X, y, cv=cv, params={"task": task, **given})
            assert len(found["test_score"]) == 2
            assert np.isfinite(found["test_score"]).all()


def test_columns_may_name_task_and_time(rng):
    task, time = panel(rng)
    X = np.column_stack([task, time])
    by_column = as_splits(kh.TaskTimeSplit(3, task_column=0, time_column=1), X, None, None, None)
    given = list(kh.TaskTimeSplit(3).split(X, task=task, time=time))
    for one, other in zip(by_column, given, strict=True):
        np.testing.assert_array_equal(one[1], other[1])
    assert len(as_splits(kh.LeaveTasksOut(2), X, None, None, task)) == 2


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (lambda: kh.TaskTimeSplit(0), {}, "n_splits must be at least 1, got 0"),
        (lambda: kh.TaskTimeSplit(gap=-1), {}, "gap must not be negative, got -1"),
        (lambda: kh.TaskTimeSplit(), {}, "time is needed: pass the time of every row"),
        (lambda: kh.TaskTimeSplit(), {"time": ["soon"] * 6}, "numbers or dates such as 2024-05-17"),
        (lambda: kh.TaskTimeSplit(), {"time": [1, 2]}, "for each of the 6 rows"),
        (lambda: kh.TaskTimeSplit(2), {"time": [1] * 6}, "no training row: take fewer splits"),
        (lambda: kh.TaskTimeSplit(2, gap=9), {"time": range(6)}, "or a smaller gap"),
        (lambda: kh.LeaveTasksOut(1), {}, "n_splits must be at least 2 or None, got 1"),
        (lambda: kh.LeaveTasksOut(3), {"task": [0, 0, 0, 1, 1, 1]}, "n_splits=3 needs as many ta"),
    ],
)
def test_bad_arguments_are_named(make, given, message):
    with pytest.raises(ValueError, match=message):
        list(make().split(np.zeros((6, 1)), **given))


@pytest.mark.parametrize("missing", [np.nan, np.datetime64("NaT")])
def test_one_missing_time_is_refused(missing):
    kind = "datetime64[D]" if isinstance(missing, np.datetime64) else np.float64
    time = np.arange(6).astype(kind)
    time[2] = missing
    with pytest.raises(ValueError, match="a number or a date for each of the 6 rows"):
        list(kh.TaskTimeSplit(2).split(np.zeros((6, 1)), time=time))
