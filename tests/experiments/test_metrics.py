import numpy as np
import pytest
from sklearn.metrics import get_scorer_names

from kernelhood.experiments.metrics import METRICS, choose_metrics, task_scores


class Fixed:
    """A model whose outputs are known."""

    def predict(self, X, *, task):
        return X[:, 0]

    def decision_function(self, X, *, task):
        return X[:, 1]


def test_each_task_is_scored_on_its_own_rows():
    X = np.array([[1, 0.1], [0, 0.2], [1, -1.0], [1, 3.0]])
    y, task = np.array([1, 1, 0, 1]), np.array(["a", "a", "b", "b"])
    assert task_scores(METRICS["accuracy"], Fixed(), X, y, task) == {"a": 0.5, "b": 0.5}
    found = task_scores(METRICS["auc"], Fixed(), X[2:], y[2:], task[2:])
    assert found == {"b": 1.0}


def test_errors_are_those_of_their_definitions():
    y, guess = np.array([0.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])
    assert METRICS["mse"].score(y, guess) == pytest.approx(2 / 3)
    assert METRICS["nmse"].score(y, guess) == pytest.approx((2 / 3) / np.var(y))


def test_every_metric_names_a_scorer_of_scikit_learn():
    assert {metric.scoring for metric in METRICS.values()} <= set(get_scorer_names())


def test_one_metric_for_each_kind():
    kinds = ["classification", "regression"]
    assert choose_metrics(["auc", "nmse"], kinds) == {"classification": "auc", "regression": "nmse"}
    with pytest.raises(ValueError, match="metric='f1' is unknown; give one of accuracy"):
        choose_metrics("f1", kinds)
    with pytest.raises(ValueError, match="names two for classification"):
        choose_metrics(["auc", "accuracy"], kinds)
    with pytest.raises(ValueError, match="metric='mse' is for regression, and no data set"):
        choose_metrics("mse", ["classification"])
