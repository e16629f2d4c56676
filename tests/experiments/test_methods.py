import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor

import kernelhood as kh
from kernelhood import MTONMKLClassifier
from kernelhood.estimators import METHODS
from kernelhood.experiments.data import task_scores
from kernelhood.experiments.methods import (
    GRIDS,
    check_methods,
    label,
    make_estimator,
    make_grid,
    offered_methods,
    search,
)
from kernelhood.experiments.protocol import METRICS, TABLE_1
from kernelhood.formulations import FORMULATIONS


def test_formulations_are_methods():
    printed = make_estimator("mt-onmkl-printed", "classification")
    assert printed.formulation == "printed"
    assert make_estimator("mt-onmkl-corrected", "regression").formulation == "corrected"
    default = METHODS["mt-onmkl"][1]().formulation
    assert make_estimator("mt-onmkl", "regression").formulation == default
    assert default == next(iter(FORMULATIONS))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("method", offered_methods())
def test_grids_name_parameters_of_either_estimator(method, grid):
    kinds, groups = ("classification", "regression"), {"a": 1}
    classifier, regressor = (make_estimator(method, kind, groups) for kind in kinds)
    assert is_classifier(classifier)
    assert is_regressor(regressor)
    points = make_grid(method, grid)
    for estimator in (classifier, regressor):
        for part in points if isinstance(points, list) else [points]:
            assert set(part) <= set(estimator.get_params())
            assert all(part.values())


def test_all_methods_of_the_paper_are_offered():
    assert set(TABLE_1) == set(METHODS)
    relations = ("functions", "mixed", "groups", "inputs")
    variants = [f"mt-onmkl-{name}" for name in ("corrected", "printed", *relations)]
    assert offered_methods() == (*METHODS, *variants, "pooled")
    assert make_estimator("mt-onmkl-functions", "regression").sharing == "functions"
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
    alone, *together = make_grid("mt-onmkl-functions", grid)
    assert [points["formulation"] for points in together] == [["corrected"], ["normalized"]]
    assert all(points["sharing"] == ["functions"] for points in together)
    default = make_estimator("mt-onmkl", "regression")
    assert alone.pop("sharing") == ["weights"]
    assert not default._couples(default.get_params())
    assert alone.pop("formulation") == [default.formulation]
    assert alone == make_grid("mt-onmkl", grid)


def test_groups_become_a_relation():
    groups = {"a": "west", "b": "east"}
    model = make_estimator("mt-onmkl-groups", "regression", groups)
    assert model.relation == kh.TaskGroups(groups)
    assert make_estimator("mt-onmkl-inputs", "regression").relation == "inputs"


def test_grids_are_the_callers_own():
    make_grid("mt-onmkl-functions", "paper")[0].clear()
    make_grid("itl", "quick").clear()
    assert make_grid("mt-onmkl-functions", "paper")[0]
    assert make_grid("itl", "quick")


def test_names_are_checked():
    assert check_methods(None) == offered_methods()
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
    best, score = search(estimator, {"beta": [1e3, 1e-3]}, *problem, METRICS["accuracy"])
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
    best, _ = search(estimator, {"eta": [1.0, 16.0], "beta": [1.0]}, *problem, METRICS["accuracy"])
    assert best == {"eta": 16.0, "beta": 1.0}
