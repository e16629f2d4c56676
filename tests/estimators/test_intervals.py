"""Intervals from rows that are held out: how often they hold the target."""

import pickle

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.estimators.calibration import ConformalErrors, HeldOut
from kernelhood.estimators.uncertainty import drawn
from tests.references import make_samples

SIZES = np.array([10, 10, 15, 25, 40, 80, 150, 400])
N_TEST = 100


def tasks_of_many_sizes(rng):
    """Training and test rows of tasks whose functions and noise differ."""
    slope, noise = rng.normal(size=8), 0.5 * np.exp(0.3 * rng.normal(size=8))

    def draw(sizes):
        task = np.repeat(np.arange(8), sizes)
        X = rng.normal(size=(len(task), 2))
        y = np.sin(2.0 * X[:, 0]) + slope[task] * X[:, 1]
        return X, y + noise[task] * rng.normal(size=len(task)), task

    return draw(SIZES), draw(np.full(8, N_TEST))


def model(**settings):
    settings = {"kernels": kh.default_bank()[2:5], "formulation": "corrected", **settings}
    return kh.MTONMKLRegressor(loss="squared", beta=0.05, calibration=0.2).set_params(**settings)


def inside(ends, y):
    return (ends[:, 0] <= y) & (y <= ends[:, 1])


@pytest.mark.parametrize("relation", [None, "mixed"])
def test_intervals_hold_what_they_promise(relation):
    covered = []
    for seed in range(20):
        train, (X, y, task) = tasks_of_many_sizes(np.random.default_rng(seed))
        found = model(relation=relation).fit(*train[:2], task=train[2])
        held = inside(found.predict_interval(X, task=task, coverage=0.9), y)
        covered.append([held[task == t].mean() for t in range(8)])
    assert 0.87 <= np.mean(covered) <= 0.93
    assert np.min(np.mean(covered, axis=0)) >= 0.8


def test_tasks_of_different_noise_have_different_intervals_where_they_have_enough_rows():
    rng = np.random.default_rng(0)
    task, X = np.repeat(["calm", "wild"], 600), rng.normal(size=(1200, 1))
    y = X[:, 0] + np.where(task == "calm", 0.1, 2.0) * rng.normal(size=1200)
    found = model(kernels=[kh.Gaussian(2.0)]).fit(X, y, task=task)
    ends = found.predict_interval(X[[0, -1]], task=task[[0, -1]])
    width = np.diff(ends, axis=1)[:, 0]
    assert width[0] < 0.3 * width[1]
    assert width[1] == pytest.approx(2 * 1.645 * 2.0, rel=0.25)


def test_wider_coverage_is_a_wider_interval_around_the_same_prediction():
    train, (X, _, task) = tasks_of_many_sizes(np.random.default_rng(1))
    found = model(relation="mixed").fit(*train[:2], task=train[2])
    narrow = found.predict_interval(X, task=task, coverage=0.5)
    wide = found.predict_interval(X, task=task, coverage=0.95)
    assert narrow.shape == (len(X), 2)
    assert np.all(wide[:, 0] < narrow[:, 0])
    assert np.all(wide[:, 1] > narrow[:, 1])
    np.testing.assert_allclose(narrow.mean(axis=1), found.predict(X, task=task))
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict_interval(X, task=task, coverage=0.5), narrow)


def test_a_task_that_was_not_seen_has_the_errors_of_all():
    train, (X, _, _) = tasks_of_many_sizes(np.random.default_rng(2))
    found = model(relation="mixed", unseen_task="shared").fit(*train[:2], task=train[2])
    ends = found.predict_interval(X[:3], task=["new"] * 3)
    expected = found._conformal.half_width("nobody knows it", 0.9)
    np.testing.assert_allclose(np.diff(ends, axis=1)[:, 0], 2.0 * expected)


def test_a_target_of_several_columns_has_an_interval_in_each():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    y = np.column_stack([X[:, 0], 10.0 * X[:, 1]]) + rng.normal(size=(80, 2)) * [0.1, 5.0]
    y[::7, 1] = np.nan
    found = model().fit(X, y)
    ends = found.predict_interval(X)
    assert ends.shape == (80, 2, 2)
    width = np.diff(ends, axis=2)[:, :, 0]
    assert np.all(width[:, 0] < width[:, 1])


