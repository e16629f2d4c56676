"""What a model knows of each task, and simple models beside it."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import Ridge

import kernelhood as kh
from kernelhood.estimators.one_hot import _residuals, logistic_left_out, task_shares
from kernelhood.estimators.task_report import HELPED, HURT, SAME, _compared


def made_tasks(seed, n_tasks=10, n_rows=25, odd=2):
    """Return tasks with a common function and a slope each, but for some that go their own way."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(n_tasks), n_rows)
    x = rng.uniform(-2.0, 2.0, len(code))
    y = np.sin(2.0 * x) + 0.1 * x * rng.normal(size=n_tasks)[code]
    alone = code >= n_tasks - odd
    y[alone] = np.cos(2.5 * x[alone] + code[alone])
    return x[:, None], y + 0.3 * rng.normal(size=len(code)), code


@pytest.fixture(scope="module")
def fitted():
    X, y, task = made_tasks(0)
    return kh.KernelhoodRegressor().fit(X, y, task=task), y, task


def test_errors_are_those_of_left_out_rows(fitted):
    model, _, task = fitted
    report = model.task_report()
    squares = model.left_out("rows")[0] ** 2
    expected = [np.sqrt(squares[task == one].mean()) for one in range(10)]
    np.testing.assert_allclose(report.error, expected)
    np.testing.assert_array_equal(report.rows, 25)
    assert report.total["model"] == pytest.approx(np.sqrt(squares.mean()))


def test_alone_a_task_has_only_its_own_rows(fitted):
    """To know nothing of the others is to predict a row without them and without itself."""
    model, _, task = fitted
    squares = []
    for row in np.flatnonzero(task == 3):
        groups = np.where(task == 3, task.size + np.arange(task.size), 0)
        groups[row] = 0  # the other tasks and this row
        squares.append(model.left_out(groups)[0][row] ** 2)
    assert model.task_report().alone[3] == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-8)


def test_alone_is_the_same_with_landmarks():
    rng = np.random.default_rng(0)
    task, X = np.repeat(np.arange(4), 20), rng.normal(size=(80, 2))
    y = np.sin(2.0 * X[:, 0] * X[:, 1]) + task + 0.1 * rng.normal(size=80)
    model = kh.KernelhoodRegressor(operator="landmarks").fit(X, y, task=task)
    squares = []
    for row in np.flatnonzero(task == 2):
        groups = np.where(task == 2, 80 + np.arange(80), 0)
        groups[row] = 0
        squares.append(model.left_out(groups)[0][row] ** 2)
    report = model.task_report()
    assert report.alone[2] == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-6)
    assert all(np.isfinite(one).all() for one in report.parts.values())


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_the_report_is_a_table(fitted, kind):
    model, y, task = fitted
    if kind == "classification":
        X = made_tasks(0)[0]
        model = kh.KernelhoodClassifier().fit(X, y > 0.0, task=task)
    report = model.task_report()
    frame = report.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(report) == 10
    if kind == "classification":
        np.testing.assert_allclose(report.gain, report.alone - report.error)
    assert set(frame["sharing"]) <= {HELPED, HURT, SAME}
    assert ("noise" in frame) == (kind == "regression")
    text = str(report)
    assert text.startswith("Sharing helped")
    assert len(text.splitlines()) == 14
    assert report.scores() in text
    assert all(len(own) == 3 for own in report.nearest)
    total = sum(report.parts.values())
    assert np.all(total > 0.0)


def test_a_gain_is_that_of_the_predicted_density(fitted):
    model, _, task = fitted
    residual, std = model.left_out("rows")
    own = np.flatnonzero(task == 2)
    alone = []
    for row in own:
        groups = np.where(task == 2, task.size + np.arange(task.size), 0)
        groups[row] = 0
        off, spread = (one[row] for one in model.left_out(groups))
        alone.append(norm.logpdf(off, scale=spread))
    gained = norm.logpdf(residual[own], scale=std[own]) - alone
    report = model.task_report()
    assert report.gain[2] == pytest.approx(np.mean(gained), abs=1e-8)
    assert report.std[2] == pytest.approx(np.std(gained, ddof=1) / 5.0, rel=1e-6)


