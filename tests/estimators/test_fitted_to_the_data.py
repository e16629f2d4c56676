"""Models whose bank and units are fitted to the training rows of all tasks."""

import numpy as np
import pandas as pd
import pytest

import kernelhood as kh

TIGHT = {"tol": 1e-7}


@pytest.fixture
def table(rng):
    """Return twelve rows for each of six tasks, of which one column of four tells something."""
    X, task = rng.normal(size=(72, 4)), np.repeat(np.arange(6), 12)
    y = np.sin(2.0 * X[:, 1]) + rng.normal(size=6)[task] + 0.1 * rng.normal(size=72)
    return X, y, task


def units(X, y):
    yield 1e4 * X + 1e6, y
    yield X.astype(np.float32), y
    yield X, 1e4 * y + 1e6


@pytest.mark.parametrize("relation", ["independent", "mixed"])
def test_units_of_inputs_and_targets_change_no_prediction(table, relation):
    X, y, task = table
    model = kh.MTONMKLRegressor(kernels="auto", relation=relation, formulation="corrected", **TIGHT)
    expected = model.fit(X, y, task=task).predict(X, task=task)
    spread = np.std(y)
    for X_new, y_new in units(X, y):
        found = model.fit(X_new, y_new, task=task).predict(X_new, task=task)
        back = found if y_new is y else (found - 1e6) / 1e4
        np.testing.assert_allclose(back, expected, atol=2e-3 * spread)


def test_units_of_inputs_change_no_class(table):
    X, _, task = table
    labels = np.where(X[:, 1] > 0.0, "high", "low")
    model = kh.MTONMKLClassifier(relation="mixed", formulation="corrected", beta=0.01, **TIGHT)
    expected = model.fit(X, labels, task=task).decision_function(X, task=task)
    for X_new in (1e4 * X + 1e6, X.astype(np.float32)):
        found = model.fit(X_new, labels, task=task).decision_function(X_new, task=task)
        np.testing.assert_allclose(found, expected, atol=5e-3)


def test_the_column_that_matters_is_found(table):
    X, y, task = table
    frame = pd.DataFrame(X, columns=["wind", "sun", "rain", "snow"])
    model = kh.MTONMKLRegressor(kernels="auto", relation="mixed", formulation="corrected")
    weights = model.fit(frame, y, task=task).weights_table().iloc[0]
    assert weights.index.tolist() == model.kernels_.names
    assert weights.drop("constant").idxmax().endswith("[sun]")


def test_tasks_solved_together_have_the_unit_within_tasks(table):
    X, y, task = table
    together = kh.MTONMKLRegressor(relation="mixed").fit(X, y, task=task)
    within = y - np.array([y[task == t].mean() for t in range(6)])[task]
    np.testing.assert_allclose(together.target_scale_, np.sqrt(within @ within / (72 - 6)))
    np.testing.assert_allclose(together.target_centre_, y.mean())
    alone = kh.MTONMKLRegressor(relation="independent").fit(X, y, task=task)
    np.testing.assert_allclose(alone.target_centre_[2], y[task == 2].mean())
    np.testing.assert_allclose(alone.target_scale_[2], y[task == 2].std(ddof=1))
    columns = np.column_stack([y, 1e6 * y])
    wide = kh.MTONMKLRegressor(relation="mixed").fit(X, columns)
    np.testing.assert_allclose(wide.target_scale_[1] / wide.target_scale_[0], 1e6)
    single = kh.MTONMKLRegressor(relation="mixed").fit(X[::12], y[::12], task=task[::12])
    np.testing.assert_allclose(single.target_scale_, y[::12].std())


@pytest.mark.parametrize("kernels", ["paper", [kh.Linear()]])
def test_given_kernels_leave_targets_alone_unless_asked(table, kernels):
    X, y, task = table
    model = kh.MTONMKLRegressor(kernels=kernels, relation="independent").fit(X, y, task=task)
    np.testing.assert_array_equal(model.target_scale_, 1.0)
    asked = kh.MTONMKLRegressor(kernels=kernels, standardize_targets=True).fit(X, y, task=task)
    assert np.all(asked.target_scale_ != 1.0)