def test_rows_that_are_held_out_take_no_other_part():
    data = make_samples("regression", sizes=(40, 40))
    found = model(calibration=0.25).fit(data.X, data.y, task=data.task)
    assert found.n_samples_.tolist() == [30.0, 30.0]
    alone = model(calibration=None)
    for number, name in enumerate(found.tasks_):
        kept = np.sort(found._problems[number].rows)
        assert np.all(data.task[kept] == name)
    kept = np.concatenate([one.rows for one in found._problems])
    alone.fit(data.X[kept], data.y[kept], task=data.task[kept])
    np.testing.assert_allclose(
        alone.predict(data.X, task=data.task), found.predict(data.X, task=data.task)
    )


def test_rows_of_weight_zero_are_neither_learned_nor_held_out():
    data = make_samples("regression", sizes=(60,))
    wild = data.y.copy()
    weight = np.where(np.arange(60) % 2 == 0, 1.0, 0.0)
    wild[weight == 0.0] = 1e6
    found = model().fit(data.X, wild, sample_weight=weight)
    assert np.diff(found.predict_interval(data.X[:1], coverage=0.8)[0]) < 20.0


def test_a_refitted_search_has_intervals():
    data = make_samples("regression", sizes=(60, 60))
    search = kh.KernelSearchCV(model(), {"C": [0.5, 2.0]}, cv=3)
    search.fit(data.X, data.y, task=data.task)
    ends = search.best_estimator_.predict_interval(data.X, task=data.task)
    assert ends.shape == (120, 2)


def test_shares_of_small_tasks_are_kept_on_average_and_leave_a_row():
    rng = np.random.default_rng(0)
    numbers = [len(drawn(np.arange(3), 0.2, rng)) for _ in range(500)]
    assert set(numbers) == {0, 1}
    assert np.mean(numbers) == pytest.approx(0.6, abs=0.1)
    assert len(drawn(np.arange(1), 0.9, rng)) == 0
    assert sorted(drawn(np.arange(10), 0.5, rng)) != sorted(drawn(np.arange(10), 0.5, rng))


def test_few_errors_of_a_task_are_completed_by_those_of_the_others():
    many = HeldOut(np.linspace(0.0, 1.0, 200), np.ones(200), 1.0, 100.0)
    few = HeldOut(np.full(2, 5.0), np.ones(2), 1.0, 8.0)
    none = HeldOut(np.zeros(0), np.zeros(0), 1.0, 1.0)
    errors = ConformalErrors(["many", "few", "none"], [many, few, none])
    assert errors.half_width("many", 0.5) < errors.half_width("none", 0.5)
    assert errors.half_width("none", 0.5) == pytest.approx(errors.half_width("unseen", 0.5))
    alone = ConformalErrors(["few"], [few])
    assert errors.half_width("few", 0.4) < alone.half_width("few", 0.4)


def test_errors_count_as_often_as_their_samples():
    twice = HeldOut(np.array([1.0, 2.0]), np.array([60.0, 20.0]), 1.0, 10.0)
    errors = ConformalErrors(["one"], [twice])
    assert errors.half_width("one", 0.5) == pytest.approx(1.0)
    assert errors.half_width("one", 0.66) == pytest.approx(1.0)


def test_what_cannot_be_promised_is_refused():
    data = make_samples("regression", sizes=(30,))
    found = model().fit(data.X, data.y)
    with pytest.raises(ValueError, match=r"coverage=0.99 needs at least 99 rows.*there are 6"):
        found.predict_interval(data.X, coverage=0.99)
    for wrong in (0.0, 1.0, 95, "high"):
        with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
            found.predict_interval(data.X, coverage=wrong)
    with pytest.raises(ValueError, match="set calibration"):
        model(calibration=None).fit(data.X, data.y).predict_interval(data.X)
    with pytest.raises(ValueError, match="calibration=0.1 holds out no row"):
        model(calibration=0.1).fit(data.X[:1], data.y[:1])
    with pytest.raises(ValueError, match="calibration"):
        model(calibration=1.5).fit(data.X, data.y)