def test_the_sentence_counts_and_names():
    gained = np.repeat([1.0, -1.0, 0.0], 20) + 0.1 * np.tile([1.0, -1.0], 30)
    mean, std, sharing = _compared(gained, np.repeat([0, 1, 2], 20))
    np.testing.assert_allclose(mean, [1.0, -1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(std, 0.1 / np.sqrt(19.0))
    assert sharing == [HELPED, HURT, SAME]
    lonely = _compared(np.array([1.0, 2.0, 2.0]), np.array([0, 1, 1]))
    assert np.isnan(lonely[1][0])
    assert lonely[2] == [SAME, SAME]


def test_one_task_shares_nothing():
    X, y, _ = made_tasks(1, n_tasks=1, n_rows=40, odd=0)
    model = kh.KernelhoodRegressor().fit(X, y)
    report = model.task_report()
    assert report.summary() == "There is one task, so nothing is shared."
    np.testing.assert_allclose(report.alone, report.error, rtol=1e-6)
    assert "nearest tasks" not in report.columns()


def test_nearest_tasks_have_the_nearest_functions():
    rng = np.random.default_rng(0)
    code, x = np.repeat(np.arange(6), 20), rng.uniform(size=120)
    level = np.array([0.0, 0.1, 5.0, 5.1, 9.0, 9.1])
    y = level[code] + x + 0.01 * rng.normal(size=120)
    model = kh.KernelhoodRegressor().fit(x[:, None], y, task=[f"t{one}" for one in code])
    report = model.task_report()
    assert [own[0] for own in report.nearest] == ["t1", "t0", "t3", "t2", "t5", "t4"]
    assert all(one.startswith("own: ") for one in report.uses)


@pytest.mark.parametrize("groups", ["rows", "pairs"])
def test_ridge_of_left_out_rows_is_that_of_a_fit_without_them(groups):
    rng = np.random.default_rng(0)
    task, X = rng.integers(4, size=40), rng.normal(size=(40, 3))
    y, weight = rng.normal(size=40), rng.uniform(0.5, 2.0, size=40)
    left = np.arange(40)[:, None] if groups == "rows" else np.arange(40).reshape(20, 2)
    found = _residuals(np.column_stack([np.ones(40), X]), task, y, weight, 0.7, list(left))
    whole = np.hstack([X, np.eye(4)[task]])
    for rows in left:
        rest = np.setdiff1d(np.arange(40), rows)
        model = Ridge(0.7, tol=1e-12).fit(whole[rest], y[rest], weight[rest])
        np.testing.assert_allclose(found[rows], y[rows] - model.predict(whole[rows]), atol=1e-6)


def test_logistic_regression_knows_what_is_linear():
    rng = np.random.default_rng(0)
    task, X = rng.integers(3, size=300), rng.normal(size=(300, 2))
    labels = np.where(3.0 * X[:, 0] + 2.0 * (task - 1.0) + rng.logistic(size=300) > 0, 1.0, -1.0)
    one = np.ones(300)
    logits = logistic_left_out(
        X, task, np.column_stack([labels, one]), list(np.arange(300)[:, None])
    )
    assert np.mean(labels * logits[:, 0] > 0.0) > 0.8
    assert np.all(logits[:, 1] > 5.0)


def test_shares_of_a_task_leave_the_group_out():
    Y, task = np.array([[1.0], [3.0], [5.0], [9.0]]), np.array([0, 0, 0, 1])
    found = task_shares(Y, task, [np.array([0, 3]), np.array([1]), np.array([2])])
    overall = [4.0, 5.0, 13.0 / 3.0, 4.0]
    expected = [(8.0 + 4.0) / 3.0, (6.0 + 5.0) / 3.0, (4.0 + 13.0 / 3.0) / 3.0, 4.0]
    assert overall[0] == 4.0
    np.testing.assert_allclose(found[:, 0], expected)


@pytest.mark.parametrize("seed", [1, 2])
def test_tasks_with_functions_of_their_own_are_not_helped(seed):
    X, y, task = made_tasks(seed, n_tasks=12, n_rows=12, odd=2)
    report = kh.KernelhoodRegressor().fit(X, y, task=task).task_report()
    assert HELPED not in report.sharing[10:]
    assert report.gain[:10].mean() > max(report.gain[10:])
