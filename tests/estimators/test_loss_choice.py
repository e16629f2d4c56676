"""Regression with the loss that the user chooses."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.preprocessing import KernelCenterer

import kernelhood as kh
from kernelhood.losses import Quantile, Squared
from kernelhood.operators import on_demand
from kernelhood.solvers.problem import Problem
from tests.references import make_samples

RELATIONS = ["independent", "functions", "mixed"]
BANK = kh.default_bank()[0:4]


def model(**settings):
    settings = {"kernels": BANK, "beta": 0.05, "formulation": "corrected", **settings}
    return kh.MTONMKLRegressor(**settings)


def test_one_kernel_with_squared_loss_is_kernel_ridge_regression():
    data = make_samples("regression", sizes=(60,))
    X, y, Z = data.X[:40], data.y[:40] + 7.0, data.X[40:]
    found = model(loss="squared", kernels=[kh.Gaussian(1.0)], C=3.0, tol=1e-8).fit(X, y)
    kernel, centre = kh.KernelBank([kh.Gaussian(1.0)]), KernelCenterer()
    K = centre.fit_transform(kernel(X)[0])
    ridge = KernelRidge(alpha=1.0 / (3.0 * found.weights_[0, 0]), kernel="precomputed")
    ridge.fit(K, y - y.mean())
    expected = ridge.predict(centre.transform(kernel(Z, X)[0])) + y.mean()
    np.testing.assert_allclose(found.predict(Z), expected, rtol=1e-8)


@pytest.mark.parametrize("loss", ["squared", Quantile(0.3)], ids=str)
@pytest.mark.parametrize("formulation", ["corrected", "normalized", "printed"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_and_formulation_is_certified(loss, formulation, relation):
    data = make_samples("regression")
    settings = {"loss": loss, "formulation": formulation, "relation": relation}
    found = model(**settings, tol=1e-5).fit(data.X, data.y, task=data.task)
    assert found.dual_gap_ <= 1e-5
    assert np.all(np.isfinite(found.predict(data.X, task=data.task)))
    if relation != "independent":
        lazy = model(**settings, tol=1e-5, operator=kh.Dense(cache_size=0.0))
        lazy.fit(data.X, data.y, task=data.task)
        assert lazy.objective_ == pytest.approx(found.objective_, rel=3e-5)


@pytest.mark.parametrize("relation", ["independent", "mixed"])
@pytest.mark.parametrize("loss", ["squared", Quantile(0.3)], ids=str)
def test_a_weight_of_two_is_two_samples(loss, relation):
    data = make_samples("regression")
    weight = np.where(np.arange(len(data.y)) % 3 == 0, 2.0, 1.0)
    again = np.repeat(np.arange(len(data.y)), weight.astype(int))
    settings = {"loss": loss, "relation": relation, "tol": 1e-7}
    weighted = model(**settings).fit(data.X, data.y, task=data.task, sample_weight=weight)
    repeated = model(**settings).fit(data.X[again], data.y[again], task=data.task[again])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(
        weighted.predict(data.X, task=data.task),
        repeated.predict(data.X, task=data.task),
        atol=2e-3,
    )


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("formulation", ["corrected", "normalized"])
def test_quantiles_cover_their_share_of_the_training_samples(level, formulation):
    """Within 1/n: only the samples that the function passes through are on neither side."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + (1.0 + 0.5 * np.sin(X[:, 1])) * rng.normal(size=120)
    found = model(loss=Quantile(level), formulation=formulation, C=0.05, beta=1e-3, tol=1e-7).fit(
        X, y
    )
    rest = y - found.predict(X)
    touched = np.abs(rest) <= 1e-3
    below = np.mean((rest < 0.0) & ~touched)
    assert below <= level + 1.0 / 120.0
    assert below + np.mean(touched) >= level - 1.0 / 120.0


