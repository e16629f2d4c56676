"""What a fitted model and a search say of their gaps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kernelhood as kh
from kernelhood.estimators import METHODS
from kernelhood.parallel import few_blas_threads
from kernelhood.solvers import loop
from kernelhood.solvers.loop import LowerBound
from tests.references import make_samples

INDEPENDENT = [name for name in METHODS if name != "mt-mkl"]


@pytest.mark.parametrize("method", INDEPENDENT)
@pytest.mark.parametrize("kind", [0, 1])
def test_a_model_tells_of_its_worst_task(method, kind):
    """One task is solved by an SVM, the others are not: all of it must show the others."""
    data = make_samples(["classification", "regression"][kind], sizes=(14, 40, 25))
    kernels = None if method == "rpkl" else "paper"
    model = METHODS[method][kind](kernels=kernels, max_iter=1, tol=1e-9, C=20.0)
    with pytest.warns(ConvergenceWarning):
        model.fit(data.X, data.y, task=data.task)
    gaps = [trace[-1, 1] for trace in model.trace_]
    assert len(set(gaps)) == 3
    assert model.dual_gap_ == max(gaps)
    with pytest.warns(ConvergenceWarning):
        alone = [
            METHODS[method][kind](kernels=kernels, max_iter=1, tol=1e-9, C=20.0).fit(
                data.X[data.task == name], data.y[data.task == name]
            )
            for name in model.tasks_
        ]
    assert [one.dual_gap_ for one in alone] == pytest.approx(gaps, rel=1e-6)
    assert model.objective_ == pytest.approx(sum(one.objective_ for one in alone), rel=1e-9)


def test_svms_are_those_of_the_slowest_task():
    data = make_samples("regression", sizes=(8, 60))
    model = kh.MTONMKLRegressor(kernels="paper", formulation="corrected", C=50.0, tol=1e-6)
    model.fit(data.X, data.y, task=data.task)
    counts = [len(trace) for trace in model.trace_]
    assert len(set(counts)) == 2
    assert model.n_iter_ == max(counts)


def test_the_advice_tells_few_svms_from_a_gap_that_no_longer_falls(monkeypatch):
    data = make_samples("regression")
    model = kh.MTONMKLRegressor(
        kernels="paper", formulation="corrected", tol=1e-9, max_iter=2, C=10.0
    )
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 ended before; raise max_iter"):
        model.fit(data.X, data.y, task=data.task)
    model.set_params(max_iter=40)
    for gap, advice in ((0.002, "accept it by tol=4e-03, or make"), (0.25, "help; make")):
        monkeypatch.setattr(LowerBound, "gap", lambda *args, gap=gap: gap)
        with pytest.warns(ConvergenceWarning, match=f"no longer falls.*{advice}.*scale the feat"):
            model.fit(data.X, data.y, task=data.task)


@pytest.mark.parametrize("seed", [1, 5, 6, 9])
def test_a_column_of_two_values_leaves_no_gap(seed):
    """The kernels have a low rank: many vectors solve an SVM, and few of them bound the optimum."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 40, 8)
    task = np.repeat(np.arange(8), sizes)
    X = (rng.random((len(task), 1)) < 0.04).astype(float)
    y = rng.random(len(task)) < np.repeat(rng.beta(1, 4, 8), sizes)
    y[np.unique(task, return_index=True)[1]] = True
    model = kh.MTONMKLClassifier().fit(X, y, task=task)
    assert model.dual_gap_ <= 1e-3


def test_a_search_says_once_how_many_models_missed_the_gap():
    data = make_samples("regression")
    model = kh.MTONMKLRegressor(kernels="paper", formulation="corrected", tol=0.1, max_iter=2)
    search = kh.KernelSearchCV(model, {"beta": [1e-4, 1e-3, 1e9]}, cv=2, refit=False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        search.fit(data.X, data.y, task=data.task)
    gaps = search.cv_results_["max_gap"]
    assert np.sum(gaps > 0.1) == 2
    assert [one.category for one in seen] == [ConvergenceWarning]
    assert "2 of 3 models did not reach the duality gap tol=0.1" in str(seen[0].message)
    assert f"{gaps.max():.1e}" in str(seen[0].message)


def test_a_model_that_misses_from_a_start_is_solved_again_from_nothing(monkeypatch):
    """A start that leads nowhere must not decide the score."""
    data = make_samples("regression")
    model, grid = kh.ITLRegressor(tol=1e-8), {"C": [0.5, 4.0, 32.0]}
    plain = kh.KernelSearchCV(model, grid, cv=2, refit=False).fit(data.X, data.y, task=data.task)
    whole = loop.solve

    def lame(problem, *, start=None, tol=1e-3, max_iter=100):
        return whole(problem, start=start, tol=tol, max_iter=max_iter if start is None else 1)

    monkeypatch.setattr("kernelhood.estimators.peers.solve", lame)
    again = kh.KernelSearchCV(model, grid, cv=2, refit=False).fit(data.X, data.y, task=data.task)
    assert np.all(again.cv_results_["max_gap"] <= 1e-8)
    np.testing.assert_allclose(
        again.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-2
    )


@pytest.mark.parametrize("sharing", ["independent", "functions"])
@pytest.mark.parametrize("seed", range(3))
def test_the_model_that_is_refitted_is_the_one_that_was_scored(sharing, seed):
    """`normalized` has many stationary points: a fit from nothing may end in another one."""
    data = make_samples("regression", sizes=(25, 25), seed=seed)
    every = np.arange(len(data.y))
    grid = {"C": [0.5, 8.0, 128.0], "beta": [2.0**k for k in range(-8, 3, 2)], "eta": [1e6]}
    model = kh.MTONMKLRegressor(relation=sharing)
    search = kh.KernelSearchCV(model, grid, cv=[(every, every)]).fit(data.X, data.y, task=data.task)
    best = search.best_estimator_
    assert best.dual_gap_ <= 1e-3
    scored = search.cv_results_["mean_test_score"][search.best_index_]
    assert best.score(data.X, data.y, task=data.task) == pytest.approx(scored, abs=2e-3)


def test_small_problems_run_their_linear_algebra_in_one_thread():
    from threadpoolctl import threadpool_info

    def threads():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = threads()
    with few_blas_threads(100):
        assert set(threads()) <= {1}
    assert threads() == before
    with few_blas_threads(100_000):
        assert threads() == before
