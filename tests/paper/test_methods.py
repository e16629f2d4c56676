import importlib
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid

import kernelhood as kh
from kernelhood import MTONMKLClassifier
from kernelhood.estimators import METHODS
from kernelhood.estimators.base import method_of
from kernelhood.estimators.formulations import FORMULATIONS
from kernelhood.paper.choice import Memory, fit_found, search, task_scores
from kernelhood.paper.methods import (
    GRIDS,
    candidates,
    check_methods,
    label,
    make_estimator,
    make_grid,
    offered_methods,
    with_relations,
)
from kernelhood.paper.protocol import METRICS, TABLE_1
from kernelhood.paper.rivals import RIVALS, make_rival
from kernelhood.paper.run import plan


def test_formulations_are_methods():
    printed = make_estimator("mt-onmkl-printed", "classification")
    assert printed.formulation == "printed"
    assert make_estimator("mt-onmkl-corrected", "regression").formulation == "corrected"
    default = METHODS["mt-onmkl"][1]().formulation
    assert make_estimator("mt-onmkl", "regression").formulation == default
    assert default == next(iter(FORMULATIONS))


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("method", offered_methods())
def test_grids_name_parameters_of_either_estimator(method, grid, kind):
    is_kind = is_classifier if kind == "classification" else is_regressor
    for one in candidates(method, grid, kind, grouped=True):
        estimator = make_estimator(one.method, kind, {"a": 1}, **one.settings)
        assert is_kind(estimator)
        grid_of = one.grid
        if "relation" in estimator.get_params():
            grid_of = with_relations(grid_of, estimator.relation)
        for part in grid_of if isinstance(grid_of, list) else [grid_of]:
            assert set(part) <= set(estimator.get_params())
            assert all(part.values())


def test_all_methods_of_the_paper_are_offered():
    assert set(TABLE_1) == set(METHODS)
    relations = ("functions", "mixed", "groups", "inputs", "best")
    variants = [f"mt-onmkl-{name}" for name in ("corrected", "printed", *relations)]
    named_only = ("one-gaussian", "kernelhood", *RIVALS)
    assert offered_methods() == (*METHODS, *variants, "pooled", *named_only)
    assert (*check_methods(None), *named_only) == offered_methods()
    assert make_estimator("mt-onmkl-functions", "regression").relation == "functions"
    assert label("pooled") == "Pooled SVM"
    for name, (classifier, _) in METHODS.items():
        assert isinstance(make_estimator(name, "classification"), classifier)
        assert label(name) == name.upper()


def test_the_wide_grid_is_the_papers_with_larger_c():
    paper, wide = (make_grid("kta", grid) for grid in ("paper", "wide"))
    assert wide["C"][:27] == paper["C"]
    assert wide["C"][-1] == 2.0**20
    assert wide["eta"] == paper["eta"]


@pytest.mark.parametrize("grid", GRIDS)
def test_where_functions_can_be_shared_the_models_that_share_weights_are_there_too(grid):
    alone, together = candidates("mt-onmkl-functions", grid)
    assert [points["formulation"] for points in together.grid] == [["corrected"], ["normalized"]]
    assert make_estimator(together.method, "regression").relation == "functions"
    assert [alone] == candidates("mt-onmkl", grid)
    default = make_estimator(alone.method, "regression")
    assert not method_of(default).couples(default.get_params())


def test_the_best_is_chosen_among_all_variants():
    grouped = candidates("mt-onmkl-best", "paper", grouped=True)
    for name in offered_methods():
        if name.startswith("mt-onmkl") and name != "mt-onmkl-best":
            assert all(one in grouped for one in candidates(name, "paper"))
    alone = candidates("mt-onmkl-best", "paper")
    assert [one for one in grouped if one.method != "mt-onmkl-groups"] == alone
    losses = [
        one.settings.get("loss") for one in candidates("mt-onmkl-best", "paper", "regression")
    ]
    assert "squared" in losses


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_fitted_kernels_are_tried_for_tasks_alone_and_together(kind):
    fitted = [
        one for one in candidates("mt-onmkl-best", "paper", kind) if "kernels" in one.settings
    ]
    couples = []
    for one in fitted:
        model = make_estimator(one.method, kind, **one.settings)
        couples.append(method_of(model).couples(model.get_params()))
    assert set(couples) == {False, True}
    assert len({repr(one) for one in fitted}) == len(fitted)


def test_a_memory_keeps_one_split():
    memory, asked = Memory(), []

    def find(value):
        asked.append(value)
        return value

    assert [memory.recall("first", "key", lambda v=v: find(v)) for v in (1, 2)] == [1, 1]
    assert memory.recall("first", "other key", lambda: find(3)) == 3
    assert memory.recall("second", "key", lambda: find(4)) == 4
    assert memory.recall("first", "key", lambda: find(5)) == 5
    assert asked == [1, 3, 4, 5]


