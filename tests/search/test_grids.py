from itertools import combinations

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

import kernelhood as kh
from kernelhood.estimators import METHODS
from kernelhood.estimators.base import method_type
from kernelhood.estimators.method import TECHNICAL
from kernelhood.search.grid import distinct_models


@pytest.mark.parametrize(
    ("formulation", "count"), [("corrected", 93), ("printed", 1026), ("normalized", 27 * 780)]
)
def test_how_many_models_the_papers_grid_holds(formulation, count):
    found = distinct_models(
        kh.MTONMKLClassifier(kernels="paper", formulation=formulation), kh.paper_grid()
    )
    assert len(found.points) == 45_387
    assert len(found.models) == count
    outside = [
        point for point, model in zip(found.points, found.model_of, strict=True) if model < 0
    ]
    assert len(outside) == len(found.reasons)
    least = {"corrected": 0.0, "printed": 7.0, "normalized": 2.0}[formulation]
    if formulation == "normalized":
        assert all(point["eta"] <= least * point["beta"] for point in outside)
    else:
        assert all(point["eta"] < least * point["beta"] for point in outside)


@pytest.mark.parametrize("formulation", ["corrected", "printed", "normalized"])
def test_points_of_one_model_predict_the_same(formulation, labelled):
    grid = {"C": [1.0, 2.0], "eta": [16.0, 64.0], "beta": [0.5, 1.0, 2.0]}
    estimator = kh.MTONMKLClassifier(kernels="paper", formulation=formulation, tol=1e-7)
    found = distinct_models(estimator, grid)
    values = {}
    for point, model in zip(found.points, found.model_of, strict=True):
        fitted = kh.MTONMKLClassifier(formulation=formulation, tol=1e-7, **point)
        fitted.fit(labelled.X, labelled.y, task=labelled.task)
        value = fitted.decision_function(labelled.X, task=labelled.task)
        first = values.setdefault(model, value)
        assert value == pytest.approx(first, abs=2e-3)
    assert len(values) == len(found.models)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_grid_it_accepts(method):
    grid = kh.paper_grid(method)
    assert len(grid["C"]) == 27
    for kind in METHODS[method]:
        found = distinct_models(kind(), {**grid, "C": [1.0]})
        assert found.model_of.max() == len(found.models) - 1


def test_other_parameters_keep_models_apart():
    banks = [kh.KernelBank([kh.Linear()]), kh.KernelBank([kh.Gaussian(1.0)])]
    grid = {"kernels": [*banks, [kh.Linear()]], "tol": [1e-3, 1e-4], "C": [1.0, 2.0]}
    found = distinct_models(kh.AVMTMKLRegressor(), grid)
    assert len(found.models) == len(list(ParameterGrid(grid)))


def test_the_strongest_comes_first():
    corrected = kh.MTONMKLClassifier(kernels="paper", formulation="corrected")
    found = distinct_models(corrected, {"C": [2.0, 1.0], "beta": [1.0, 4.0]})
    betas = [model["beta"] for model in found.models]
    assert betas == sorted(betas, reverse=True)
    assert found.strength.tolist() == list(range(len(betas)))


def test_a_grid_outside_the_domain_says_why():
    with pytest.raises(ValueError, match="no point that can be solved: .* eta >= 7"):
        distinct_models(
            kh.MTONMKLClassifier(kernels="paper", formulation="printed"),
            {"eta": [1.0, 2.0], "beta": [1.0]},
        )


def test_what_the_estimator_fixes_may_be_outside_the_domain():
    edge = kh.MTONMKLClassifier(kernels="paper", eta=2.0, beta=1.0)
    with pytest.raises(ValueError, match="no point that can be solved: .* eta > 2"):
        distinct_models(edge, {"C": [1.0, 2.0]})
    found = distinct_models(edge, {"C": [1.0, 2.0], "formulation": ["corrected", "normalized"]})
    assert len(found.models) == 2
    assert len(found.reasons) == 2


def test_integers_of_numpy_are_numbers():
    found = distinct_models(kh.MTONMKLClassifier(kernels="paper"), {"C": np.array([1, 10, 2])})
    assert [model["C"] for model in found.models] == [10, 2, 1]


def test_an_empty_grid_is_refused():
    with pytest.raises(ValueError, match="param_grid holds no point"):
        distinct_models(kh.MTONMKLClassifier(kernels="paper"), [])


def test_bad_grids_are_named():
    with pytest.raises(ValueError, match="method must be one of"):
        kh.paper_grid("svm")
    with pytest.raises(ValueError, match="param_grid names 'gamma', which MTONMKLClassifier"):
        distinct_models(kh.MTONMKLClassifier(kernels="paper"), {"gamma": [1.0]})


def one_by_one(estimator, points):
    """Return the canonical parameters of each point, or why it has none."""
    found = []
    for point in points:
        own = {name: value for name, value in point.items() if name not in TECHNICAL}
        params = {**estimator.get_params(deep=False), **own}
        method = method_type(estimator, params)
        inside = method.in_domain(params)
        found.append(method.canonical(params) if inside else method.why_outside(params))
    return found


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (
            kh.MTONMKLClassifier(kernels="paper"),
            [
                {"C": [1, 2, 4.0], "eta": [3.0, 7]},
                {"beta": [0.3, 0.7], "formulation": ["printed", "corrected", "bad", "normalized"]},
                {},
            ],
        ),
        (
            kh.MTONMKLRegressor(kernels="paper"),
            {
                "C": np.array([1, 2]),
                "beta": np.geomspace(0.1, 3.0, 5),
                "relation": ["independent", "functions"],
                "intercept": ["task", "common"],
                "max_iter": [10, 20],
            },
        ),
        (
            kh.MTONMKLClassifier(kernels="paper", formulation="printed"),
            {"eta": [10**17, 10**17 + 1, 20.0], "kernels": [None, [kh.Linear()]], "C": [0.1, 0.3]},
        ),
        (kh.KTAClassifier(), {"centered": [True, False], "eta": [1, 2.5], "C": [1, 1.0, 2]}),
        (kh.RPKLClassifier(), {"spread_level": [3, 1], "C": [2, 1]}),
    ],
)
def test_points_are_one_model_where_their_canonical_parameters_agree(estimator, grid):
    found = distinct_models(estimator, grid)
    assert found.points == list(ParameterGrid(grid))
    models = []
    for number, one in enumerate(one_by_one(estimator, found.points)):
        if isinstance(one, str):
            assert found.model_of[number] == -1
            assert found.reasons[number] == one
            continue
        own = found.models[found.model_of[number]]
        assert {name: one[name] for name in own} == own
        models.append(found.model_of[number])
        assert number not in found.reasons
    assert sorted(set(models)) == list(range(len(found.models)))
    assert all(one != other for one, other in combinations(found.models, 2))


def test_columns_hold_the_points():
    grid = [{"C": [1, 2], "eta": [4.0]}, {"kernels": [[kh.Linear()], None]}]
    found = distinct_models(kh.MTONMKLClassifier(kernels="paper"), grid)
    assert list(found.columns) == ["C", "eta", "kernels"]
    for name, column in found.columns.items():
        shown = column.masked
        assert shown.mask.tolist() == [name not in point for point in found.points]
        assert shown.compressed().tolist() == [p[name] for p in found.points if name in p]
