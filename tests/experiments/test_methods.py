import pytest
from sklearn.base import is_classifier, is_regressor

from kernelhood import estimators
from kernelhood.experiments.methods import (
    GRIDS,
    check_methods,
    label,
    make_estimator,
    make_grid,
    offered_methods,
)


def test_formulations_are_methods():
    printed = make_estimator("mt-onmkl-printed", "classification")
    assert printed.formulation == "printed"
    assert make_estimator("mt-onmkl", "regression").formulation == "corrected"


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("method", offered_methods())
def test_grids_name_parameters_of_either_estimator(method, grid):
    classifier, regressor = (make_estimator(method, k) for k in ("classification", "regression"))
    assert is_classifier(classifier)
    assert is_regressor(regressor)
    for estimator in (classifier, regressor):
        assert set(make_grid(method, grid)) <= set(estimator.get_params())
        assert all(make_grid(method, grid).values())


def test_methods_of_the_registry_are_offered_and_no_others(monkeypatch):
    pair = (estimators.MTONMKLClassifier, estimators.MTONMKLRegressor)
    monkeypatch.setattr(estimators, "METHODS", {"itl": pair, "mt-onmkl": pair}, raising=False)
    assert offered_methods() == ("itl", "mt-onmkl", "mt-onmkl-printed", "mt-onmkl-normalized")
    assert isinstance(make_estimator("itl", "classification"), pair[0])
    with pytest.raises(ValueError, match="methods='kta' is unknown; give names among itl, mt-"):
        check_methods(["itl", "kta"])


def test_names_are_checked():
    assert check_methods(None) == offered_methods()
    assert check_methods("mt-onmkl") == ("mt-onmkl",)
    with pytest.raises(ValueError, match="methods is empty"):
        check_methods([])
    with pytest.raises(ValueError, match="grid='fine' is unknown; give one of quick, paper"):
        make_grid("mt-onmkl", "fine")


def test_labels_are_the_papers():
    assert label("mt-mkl") == "MT-MKL"
    assert label("my own") == "my own"