def test_groups_become_a_relation():
    groups = {"a": "west", "b": "east"}
    model = make_estimator("mt-onmkl-groups", "regression", groups)
    assert model.relation == kh.TaskGroups(groups)
    assert make_estimator("mt-onmkl-inputs", "regression").relation == "inputs"


def test_grids_are_the_callers_own():
    make_grid("mt-onmkl-functions", "paper")[0].clear()
    make_grid("itl", "quick").clear()
    make_grid("boosting", "paper").clear()
    assert make_grid("mt-onmkl-functions", "paper")[0]
    assert make_grid("itl", "quick")
    assert make_grid("boosting", "paper")


def test_names_are_checked():
    assert check_methods("mt-onmkl") == ("mt-onmkl",)
    with pytest.raises(ValueError, match="methods is empty"):
        check_methods([])
    with pytest.raises(ValueError, match="methods='svm' is unknown; give names among itl, "):
        check_methods(["itl", "svm"])
    with pytest.raises(ValueError, match="grid='fine' is unknown; give one of quick, paper, wide"):
        make_grid("mt-onmkl", "fine")


def test_labels_are_the_papers():
    assert label("mt-mkl") == "MT-MKL"
    assert label("my own") == "my own"


@pytest.fixture
def problem(tiny):
    rows = np.arange(len(tiny.y))
    return (tiny.X, tiny.y, tiny.task), (rows[rows % 2 == 0], rows[rows % 2 == 1])


def test_the_best_point_on_the_validation_part_is_found(problem):
    (X, y, task), (train, validation) = problem
    estimator = MTONMKLClassifier(kernels="paper", formulation="corrected")
    best, score, _ = search(estimator, {"beta": [1e3, 1e-3]}, *problem, METRICS["accuracy"])
    scores = {}
    for beta in (1e3, 1e-3):
        model = clone(estimator).set_params(beta=beta).fit(X[train], y[train], task=task[train])
        found = task_scores(
            METRICS["accuracy"], model, X[validation], y[validation], task[validation]
        )
        scores[beta] = np.mean(list(found.values()))
    assert best == {"beta": max(scores, key=scores.get)}
    assert score == pytest.approx(max(scores.values()))
    assert scores[1e3] != scores[1e-3]


def test_points_outside_the_domain_are_passed_over(problem):
    estimator = MTONMKLClassifier(kernels="paper", formulation="printed")
    best, *_ = search(estimator, {"eta": [1.0, 16.0], "beta": [1.0]}, *problem, METRICS["accuracy"])
    assert best == {"eta": 16.0, "beta": 1.0}


def test_a_solution_that_serves_many_models_is_named_by_the_first():
    # From some eta on the relative gap, in which eta dominates, lets a solution stand for all.
    data = kh.datasets.make_multitask(2, 60, kind="regression", random_state=0)
    rows = np.arange(len(data.y))
    train, held = rows[rows % 2 == 0], rows[rows % 2 == 1]
    estimator = make_estimator("kta", "regression")
    grid = {"C": [8.0], "eta": [2.0**k for k in range(41)]}
    metric = METRICS["mse"]
    arrays = (data.X, data.y, data.task)
    found = search(estimator, grid, arrays, (train, held), metric)
    part = [one[train] for one in arrays]
    model = fit_found(clone(estimator), found, *part)
    scores = task_scores(metric, model, *(one[held] for one in arrays))
    assert np.mean(list(scores.values())) == pytest.approx(found.score, rel=0.02)


def test_the_solution_that_was_scored_is_fitted(problem):
    (X, y, task), (train, held) = problem
    estimator = make_estimator("mt-onmkl", "classification")
    found = search(estimator, make_grid("mt-onmkl", "quick"), *problem, METRICS["accuracy"])
    assert found.starts is not None
    model = fit_found(clone(estimator), found, X[train], y[train], task[train])
    scores = task_scores(METRICS["accuracy"], model, X[held], y[held], task[held])
    assert np.mean(list(scores.values())) == pytest.approx(found.score)


