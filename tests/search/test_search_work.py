"""What a search does not do: look for what nobody asked for, or solve what is solved."""

import numpy as np
import pytest
from sklearn.base import clone

import kernelhood as kh
from kernelhood.estimators import mtonmkl, related
from kernelhood.search import path
from tests.references import make_samples


@pytest.mark.parametrize("sharing", ["independent", "functions"])
def test_a_search_does_not_look_for_neighborhoods_of_models_that_are_only_scored(
    sharing, monkeypatch
):
    data = make_samples()
    model = kh.MTONMKLClassifier(kernels="paper", relation=sharing)
    search = kh.KernelSearchCV(model, {"C": [0.5, 1.0]}, cv=2, refit=False)
    for name in (mtonmkl, related):
        monkeypatch.setattr(name, "Neighborhood", lambda *_: pytest.fail("not asked for"))
    assert search.fit(data.X, data.y, task=data.task).n_models_ == 2


@pytest.mark.parametrize("scoring", [None, "accuracy", "f1_macro"])
def test_classes_that_are_more_than_two_are_scored_by_the_one_that_wins(scoring):
    rng = np.random.default_rng(0)
    y, task = np.arange(90) % 3, np.repeat(["one", "two"], 45)
    X = 4.0 * np.eye(3)[y] + 0.1 * rng.normal(size=(90, 3))
    search = kh.KernelSearchCV(kh.MTONMKLClassifier(), {"C": [1.0]}, cv=3, scoring=scoring)
    assert search.fit(X, y, task=task).best_score_ > 0.99


@pytest.mark.parametrize(
    ("formulation", "neighborhood", "many"),
    [
        ("normalized", None, True),
        ("corrected", None, False),
        ("normalized", kh.Gaussian(1.0), False),
    ],
)
def test_weights_to_start_from_are_kept_where_a_model_has_many_solutions(
    formulation, neighborhood, many
):
    data = make_samples()
    model = kh.MTONMKLClassifier(
        kernels="paper", formulation=formulation, neighborhood=neighborhood
    )
    search = kh.KernelSearchCV(model, {"C": [1.0]}, cv=2, refit=False)
    search.fit(data.X, data.y, task=data.task)
    assert (search.starts_[0] is not None) == many


@pytest.mark.parametrize("formulation", ["corrected", "printed"])
def test_models_that_a_solution_solves_too_are_not_visited(formulation, monkeypatch):
    """Along a path only the ends of what a solution solves are looked at."""
    data, visited = make_samples(), []
    solve = path._Walk.solve

    def noted(self, params, related):
        visited.append(params)
        return solve(self, params, related)

    monkeypatch.setattr(path._Walk, "solve", noted)
    model = kh.MTONMKLClassifier(kernels="paper", formulation=formulation)
    grid = {"eta": [1e3], "beta": np.geomspace(1e-6, 1e-5, 40).tolist()}
    search = kh.KernelSearchCV(model, grid, cv=0.5, refit=False)
    search.fit(data.X, data.y, task=data.task)
    assert search.n_models_ == 40
    assert len(visited) < 0.7 * 40 * len(np.unique(data.task))
    assert np.nanmax(search.cv_results_["max_gap"]) <= 1e-3
    for place in (0, 13, 39):
        fitted = clone(model).set_params(**search.cv_results_["params"][place])
        alone = kh.KernelSearchCV(fitted, {"C": [1.0]}, cv=0.5, refit=False)
        alone.fit(data.X, data.y, task=data.task)
        score = search.cv_results_["mean_test_score"][place]
        assert alone.best_score_ == pytest.approx(score, abs=0.1)
