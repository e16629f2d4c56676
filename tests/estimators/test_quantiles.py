"""Several quantiles of one model along a path."""

import pickle

import numpy as np
import pytest

import kernelhood as kh
from tests.references import make_samples

LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]


def model(**settings):
    settings = {"kernels": kh.default_bank()[2:6], "formulation": "corrected", **settings}
    return kh.MTONMKLRegressor(beta=0.01).set_params(**settings)


@pytest.mark.parametrize("relation", [None, "mixed"])
@pytest.mark.parametrize("formulation", ["corrected", "printed"])
def test_every_level_is_the_model_of_its_own_loss(relation, formulation):
    data = make_samples("regression", sizes=(20, 25, 15))
    settings = {"relation": relation, "formulation": formulation, "tol": 1e-7}
    found = model(**settings).fit(data.X, data.y, task=data.task)
    values = found.predict_quantiles(data.X, task=data.task, quantiles=LEVELS)
    assert values.shape == (60, 5)
    assert np.all(np.diff(values, axis=1) >= 0.0)
    alone = [
        model(**settings, loss="quantile", quantile=level)
        .fit(data.X, data.y, task=data.task)
        .predict(data.X, task=data.task)
        for level in LEVELS
    ]
    np.testing.assert_allclose(values, np.sort(np.stack(alone, axis=1), axis=1), atol=0.02)
    assert all(one.dual_gap_ <= 1e-7 for one in found._at_level.values())


@pytest.mark.parametrize("relation", [None, "mixed"])
def test_levels_of_a_problem_with_many_solutions_are_certified_too(relation):
    data = make_samples("regression", sizes=(60, 70))
    found = model(relation=relation, formulation="normalized", C=0.1, tol=1e-5)
    values = found.fit(data.X, data.y, task=data.task).predict_quantiles(
        data.X, task=data.task, quantiles=LEVELS
    )
    assert all(one.dual_gap_ <= 1e-5 for one in found._at_level.values())
    below = np.mean(data.y[:, None] <= values, axis=0)
    np.testing.assert_allclose(below, LEVELS, atol=0.06)


def test_functions_that_cross_are_put_in_order():
    """With narrow kernels and few samples neighbouring levels do cross."""
    data = make_samples("regression", sizes=(40,))
    found = model(C=100.0, beta=1e-4).fit(data.X, data.y)
    grid = np.random.default_rng(1).normal(size=(300, 3))
    levels = np.linspace(0.05, 0.95, 10)
    values = found.predict_quantiles(grid, quantiles=levels)
    raw = np.stack([found._at_level[level].predict(grid) for level in levels.tolist()], axis=1)
    assert np.any(np.diff(raw, axis=1) < 0.0)
    assert np.all(np.diff(values, axis=1) >= 0.0)


def test_levels_are_fitted_once_and_start_from_the_one_below(monkeypatch):
    data = make_samples("regression", sizes=(50, 40))
    found = model(formulation="normalized").fit(data.X, data.y, task=data.task)
    first = found.predict_quantiles(data.X, task=data.task, quantiles=LEVELS)
    starts = [found._at_level[level].n_iter_ for level in LEVELS]
    assert max(starts[1:]) < starts[0]
    monkeypatch.setattr(type(found), "_solve_tasks", None)
    again = found.predict_quantiles(data.X, task=data.task, quantiles=[0.3, 0.9])
    np.testing.assert_array_equal(again, first[:, [1, 4]])
    copied = pickle.loads(pickle.dumps(found))
    same = copied.predict_quantiles(data.X, task=data.task, quantiles=LEVELS)
    np.testing.assert_array_equal(same, first)


def test_a_new_fit_forgets_the_levels():
    data = make_samples("regression", sizes=(50,))
    found = model(tol=1e-6).fit(data.X, data.y)
    before = found.predict_quantiles(data.X, quantiles=[0.5])
    found.fit(data.X, data.y + 100.0)
    after = found.predict_quantiles(data.X, quantiles=[0.5])
    np.testing.assert_allclose(after, before + 100.0, atol=1e-3)


def test_the_model_itself_stays_what_it_was():
    data = make_samples("regression", sizes=(50, 30))
    found = model(loss="squared", relation="mixed").fit(data.X, data.y, task=data.task)
    before = found.predict(data.X, task=data.task), found.objective_, found.get_params()
    found.predict_quantiles(data.X, task=data.task, quantiles=LEVELS)
    np.testing.assert_array_equal(found.predict(data.X, task=data.task), before[0])
    assert (found.objective_, found.get_params()) == before[1:]


def test_quantiles_of_unseen_tasks_weighted_samples_and_columns():
    data = make_samples("regression", sizes=(30, 30))
    found = model(relation="mixed", unseen_task="shared")
    found.fit(data.X, data.y, task=data.task, sample_weight=np.ones(60))
    new = found.predict_quantiles(data.X[:4], task=["new"] * 4)
    assert new.shape == (4, 3)
    assert np.all(np.diff(new, axis=1) >= 0.0)
    wide = model().fit(data.X, np.column_stack([data.y, -data.y]))
    values = wide.predict_quantiles(data.X, quantiles=[0.2, 0.8])
    assert values.shape == (60, 2, 2)
    np.testing.assert_allclose(values[:, 0], -values[:, 1, ::-1], atol=5e-3)


@pytest.mark.parametrize("wrong", [[], [0.5, 0.1], [0.0, 0.5], [0.5, 1.0], [[0.5]], [0.5, 0.5]])
def test_levels_are_shares_in_ascending_order(wrong):
    data = make_samples("regression", sizes=(20,))
    found = model().fit(data.X, data.y)
    with pytest.raises(ValueError, match="quantiles must be levels between 0 and 1 in ascending"):
        found.predict_quantiles(data.X, quantiles=wrong)