@pytest.mark.parametrize("method", [name for name in RIVALS if name != "gpboost"])
def test_rivals_know_the_task(method):
    pytest.importorskip(RIVALS[method] or "sklearn")
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(200, 2)), np.repeat(["a", "b"], 100)
    y = np.where(task == "a", 1, -1) * np.sign(X[:, 0]).astype(int)
    data, split = (X, y, task), (np.arange(0, 200, 2), np.arange(1, 200, 2))
    estimator = make_estimator(method, "classification")
    grid = make_grid(method, "quick")
    grid = {name: values[:1] for name, values in grid.items()} if "C" not in grid else grid
    found = search(estimator, grid, data, split, METRICS["auc"])
    assert found.score > 0.9
    targets = np.where(task == "a", 1.0, -1.0) * X[:, 0]
    estimator = make_estimator(method, "regression")
    found = search(estimator, grid, (sparse.csr_matrix(X), targets, task), split, METRICS["nmse"])
    assert found.score < 0.3
    worse = search(estimator, grid, (X, targets, np.repeat("a", 200)), split, METRICS["nmse"])
    assert worse.score > 0.8


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_gpboost_has_an_intercept_for_each_task(kind):
    pytest.importorskip("gpboost")
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(300, 2)), np.repeat(["a", "b", "c"], 100)
    values = X[:, 0] + np.repeat([-4.0, 0.0, 4.0], 100)
    y = values if kind == "regression" else np.where(values > 0.0, "up", "down")
    model = make_rival("gpboost", kind).set_params(n_estimators=50, num_leaves=4)
    found = model.fit(X[::2], y[::2], task=task[::2]).predict(X[1::2], task=task[1::2])
    if kind == "regression":
        assert np.mean((found - y[1::2]) ** 2) < 0.1 * np.var(y[1::2])
    else:
        assert np.mean(found == y[1::2]) > 0.9
        decided = model.decision_function(X[1::2], task=task[1::2])
        assert np.array_equal(decided > 0.0, found == "up")


def test_a_rival_whose_package_is_missing_is_refused_before_any_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpboost", None)
    with pytest.raises(ImportError, match=r"gpboost is needed here .* 'kernelhood\[rivals\]'"):
        plan("digits", ["itl", "gpboost"])


def test_gpboost_needs_two_classes(problem):
    (X, y, task), _ = problem
    three = np.where(np.arange(len(y)) < 5, 2, y)
    with pytest.raises(ValueError, match="'gpboost' needs two classes that all tasks share"):
        make_rival("gpboost", "classification").fit(X, three, task=task)


def test_one_gaussian_learns_no_kernel(problem):
    (X, y, task), _ = problem
    model = make_estimator("one-gaussian", "classification", C=2.0).fit(X, y, task=task)
    assert model.kernels_.names == ["gaussian(256)"]
    assert model.weights_.tolist() == [[1.0]] * 3
    (one,) = candidates("one-gaussian", "paper")
    assert list(one.grid) == ["C"]
    assert "256" in one.choices["kernels"]


def test_joint_models_of_many_rows_are_raced(problem, monkeypatch):
    seen = []
    choice = importlib.import_module("kernelhood.paper.choice")

    class Spy(choice.KernelSearchCV):
        def fit(self, X, y, *, task):
            seen.append((len(self.cv[0][0]), len(ParameterGrid(self.param_grid))))
            return super().fit(X, y, task=task)

    monkeypatch.setattr(choice, "KernelSearchCV", Spy)
    monkeypatch.setattr(choice, "RACED", 50)
    monkeypatch.setattr(choice, "_TRIED", 30)
    betas = {"formulation": ["corrected"], "beta": [10.0**k for k in range(-6, 6)]}
    metric = METRICS["accuracy"]
    found = search(make_estimator("mt-onmkl-mixed", "classification"), betas, *problem, metric)
    assert seen == [(30, 12), (60, 2)]
    assert found.score > 0.5
    search(make_estimator("mt-onmkl-corrected", "classification"), betas, *problem, metric)
    assert seen[2:] == [(60, 12)]
    search(make_estimator("pooled", "classification"), {"C": [1.0, 2.0, 4.0]}, *problem, metric)
    assert seen[3:] == [(30, 3), (60, 2)]


@pytest.mark.parametrize("metric", ["mse", "nmse"])
def test_rivals_that_are_slow_are_raced(metric, monkeypatch):
    choice = importlib.import_module("kernelhood.paper.choice")
    monkeypatch.setattr(choice, "RACED", 50)
    monkeypatch.setattr(choice, "_TRIED", 30)
    rng, seen = np.random.default_rng(0), []
    X, task = rng.normal(size=(120, 2)), np.repeat(["a", "b"], 60)
    data, split = (X, X[:, 0], task), (np.arange(0, 120, 2), np.arange(1, 120, 2))
    for method, expected in (("one-hot-svm", [30] * 9 + [60] * 2), ("boosting", [60] * 6)):
        estimator = make_estimator(method, "regression")
        fit, seen[:] = type(estimator).fit, []

        def noted(self, X, y, *, task, fit=fit):
            seen.append(len(y))
            return fit(self, X, y, task=task)

        monkeypatch.setattr(type(estimator), "fit", noted)
        found = search(estimator, make_grid(method, "paper"), data, split, METRICS[metric])
        assert seen == expected
        assert found.score < 0.5
