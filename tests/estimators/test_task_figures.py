"""The figures of a fitted model, and the numbers behind them."""

import numpy as np
import pandas as pd
import pytest

import kernelhood as kh
from kernelhood.estimators.parts import columns_that_matter, effect_of, values_at
from kernelhood.estimators.trust import COVERAGES, class_reliability, interval_coverage

N = 120


def table():
    """Return columns of three kinds, of which the date does nothing."""
    rng = np.random.default_rng(0)
    task = np.repeat([f"t{one}" for one in range(6)], N // 6)
    X = pd.DataFrame(
        {
            "size": rng.uniform(1.0, 3.0, size=N),
            "kind": rng.choice(["new", "old", "used"], size=N),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, N), unit="D"),
        }
    )
    y = 2.0 * X["size"] + (X["kind"] == "old") + 0.5 * np.repeat(np.arange(6), N // 6)
    return X, y.to_numpy() + 0.2 * rng.normal(size=N), task


@pytest.fixture(scope="module")
def regressor():
    X, y, task = table()
    return kh.KernelhoodRegressor().fit(X, y, task=task)


@pytest.fixture(scope="module")
def three_classes():
    X, y, task = table()
    return kh.KernelhoodClassifier().fit(X, np.digitize(y, np.quantile(y, [0.3, 0.7])), task=task)


def places_of(model):
    own = np.arange(len(model.tasks_))
    return np.vstack([np.zeros_like(own), own])


def test_columns_come_by_what_they_do(regressor):
    found = columns_that_matter(regressor._function, places_of(regressor))
    assert found[:2] == ["size", "kind"]


def test_an_effect_is_that_of_predictions(regressor):
    X = table()[0]
    effect = effect_of(regressor._function, "size", places_of(regressor))
    assert effect.kind == "number"
    E = regressor._function.E
    typical = regressor._place[np.argmin(np.sum((E - np.median(E, axis=0)) ** 2, axis=1))]
    row = X.iloc[[typical] * len(effect.at)].assign(size=effect.at)
    for number, name in enumerate(regressor.tasks_):
        found = regressor._units.back(effect.mean[number, :, 0], None)
        expected, std = regressor.predict(row, task=[name] * len(row), return_std=True)
        np.testing.assert_allclose(found, expected, atol=1e-8)
        whole = effect.variance[number, :, 0] + regressor._noise_variance_of_a_row
        np.testing.assert_allclose(np.sqrt(whole) * regressor._units.size, std, rtol=1e-6)
    assert set(effect_of(regressor._function, "kind", places_of(regressor)).levels) == {
        "new",
        "old",
        "used",
    }
    assert effect_of(regressor._function, "day", places_of(regressor)).kind == "date"


def test_parts_of_the_function_add_up(regressor):
    function = regressor._function
    total = values_at(function, function.E, function.groups)
    parts = [np.full_like(total, 100.0 * function.a.sum())]
    for level, term in np.argwhere(function.weights > 0.0):
        weights = np.zeros_like(function.weights)
        weights[level, term] = function.weights[level, term]
        part = function.with_weights(weights)
        parts.append(values_at(part, function.E, function.groups) - parts[0])
    np.testing.assert_allclose(sum(parts), total, atol=1e-8)


def test_coverage_is_counted_by_task(regressor):
    found = interval_coverage(regressor)
    assert list(found) == ["left-out rows", "rows of left-out tasks"]
    scores = regressor._scores(by_task=True)
    share = [np.mean(np.abs(scores.values[scores.task == one]) < 1.6448536) for one in range(6)]
    at = int(np.flatnonzero(COVERAGES == 0.9)[0])
    assert found["rows of left-out tasks"][0][at] == pytest.approx(np.mean(share))


def test_calibration_of_classes_is_that_of_left_out_rows(three_classes):
    expected, share, error, off = class_reliability(three_classes)
    found = three_classes.left_out("rows")
    assert expected.mean() == pytest.approx(1.0 / 3.0, abs=1e-6)
    assert expected[-1] <= found.max()
    assert np.all(np.diff(expected) >= 0.0)
    assert off == pytest.approx(np.abs(expected - share).mean(), abs=1e-6)
    assert error.shape == share.shape == (10,)


@pytest.mark.parametrize("kind", ["regressor", "three_classes"])
def test_figures_take_axes_and_return_them(kind, request):
    figure = pytest.importorskip("matplotlib.figure")
    model = request.getfixturevalue(kind)
    calls = [
        lambda ax: model.plot_effect("size", ax=ax),
        lambda ax: model.plot_effect("kind", ax=ax),
        lambda ax: model.plot_effect("day", ax=ax),
        lambda ax: model.plot_task("t2", ax=ax),
        lambda ax: model.plot_shares(ax=ax),
        lambda ax: model.plot_reliability(ax=ax),
        lambda ax: model.task_report().plot(ax=ax),
    ]
    for call in calls:
        given = figure.Figure().subplots()
        assert call(given) is given
        assert given.get_xlabel()
        assert given.has_data()
    drawn = model.plot_shares()
    drawn.figure.draw_without_rendering()
    assert [text.get_text() for text in drawn.get_yticklabels()] != []


def test_unknown_names_are_named(regressor):
    with pytest.raises(ValueError, match="column='weight' is not one the model uses: give 'size'"):
        regressor.plot_effect("weight")
    with pytest.raises(ValueError, match="task='t9' was not in the fit: give 't0'"):
        regressor.plot_task("t9")


def test_dates_that_matplotlib_cannot_draw_are_years():
    rng = np.random.default_rng(0)
    x = pd.Series(np.array(["0092-11-18", "0150-01-01", "0300-06-01"] * 8, dtype="datetime64[s]"))
    y = np.tile([0.0, 1.0, 2.0], 8) + 0.1 * rng.normal(size=24)
    model = kh.KernelhoodRegressor().fit(x.to_frame("when"), y, task=np.arange(24) % 2)
    ax = model.plot_effect("when")
    low, high = ax.get_xlim()
    assert 50.0 < low < 95.0
    assert 300.0 < high < 350.0


def test_columns_without_names_are_drawn_by_number():
    X, task = np.random.default_rng(0).normal(size=(40, 2)), np.repeat(["a", "b"], 20)
    model = kh.KernelhoodRegressor().fit(X, X[:, 1], task=task)
    first, second = (model.plot_effect(column) for column in (1, "column 1"))
    assert first.get_xlabel() == second.get_xlabel() == "column 1"
    with pytest.raises(ValueError, match="column=2 is not"):
        model.plot_effect(2)


def test_an_effect_names_the_class_whose_probability_it_is(three_classes):
    most = three_classes.classes_[np.bincount(three_classes._truth).argmax()]
    label = three_classes.plot_effect("size").get_ylabel()
    assert label == f"probability of {most}, not another"
    X, y, task = table()
    two = kh.KernelhoodClassifier().fit(X[["size"]], np.where(y > 4.0, "yes", "no"), task=task)
    assert two.plot_effect("size").get_ylabel() == "probability of yes"
