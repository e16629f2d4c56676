"""Predictions of rows and tasks that are left out, and intervals by their errors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import kernelhood as kh
from kernelhood.estimators.intervals import Scores, learned_apart
from tests.estimators.test_kernelhood import make_table


@pytest.fixture(scope="module")
def fitted():
    X, y, task = make_table(120)
    weight = np.where(np.arange(120) % 4 == 0, 0.5, 1.0)
    return kh.KernelhoodRegressor().fit(X, y, task=task, sample_weight=weight)


def without(function, rows):
    """Return a function of the other rows, at the same weights."""
    kept = np.setdiff1d(np.arange(len(function.E)), rows)
    part = replace(
        function, E=function.E[kept], groups=function.groups[:, kept], noise=function.noise[kept]
    )
    S = part._covariance(part.E, part.groups) + np.diag(part.noise[:, 0])
    return replace(part, a=np.linalg.solve(S, function.targets[kept]))


@pytest.mark.parametrize("kind", ["rows", "tasks", "labels"])
def test_they_are_those_of_a_fit_without_them(fitted, kind):
    X, y, task = make_table(120)
    labels = {"rows": np.arange(120), "tasks": task, "labels": np.arange(120) // 7}[kind]
    residual, std = fitted.left_out(labels if kind == "labels" else kind)
    function, units, place = fitted._function, fitted._units, fitted._place
    np.testing.assert_allclose(units.back(function.targets[:, 0], None), y[place])
    for label in dict.fromkeys(labels.tolist()):
        rows = np.flatnonzero(labels[place] == label)
        part, own = without(function, rows), function.groups[:, rows].copy()
        if kind == "tasks":
            own[fitted.levels_.index("own")] = -1
        X_own = X.iloc[place[rows]]
        mean = units.back(part.mean(X_own, own)[:, 0], None)
        np.testing.assert_allclose(residual[place[rows]], y[place[rows]] - mean, atol=1e-8)
        variance = part.variance(X_own, own)[:, 0] + function.noise[rows, 0]
        np.testing.assert_allclose(std[place[rows]], np.sqrt(variance) * units.size, rtol=1e-6)


def test_they_stand_where_the_targets_were_given():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    wide = X**2 + np.arange(6) + 0.1 * rng.normal(size=(20, 6))
    wide[3, 2] = np.nan
    model = kh.KernelhoodRegressor().fit(X, wide)
    residual, std = model.left_out("rows")
    assert residual.shape == std.shape == (20, 6)
    assert np.argwhere(np.isnan(residual)).tolist() == [[3, 2]]
    alone, _ = model.left_out(np.arange(20))  # a row of all tasks
    assert np.nanmean(alone**2) > np.nanmean(residual**2)
    with pytest.raises(ValueError, match="groups='row' is unknown; give 'rows', 'tasks' or a la"):
        model.left_out("row")
    with pytest.raises(ValueError, match="groups"):
        model.left_out(np.arange(7))


def covered(ends, y):
    return np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_as_often_as_they_say(coverage):
    """Over 8 draws with 600 rows the standard error of a share is below 0.02."""
    shares = []
    for seed in range(8):
        X, y, task = make_table(720, seed=seed)
        model = kh.KernelhoodRegressor().fit(X[:120], y[:120], task=task[:120])
        ends = model.predict_interval(X[120:], task=task[120:], coverage=coverage)
        shares.append(covered(ends, y[120:]))
    assert np.mean(shares) == pytest.approx(coverage, abs=0.06)


def test_weights_of_the_scores_have_not_seen_the_row(fitted):
    """Another target of a row changes its own residual by as much, and not its variance."""
    function, noise = fitted._function, fitted._noise_variance_of_a_row
    given = fitted._candidates, fitted._tau, noise, list(np.arange(120)[:, None])
    residual, variance = learned_apart(function, *given)
    z = function.targets[:, 0].copy()
    z[33] += 2.0
    other = replace(function, a=function._factors[0].solve(z)[:, None])
    changed, same = learned_apart(other, *given)
    assert changed[33] - residual[33] == pytest.approx(2.0, abs=1e-6)
    assert same[33] == pytest.approx(variance[33], rel=1e-6)
    assert not np.allclose(same, variance, rtol=1e-6)


def test_tasks_whose_errors_are_larger_get_longer_intervals():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(600, 1)), np.arange(600) % 3
    y = X[:, 0] + np.array([0.1, 0.1, 1.0])[task] * rng.normal(size=600)
    model = kh.KernelhoodRegressor().fit(X[:300], y[:300], task=task[:300])
    ends = model.predict_interval(X[300:], task=task[300:], coverage=0.8)
    lengths = [np.mean(np.diff(ends[task[300:] == one])) for one in range(3)]
    assert lengths[2] > 4.0 * max(lengths[:2])
    for one in range(3):
        own = task[300:] == one
        assert covered(ends[own], y[300:][own]) == pytest.approx(0.8, abs=0.15)


def test_a_new_task_gets_longer_intervals_that_hold():
    rng = np.random.default_rng(1)
    task = np.repeat(np.arange(60), 8)
    X, level = rng.normal(size=(480, 1)), rng.normal(size=60)
    y = X[:, 0] + level[task] + 0.2 * rng.normal(size=480)
    old = task < 30
    model = kh.KernelhoodRegressor(unseen_task="shared").fit(X[old], y[old], task=task[old])
    ends = model.predict_interval(X, task=task, coverage=0.8)
    assert np.mean(np.diff(ends[~old])) > 2.0 * np.mean(np.diff(ends[old]))
    assert covered(ends[~old], y[~old]) == pytest.approx(0.8, abs=0.2)  # of 30 levels


def test_quantiles_ascend_and_have_the_shape_of_the_targets(fitted):
    X, _, task = make_table(120)
    found = fitted.predict_quantiles(X, task=task, quantiles=[0.05, 0.5, 0.95])
    assert found.shape == (120, 3)
    assert np.all(np.diff(found, axis=1) > 0.0)
    ends = fitted.predict_interval(X, task=task, coverage=0.9)
    np.testing.assert_allclose(ends, found[:, [0, 2]])
    wide = kh.KernelhoodRegressor().fit(X, np.column_stack([X["x"], X["z"]]))
    assert wide.predict_quantiles(X, quantiles=[0.2, 0.8]).shape == (120, 2, 2)
    with pytest.raises(ValueError, match=r"quantiles must be levels between 0 and 1.*\[0.9, 0.1\]"):
        fitted.predict_quantiles(X, task=task, quantiles=[0.9, 0.1])
    with pytest.raises(ValueError, match=r"coverage=90 must be between 0 and 1, such as 0.9"):
        fitted.predict_interval(X, task=task, coverage=90)


def test_intervals_of_a_power_of_the_targets_stay_positive():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(200, 1)), np.arange(200) % 4
    y = np.exp(X[:, 0] + 0.5 * task + 0.3 * rng.normal(size=200))
    model = kh.KernelhoodRegressor(target_power=0.0).fit(X, y, task=task)
    ends = model.predict_interval(X, task=task, coverage=0.9)
    assert np.all(ends > 0.0)
    assert covered(ends, y) > 0.8


def test_rows_of_an_occasion_are_left_out_together():
    rng = np.random.default_rng(0)
    week, task = np.repeat(np.arange(40), 6), np.tile(np.arange(6), 40)
    X = pd.DataFrame({"x": rng.normal(size=240)})
    shock = rng.normal(size=40)
    y = X["x"].to_numpy() + shock[week] + 0.1 * rng.normal(size=240)
    train = week < 20
    model = kh.KernelhoodRegressor().fit(X[train], y[train], task=task[train], occasion=week[train])
    ends = model.predict_interval(X[~train], task=task[~train], coverage=0.8)
    # The shocks of new weeks are part of what a prediction can miss.
    assert covered(ends, y[~train]) > 0.6
    assert np.mean(np.diff(ends)) > 1.0


def test_few_scores_are_those_of_the_model():
    scores = Scores(np.array([0.1, -0.2, 0.3]), np.array([0, 0, 1]))
    assert scores.quantiles([0.95])[0] > 1.0
    many = np.random.default_rng(0).normal(size=4000) * 3.0
    wide = Scores(many, np.zeros(4000, dtype=int))
    assert wide.quantiles([0.9])[0] == pytest.approx(np.quantile(many, 0.9), rel=0.01)
    np.testing.assert_array_equal(wide.sizes, [1.0])


def classified(kind):
    """Return a fit of two classes, of three, or of tasks with two classes of their own."""
    X, y, task = make_table(90)
    y = y - np.median(y)
    if kind == "two":
        labels = np.where(y > 0.0, "yes", "no")
    elif kind == "three":
        labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    else:
        names = list(dict.fromkeys(task.tolist()))
        labels = np.array([2 * names.index(one) for one in task.tolist()]) + (y > 0.0)
    return kh.KernelhoodClassifier().fit(X, labels, task=task), labels, X, task


@pytest.mark.parametrize("kind", ["two", "three", "own"])
def test_probabilities_of_left_out_rows_are_those_of_a_fit_without_them(kind):
    model, labels, X, task = classified(kind)
    function, place = model._function, model._place
    np.testing.assert_array_equal(model.classes_[model._truth], labels[place])
    rows_left_out, tasks_left_out = model.left_out("rows"), model.left_out(task)
    assert rows_left_out.shape == (90, len(model.classes_))
    np.testing.assert_allclose(rows_left_out.sum(axis=1), 1.0)
    groups = [(rows_left_out, [place_of]) for place_of in range(0, 90, 9)]
    groups += [(tasks_left_out, np.flatnonzero(task[place] == one)) for one in np.unique(task)]
    for found, rows in groups:
        kept = np.setdiff1d(np.arange(90), rows)
        part = replace(
            function,
            E=function.E[kept],
            groups=function.groups[:, kept],
            noise=function.noise[kept],
            a=function.a[kept],
        )
        S = part._covariance(part.E, part.groups)
        solved = [
            np.linalg.solve(S + np.diag(noise), z)
            for noise, z in zip(part._noise_of, function.targets[kept].T, strict=True)
        ]
        fitted = replace(part, a=np.column_stack(solved))
        places = function.groups[:, rows]
        mean = fitted.mean(X.iloc[place[rows]], places)
        variance = fitted.variance(X.iloc[place[rows]], places)
        expected = 1.0 / (1.0 + np.exp(-mean / np.sqrt(1.0 + np.pi / 8.0 * variance)))
        if kind == "two":
            expected = expected[:, 0]
            own = found[place[rows], 1]
        elif kind == "three":
            expected = expected / expected.sum(axis=1, keepdims=True)
            own = found[place[rows]]
        else:
            expected = expected[:, 0]
            own = found[place[rows], model._pairs_of(places)[:, 1]]
        np.testing.assert_allclose(own, expected, atol=1e-8)


def test_intervals_hold_in_tasks_of_few_rows_with_noise_of_their_own():
    rng = np.random.default_rng(0)
    task, noise = np.repeat(np.arange(1000), 3), np.exp(0.6 * rng.normal(size=1000))
    scores = Scores(noise[task] * rng.normal(size=3000), task)
    low, high = scores.quantiles([0.05, 0.95])
    new = noise[:, None] * rng.normal(size=(1000, 20)) / scores.sizes[:, None]
    # 0.85 if a row is measured by a size that it has taught
    assert np.mean((low < new) & (new < high)) == pytest.approx(0.9, abs=0.025)
    alone = Scores(np.array([1.0, -2.0, 0.5]), np.array([0, 1, 2]))
    np.testing.assert_array_equal(alone.sizes, 1.0)


def test_errors_of_many_rows_allow_for_the_variances_that_they_have_taught(fitted, monkeypatch):
    monkeypatch.setattr("kernelhood.estimators.intervals._LEARNED_AGAIN", 0)
    found = fitted._new_scores(by_task=False)
    residual, std = (one[fitted._place] for one in fitted.left_out("rows"))
    learned = 1 + np.count_nonzero(fitted.weights_)
    np.testing.assert_allclose(found.values, residual / std / np.sqrt(1.0 - learned / len(std)))
