import numpy as np
import pytest
from sklearn.base import clone

from kernelhood import MTONMKLClassifier
from kernelhood.experiments.metrics import METRICS, task_scores
from kernelhood.experiments.search import paper_grid, search


@pytest.fixture
def problem(tiny):
    rows = np.arange(len(tiny.y))
    return (tiny.X, tiny.y, tiny.task), (rows[rows % 2 == 0], rows[rows % 2 == 1])


def test_the_best_point_on_the_validation_part_is_found(problem):
    (X, y, task), (train, validation) = problem
    estimator = MTONMKLClassifier()
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
    estimator = MTONMKLClassifier(formulation="printed")
    best, _ = search(estimator, {"eta": [1.0, 16.0]}, *problem, METRICS["accuracy"])
    assert best == {"eta": 16.0}


def test_a_grid_without_a_good_point_says_why(problem):
    estimator = MTONMKLClassifier(formulation="printed")
    with pytest.raises(ValueError, match="eta"):
        search(estimator, {"eta": [1.0]}, *problem, METRICS["accuracy"])


def test_the_papers_grid():
    grid = paper_grid("mt-onmkl")
    assert {name: len(values) for name, values in grid.items()} == {"C": 27, "eta": 41, "beta": 41}
    assert (grid["C"][0], grid["C"][-1]) == (2.0**-13, 2.0**13)
    assert (grid["eta"][0], grid["beta"][-1]) == (1.0, 2.0**40)