def test_each_loss_estimates_what_it_says():
    """What each loss estimates without any kernel to speak of: the mean, and a quantile."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(101, 1)), rng.exponential(size=101)
    flat = {"beta": 1e6, "tol": 1e-6}
    mean = model(loss="squared", **flat).fit(X, y)
    np.testing.assert_allclose(mean.predict(X), y.mean(), atol=1e-4)
    third = model(loss=Quantile(0.3), **flat).fit(X, y)
    np.testing.assert_allclose(third.predict(X), np.quantile(y, 0.3), atol=1e-4)


def test_losses_and_levels_of_a_grid_are_scored_as_alone():
    data = make_samples("regression")
    grid = {"loss": ["squared", Quantile(0.2), Quantile(0.8)], "epsilon": [0.1, 0.3]}
    tight = model(tol=1e-7)
    search = kh.KernelSearchCV(tight, {**grid, "C": [0.5, 2.0]}, cv=2)
    search.fit(data.X, data.y, task=data.task)
    assert search.n_models_ == 6  # epsilon plays no part
    results = search.cv_results_
    for number in (0, len(results["params"]) // 2, len(results["params"]) - 1):
        params = results["params"][number]
        alone = kh.KernelSearchCV(tight, {name: [one] for name, one in params.items()}, cv=2)
        alone.fit(data.X, data.y, task=data.task)
        expected = alone.cv_results_["mean_test_score"][0]
        assert results["mean_test_score"][number] == pytest.approx(expected, abs=2e-3)
    by_name = model(loss="squared").fit(data.X, data.y, task=data.task)
    as_object = model(loss=Squared()).fit(data.X, data.y, task=data.task)
    assert by_name.objective_ == as_object.objective_


def test_quantiles_are_searched_by_the_pinball_loss():
    data = make_samples("regression")
    pinball = make_scorer(mean_pinball_loss, alpha=0.8, greater_is_better=False)
    search = kh.KernelSearchCV(model(loss=Quantile(0.8)), {"C": [0.1, 1.0]}, cv=3, scoring=pinball)
    search.fit(data.X, data.y, task=data.task)
    assert np.all(search.cv_results_["mean_test_score"] < 0.0)


def test_a_matrix_that_does_not_fit_is_refused_with_what_would():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1100, 2)), rng.normal(size=1100)
    small = model(
        loss="squared",
        relation="mixed",
        operator=kh.Dense(cache_size=1.0),
        kernels=[kh.Gaussian(1.0)],
    )
    task = np.repeat(["a", "b"], 550)
    with pytest.raises(ValueError, match="cache_size is too small for loss='squared'.* 10 mega"):
        small.fit(X, y, task=task)
    small.set_params(operator=kh.Dense(cache_size=10.0))
    assert small.fit(X, y, task=task).dual_gap_ <= 1e-3


def test_a_search_refuses_what_its_refit_would_before_any_model_is_solved(monkeypatch):
    monkeypatch.setattr(on_demand, "_FEWEST_ROWS", 8)
    data = make_samples("regression", sizes=(30, 30))
    held = kh.Dense(cache_size=0.02)
    small = model(relation="mixed", operator=held, kernels=[kh.Gaussian(1.0)])
    search = kh.KernelSearchCV(small, {"loss": ["squared", "epsilon_insensitive"]}, cv=2)
    table = {"X": data.X, "y": data.y, "task": data.task}
    with monkeypatch.context() as patch:
        patch.setattr(Problem, "solve", lambda *_, **__: pytest.fail("too late"))
        with pytest.raises(ValueError, match="cache_size is too small for loss='squared'.* 60 sam"):
            search.fit(**table)
    search.set_params(refit=False).fit(**table)  # the splits are smaller
    assert len(search.cv_results_["params"]) == 2
    search.set_params(refit=True, estimator__operator=kh.Dense(cache_size=0.03)).fit(**table)


@pytest.mark.parametrize("intercept", ["task", "common"])
def test_new_samples_of_a_task_are_learned_with_the_same_loss(intercept):
    data = make_samples("regression", sizes=(30, 30, 30))
    old = data.task != "task 2"
    found = model(loss="squared", relation="mixed", intercept=intercept, unseen_task="shared")
    found.fit(data.X[old], data.y[old], task=data.task[old])
    new = (data.X[~old], data.y[~old])
    before = np.mean((found.predict(new[0], task=data.task[~old]) - new[1]) ** 2)
    found.adapt(*new, task="task 2")
    after = np.mean((found.predict(new[0], task=data.task[~old]) - new[1]) ** 2)
    assert after < 0.5 * before


@pytest.mark.parametrize("radius", [None, 20.0])
def test_neighborhoods_that_are_given(radius):
    data = make_samples("regression")
    settings = {"neighborhood": kh.Gaussian(1.0), "radius": radius, "eta": 0.1}
    found = model(loss="squared", tol=1e-6, **settings).fit(data.X, data.y, task=data.task)
    assert found.dual_gap_ <= 1e-6
    rough = model(loss="squared", tol=1e-2, **settings).fit(data.X, data.y, task=data.task)
    excess = (rough.objective_ - found.objective_) / abs(found.objective_)
    assert excess <= rough.dual_gap_ + 1e-6


def test_wrong_choices_are_named():
    data = make_samples("regression")
    with pytest.raises(ValueError, match="loss"):
        model(loss="huber").fit(data.X, data.y, task=data.task)


def test_a_large_path_starts_from_a_part_of_the_samples(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=240)
    settings = {"loss": "squared", "formulation": "normalized", "beta": 1e-3, "tol": 1e-4}
    whole = model(**settings).fit(X, y)
    monkeypatch.setattr("kernelhood.estimators.mtonmkl._LARGE", 200)
    part = model(**settings).fit(X, y)
    assert part.n_iter_ < whole.n_iter_
    assert part.dual_gap_ <= 1e-4
    assert part.objective_ == pytest.approx(whole.objective_, rel=1e-3)
    weighted = model(**settings).fit(X, y, sample_weight=np.where(np.arange(240) % 2, 2.0, 1.0))
    assert weighted.dual_gap_ <= 1e-4
