import numpy as np
import pytest
from sklearn.metrics import get_scorer_names

from kernelhood.datasets import load_digits_tasks
from kernelhood.paper.choice import task_scores
from kernelhood.paper.protocol import METRICS, choose_metrics, published_score, run_seed, split_rows


def test_every_task_and_class_is_split_alike():
    data = load_digits_tasks()
    parts = split_rows(data.task, data.sample_id, data.y, train_fraction=0.2, seed=1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(data.y)))
    for rows, share in zip(parts, (0.2, 0.4, 0.4), strict=True):
        for task in data.task_names:
            for digit in task.split("/"):
                mine = (data.task == task) & (data.y == int(digit))
                assert mine[rows].sum() == pytest.approx(share * mine.sum(), abs=1)


def test_no_object_is_in_two_parts():
    data = load_digits_tasks()
    parts = split_rows(data.task, data.sample_id, data.y, train_fraction=0.2, seed=1)
    ids = [set(data.sample_id[rows]) for rows in parts]
    assert not ids[0] & ids[1]
    assert not (ids[0] | ids[1]) & ids[2]


def test_regression_tasks_on_the_same_objects_share_one_split():
    task, ids = np.repeat(["a", "b"], 50), np.tile(np.arange(50), 2)
    parts = split_rows(task, ids, None, train_fraction=0.2, seed=0)
    for rows, size in zip(parts, (10, 20, 20), strict=True):
        assert np.array_equal(ids[rows][:size], ids[rows][size:])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_small_strata_reach_every_part_that_they_can(size):
    parts = split_rows(np.zeros(size), np.arange(size), None, train_fraction=0.2, seed=0)
    assert len(parts.train) == 1
    if size >= 3:
        assert min(map(len, parts)) >= 1
        assert abs(len(parts.validation) - len(parts.test)) <= 1


def test_the_seed_decides():
    arguments = (np.zeros(60), np.arange(60), None)
    first, again, other = (split_rows(*arguments, train_fraction=0.5, seed=s) for s in (3, 3, 4))
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)


def test_runs_and_data_sets_have_seeds_of_their_own():
    seeds = {
        run_seed(seed, name, number)
        for seed in (0, 1)
        for name in ("spam", "load")
        for number in range(5)
    }
    assert len(seeds) == 20
    assert run_seed(0, "spam", 3) == run_seed(0, "spam", 3)


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


def test_log_loss_looks_at_the_true_class_of_each_task():
    class Telling:
        tasks_, classes_ = ["a", "b"], [np.array(["p", "q"]), np.array(["q", "r", "s"])]

        def predict_proba(self, X, *, task):
            return X

    X = np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.125, 0.375, 0.5], [1.0, 0.0, 0.0]])
    y, task = np.array(["p", "p", "s", "q"]), np.array(["a", "a", "b", "b"])
    found = task_scores(METRICS["log_loss"], Telling(), X, y, task)
    assert found == pytest.approx({"a": 1.5 * np.log(2.0), "b": 0.5 * np.log(2.0)})


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


@pytest.mark.parametrize(
    ("metric", "score"),
    [("mse", 0.3), ("nmse", 0.3), ("auc", 0.7), ("pinball", 0.3), ("log_loss", 0.3)],
)
def test_scores_come_back_in_the_unit_of_the_metric(metric, score):
    given = {"mse": -0.3, "nmse": 0.7, "auc": 0.7, "pinball": -0.6, "log_loss": -0.3}[metric]
    assert METRICS[metric].from_scorer(given) == pytest.approx(score)


def test_published_scores_are_in_the_unit_of_the_metric():
    assert published_score("letter", "mt-onmkl-printed", "accuracy") == pytest.approx(0.9191)
    assert published_score("letter", "itl", "auc") is None
    assert published_score("letter", "mt-onmkl-functions", "accuracy") is None
    assert published_score("digits", "itl", "accuracy") is None
    assert published_score("letter", "svm", "accuracy") is None
