"""Models that a search gives up once they are clearly worse than the best."""

from types import SimpleNamespace

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.search import path as work
from kernelhood.search.path import path_scores
from kernelhood.search.scoring import contenders

N_TASKS = 24
GRID = {"C": [1e-6, 1.0, 2.0]}


def scored_parts(sizes):
    return [[SimpleNamespace(number=t, y_test=np.zeros(n)) for t, n in enumerate(sizes)]]


def by_task(*rows):
    return np.array(rows, dtype=float)[:, None, :]


def test_what_is_worse_on_all_tasks_alike_is_no_contender():
    leader = np.array([0.9, 0.5, 0.7, 0.8, 0.6])
    chance = np.array([0.1, -0.1, 0.1, -0.1, 0.02])
    worse = np.array([0.1, 0.11, 0.09, 0.1, 0.1])
    scores = by_task(leader, leader - chance, leader - worse, leader)
    found = contenders(scores, scored_parts([3] * 5), average="tasks", pooled=False)
    assert found.tolist() == [True, True, False, True]


def test_tasks_that_are_not_scored_yet_do_not_count():
    scores = by_task([1.0, 0.8, 0.9, np.nan], [0.5, 0.31, 0.4, np.nan])
    found = contenders(scores, scored_parts([3] * 4), average="tasks", pooled=False)
    assert found.tolist() == [True, False]


def test_one_task_tells_nothing():
    scores = by_task([1.0, np.nan], [0.1, np.nan])
    found = contenders(scores, scored_parts([3, 3]), average="tasks", pooled=False)
    assert found.all()


def test_tasks_count_by_their_samples_where_these_are_averaged():
    # The first model leads on the large tasks, the second one on the small ones.
    sizes = np.array([100.0, 100.0, 100.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    first, second = np.where(sizes > 1.0, 0.9, 0.2), np.where(sizes > 1.0, 0.88, 0.9)
    scores, parts = by_task(first, second), scored_parts(sizes.astype(int))
    leads = {}
    for average in ("tasks", "samples"):
        worst = by_task(first, second, np.zeros(8))
        assert contenders(worst, parts, average=average, pooled=False)[:2].any()
        behind = (first - second) * (sizes if average == "samples" else 1.0)
        leads[average] = behind.sum() > 0.0
        found = contenders(scores, parts, average=average, pooled=False)
        assert found[0 if leads[average] else 1]
    assert leads == {"tasks": False, "samples": True}


def searched(prune, **more):
    data = kh.datasets.make_multitask(N_TASKS, 40, kind="regression", random_state=0)
    model = kh.ITLRegressor(tol=1e-6)
    search = kh.KernelSearchCV(model, GRID, cv=0.5, refit=False, prune=prune, **more)
    return search.fit(data.X, data.y, task=data.task)


@pytest.fixture
def solved(monkeypatch):
    """Return a list that grows with the number of models of every piece of work."""
    counts = []

    def counted(estimator, path, tasks, scorer):
        counts.append(len(path.models) * len(tasks))
        return path_scores(estimator, path, tasks, scorer)

    monkeypatch.setattr(work, "path_scores", counted)
    return counts


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_a_pruned_search_chooses_the_same_with_less_work(solved, scoring):
    whole = searched(prune=False, scoring=scoring)
    work = sum(solved)
    pruned = searched(prune=True, scoring=scoring)
    assert sum(solved) - work < 0.9 * work
    assert pruned.best_params_ == whole.best_params_
    # Models start from those before them, of which there are fewer.
    assert pruned.best_score_ == pytest.approx(whole.best_score_, rel=1e-5)
    status = np.array(pruned.cv_results_["status"])
    assert status[0] in ("given up after 5 tasks", "given up after 10 tasks")
    assert (status[1:] == "ok").any()
    scores = pruned.cv_results_["mean_test_score"]
    assert np.isnan(scores[status != "ok"]).all()
    kept = whole.cv_results_["mean_test_score"][status == "ok"]
    np.testing.assert_allclose(scores[status == "ok"], kept, rtol=1e-5)
    assert pruned.cv_results_["rank_test_score"][0] == status.size


def test_nothing_is_given_up_unless_asked_for():
    assert set(searched(prune=False).cv_results_["status"]) == {"ok"}


def test_models_that_couple_tasks_are_solved_for_all_of_them():
    data = kh.datasets.make_multitask(N_TASKS, 20, kind="regression", random_state=0)
    grid = {"relation": ["independent", "functions"], "C": [1e-9]}
    model = kh.MTONMKLRegressor(formulation="corrected")
    search = kh.KernelSearchCV(model, grid, cv=0.5, refit=False, prune=True)
    search.fit(data.X, data.y, task=data.task)
    joint = [params["relation"] == "functions" for params in search.cv_results_["params"]]
    assert np.isfinite(search.cv_results_["mean_test_score"][joint]).all()


def test_it_contradicts_parameters_of_every_task():
    with pytest.raises(ValueError, match="prune=True .* needs per_task=False"):
        searched(prune=True, per_task=True)
