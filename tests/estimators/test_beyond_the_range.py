"""What models predict for rows beyond the range of the training rows, such as later ones."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import kernelhood as kh

NAMES = np.array([f"person {k}" for k in range(15)])


def panel(seed=0, n=15, years=range(10), noise=0.3):
    """A common curve of a dose, and a line of each person over the years."""
    rng = np.random.default_rng(seed)
    slope, level = 0.5 + 0.2 * rng.normal(size=n), rng.normal(size=n)
    person, year = np.repeat(np.arange(n), len(years)), np.tile(years, n)
    dose = rng.normal(size=len(person))
    truth = level[person] + slope[person] * year + np.sin(2.0 * dose)
    table = pd.DataFrame({"dose": dose, "year": year.astype(float)})
    return table, truth + noise * rng.normal(size=len(truth)), NAMES[person], truth


@pytest.fixture(scope="module")
def grown():
    X, y, task, _ = panel()
    return kh.KernelhoodRegressor(target_power=1.0).fit(X, y, task=task)


def later(year, n=15):
    return pd.DataFrame({"dose": np.zeros(n), "year": np.full(n, float(year))})


def test_trends_of_every_task_go_on(grown):
    X, _, _, truth = panel(years=range(14))
    ahead = X["year"] == 13.0
    found = grown.predict(later(13).assign(dose=X["dose"][ahead].to_numpy()), task=NAMES)
    last = grown.predict(later(9).assign(dose=X["dose"][ahead].to_numpy()), task=NAMES)
    errors = [float(np.mean((truth[ahead] - one) ** 2)) for one in (found, last)]
    assert errors[0] < errors[1] / 3.0


def test_what_lies_beyond_is_the_mean_of_two_models(grown):
    function = grown._function
    alone = replace(function, slopes=None)
    near, edge, far = later(5), later(9), later(12)
    places = grown._places(far, NAMES)[1]
    np.testing.assert_array_equal(function.mean(near, places), alone.mean(near, places))
    step = function.scaled.bank.encode(far) - function.scaled.bank.encode(edge)
    trend = alone.mean(edge, places)[:, 0] + step @ function.slopes[:, 0]
    by_itself = alone.mean(far, places)[:, 0]
    mean = function.mean(far, places)[:, 0]
    np.testing.assert_allclose(mean, 0.5 * (trend + by_itself), rtol=1e-10)
    # Where the two differ nobody knows.
    added = (function.variance(far, places) - alone.variance(far, places))[:, 0]
    np.testing.assert_allclose(added, 0.25 * (trend - by_itself) ** 2, atol=1e-10)
    assert np.abs(trend - by_itself).max() > 1e-4


def test_the_slope_is_that_of_a_linear_model():
    rng = np.random.default_rng(1)
    task, slope = np.repeat(np.arange(12), 20), np.linspace(2.5, 3.5, 12)
    x = rng.uniform(size=(240, 1))
    y = slope[task] * x[:, 0] + task + 0.01 * rng.normal(size=240)
    for operator in ("dense", "landmarks"):
        model = kh.KernelhoodRegressor(target_power=1.0, operator=operator).fit(x, y, task=task)
        bank, size = model._function.scaled.bank, model._units.size
        unit = np.ptp(x) / (bank.high - bank.low)[0]  # what a feature of 1 is in the column
        found = model._function.slopes[0, 0] * size / unit
        assert found == pytest.approx(3.0, rel=0.05)


def test_no_column_goes_further_than_its_range(grown):
    bank = grown._function.scaled.bank
    width = bank.high - bank.low
    ends = bank.encode(pd.DataFrame({"dose": [1e12, -1e12], "year": [-1e300, 1e300]}))
    np.testing.assert_allclose(ends[0], [bank.high[0] + width[0], bank.low[1] - width[1]])
    np.testing.assert_allclose(ends[1], [bank.low[0] - width[0], bank.high[1] + width[1]])
    table = pd.DataFrame({"dose": [0.0, 0.0], "year": [9.0, 9.09]})
    first, second = bank.encode(table)[:, 1]
    np.testing.assert_allclose(second - first, 0.01 * width[1], rtol=1e-3)


def test_units_and_orders_change_nothing_beyond_the_range(grown):
    X, y, task, _ = panel()
    order = np.random.default_rng(2).permutation(len(y))
    moved = X.iloc[order][["year", "dose"]] * [1e-3, 1e6] + [7.0, 0.0]
    other = kh.KernelhoodRegressor(target_power=1.0).fit(moved, 1e4 * y[order], task=task[order])
    far = later(13)[["year", "dose"]] * [1e-3, 1e6] + [7.0, 0.0]
    found = other.predict(far, task=NAMES) / 1e4
    np.testing.assert_allclose(found, grown.predict(later(13), task=NAMES), atol=0.02)


def test_a_new_task_has_the_common_trend_and_a_saved_model_all_of_it(grown):
    with pytest.warns(UserWarning, match="not seen in fit"):
        found = grown.predict(pd.concat([later(9, n=1), later(13, n=1)]), task=["nobody"] * 2)
    assert 0.8 < np.diff(found)[0] < 2.4  # the mean slope is about a half
    again = pickle.loads(pickle.dumps(grown))
    np.testing.assert_allclose(
        again.predict(later(13), task=NAMES), grown.predict(later(13), task=NAMES)
    )


def test_classes_go_on_too():
    X, y, task, _ = panel(years=range(12))
    kind = np.where(y - np.median(y) > 0.0, "much", "little")
    model = kh.KernelhoodClassifier().fit(X, kind, task=task)
    assert model._function.slopes is not None
    probability = [model.predict_proba(later(year), task=NAMES)[:, 1] for year in (11, 16)]
    assert np.all(probability[1] > probability[0] - 0.05)
    assert model.predict(later(16), task=NAMES).tolist().count("much") >= 14


def test_levels_alone_stay_what_they_are():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(60, 1)), np.arange(60) % 6
    model = kh.KernelhoodRegressor().fit(X, task + rng.normal(size=60), task=task)
    assert model._function.slopes is None
    with pytest.warns(UserWarning, match="leaves its training range"):
        far = model.predict([[50.0]], task=[3])
    np.testing.assert_allclose(far, model.predict([[0.0]], task=[3]))


def test_left_out_rows_may_speak_for_a_column_of_which_the_evidence_is_not_sure():
    child, age = np.repeat(np.arange(27), 2), np.tile([8.0, 10.0], 27)
    changes = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = 1.3 * rng.normal(size=27)[child] + 0.55 * (age - 9.0) + rng.normal(size=54)
        model = kh.KernelhoodRegressor(target_power=1.0).fit(age[:, None], y, task=child)
        changes.append(float(np.diff(model.predict([[8.0], [10.0]], task=[0, 0]))[0]))
    assert np.sum(np.array(changes) > 0.3) >= 8  # of 1.1; an evidence of 20 to 1 has 3


def test_a_task_far_from_all_others_is_not_expected_to_explode():
    rng = np.random.default_rng(3)
    size = np.repeat(np.exp(rng.normal(size=20)), 6)
    x = np.column_stack([np.log(size), size, rng.normal(size=120)])
    y = np.exp(2.0 * x[:, 0] + 0.1 * rng.normal(size=120))
    task = np.repeat(np.arange(20), 6)
    model = kh.KernelhoodRegressor(target_power=0.0, unseen_task="shared").fit(x, y, task=task)
    far = [[5.0, 400.0, 8.0]]
    with pytest.warns(UserWarning, match="leaves its training range"):
        mean, std = model.predict(far, task=["new"], return_std=True)
    ends = model.predict_interval(far, task=["new"])[0]
    assert ends[0] < mean[0] < ends[1] < np.inf
    assert std[0] > y.std()
    variances = np.array([1.0, 50.0])
    found = model._units.back(np.array([0.5, 0.5]), variances)
    assert found[1] == pytest.approx(found[0])