def test_what_is_learned_later_has_the_same_units(table):
    X, y, task = table
    old = task < 5
    model = kh.MTONMKLRegressor(relation="mixed", formulation="corrected", unseen_task="shared")
    model.fit(X[old], 1e4 * y[old], task=task[old])
    before = model.score(X[~old], 1e4 * y[~old], task=task[~old])
    shared = model.shared_function(X[~old])
    np.testing.assert_allclose(shared, model.predict(X[~old], task=task[~old]))
    model.adapt(X[~old], 1e4 * y[~old], task=task[~old])
    assert model.score(X[~old], 1e4 * y[~old], task=task[~old]) > max(before, 0.5)


@pytest.mark.parametrize("relation", ["independent", "mixed"])
def test_a_search_fits_the_bank_to_the_training_rows_of_each_split(table, relation):
    X, y, task = table
    X, y = 1e3 * X, 1e3 * y
    train, test = np.flatnonzero(np.arange(72) % 3 > 0), np.flatnonzero(np.arange(72) % 3 == 0)
    model = kh.MTONMKLRegressor(relation=relation, formulation="corrected", **TIGHT)
    grid = {"kernels": ["auto", "small", "paper"]}
    search = kh.KernelSearchCV(model, grid, cv=[(train, test)], refit=False)
    search.fit(X, y, task=task)
    for kernels, score in zip(
        search.cv_results_["param_kernels"], search.cv_results_["mean_test_score"], strict=True
    ):
        alone = model.set_params(kernels=kernels).fit(X[train], y[train], task=task[train])
        expected = alone.score(X[test], y[test], task=task[test])
        assert score == pytest.approx(expected, abs=1e-3)


def test_columns_of_a_frame_may_hold_categories(table):
    X, y, task = table
    shop = np.array(["left", "right"])[(np.arange(72) % 7) % 2]
    y = y + 3.0 * (shop == "left")
    frame = pd.DataFrame({"sun": X[:, 1], "shop": shop, "kind": pd.Categorical(task % 3)})
    model = kh.MTONMKLRegressor(kernels="auto", relation="mixed", formulation="corrected")
    model.fit(frame, y, task=task)
    assert {"equality[shop]", "equality[kind]"} <= set(model.kernels_.names)
    assert model.score(frame, y, task=task) > 0.9
    unknown = model.predict(frame.assign(shop="middle"), task=task)
    sides = [model.predict(frame.assign(shop=one), task=task) for one in ("left", "right")]
    assert np.all((unknown - sides[0]) * (unknown - sides[1]) < 0.0)
    with pytest.raises(ValueError, match="'shop' holds text"):
        kh.MTONMKLRegressor(kernels="paper").fit(frame, y, task=task)


def test_missing_values_are_refused_or_told_of(table):
    X, y, task = table
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[frame.index % 5 == 0, "a"] = np.nan
    y = y + 2.0 * frame["a"].isna().to_numpy()
    model = kh.MTONMKLRegressor(relation="mixed", formulation="corrected")
    with pytest.raises(ValueError, match="'a' holds missing values"):
        model.fit(frame, y, task=task)
    model.set_params(missing="indicator").fit(frame, y, task=task)
    assert "missing[a]" in model.kernels_.names
    assert model.score(frame, y, task=task) > 0.8
    given = model.set_params(kernels="paper").fit(frame, y, task=task)
    assert given.kernels_.names[-2:] == ["missing[a]", "constant"]
    assert np.isfinite(given.predict(frame, task=task)).all()


def test_kernels_that_are_given_ask_for_names_of_columns_alone(table, monkeypatch):
    X, y, task = table
    monkeypatch.setattr(kh.kernels.InputSummary, "of", lambda *_, **__: pytest.fail("looked"))
    frame = pd.DataFrame(X, columns=list("abcd"))
    kernels = [kh.Gaussian(1.0, columns=("b",)), kh.Linear()]
    model = kh.MTONMKLRegressor(kernels=kernels).fit(frame, y, task=task)
    again = kh.MTONMKLRegressor(kernels=[kh.Gaussian(1.0, columns=(1,)), kh.Linear()])
    again.fit(X, y, task=task)
    np.testing.assert_array_equal(model.predict(frame, task=task), again.predict(X, task=task))
