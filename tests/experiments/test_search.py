import numpy as np
import pytest
from sklearn.base import clone

from kernelhood import MTONMKLClassifier
from kernelhood.experiments.metrics import METRICS, task_scores
from kernelhood.experiments.search import search


@pytest.fixture
def problem(tiny):
    rows = np.arange(len(tiny.y))
    return (tiny.X, tiny.y, tiny.task), (rows[rows % 2 == 0], rows[rows % 2 == 1])


def test_the_best_point_on_the_validation_part_is_found(problem):
    (X, y, task), (train, validation) = problem
    estimator = MTONMKLClassifier(formulation="corrected")
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
    best, _ = search(estimator, {"eta": [1.0, 16.0], "beta": [1.0]}, *problem, METRICS["accuracy"])
    assert best == {"eta": 16.0, "beta": 1.0}


@pytest.mark.parametrize(("metric", "score"), [("mse", 0.3), ("nmse", 0.3), ("auc", 0.7)])
def test_scores_come_back_in_the_unit_of_the_metric(metric, score):
    given = {"mse": -0.3, "nmse": 0.7, "auc": 0.7}[metric]
    assert METRICS[metric].from_scorer(given) == pytest.approx(score)
