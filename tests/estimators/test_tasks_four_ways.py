"""Tasks named by task=, by task_column=, by the columns of y, or not at all."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import kernelhood as kh

LABELS = {
    "strings": ["north", "south", "west"],
    "ints": [7, -1, 3],
    "tuples": [("a", 1), ("b", 2), ("a", 2)],
    "mixed": ["north", 3, ("a", 2)],
    "none of one kind": [True, "yes", 2.5],
}


def numbers(samples):
    return np.unique(samples.task, return_inverse=True)[1]


@pytest.fixture
def plain(labelled):
    model = kh.MTONMKLClassifier(kernels="paper", C=3.0)
    return model.fit(labelled.X, labelled.y, task=labelled.task)


def by_column(samples, column):
    """Return X with the task's number put in as one of its columns."""
    return np.insert(samples.X, column, numbers(samples), axis=1)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_labels_may_be_anything_hashable(labels, labelled, plain):
    task = [labels[number] for number in numbers(labelled)]
    model = clone(plain).fit(labelled.X, labelled.y, task=task)
    assert sorted(map(repr, model.tasks_)) == sorted(map(repr, labels))
    np.testing.assert_array_equal(
        model.decision_function(labelled.X, task=task),
        plain.decision_function(labelled.X, task=labelled.task),
    )
    order = [model.tasks_.index(label) for label in labels]
    np.testing.assert_array_equal(model.weights_[order], plain.weights_)
    assert model.score(labelled.X, labelled.y, task=task) == plain.score(
        labelled.X, labelled.y, task=labelled.task
    )


def test_two_labels_are_two_tasks_of_booleans(labelled):
    task = labelled.task == "task 1"
    model = kh.MTONMKLClassifier(kernels="paper").fit(labelled.X, labelled.y, task=task)
    assert model.tasks_ == [False, True]
    assert model.n_samples_.tolist() == [23, 22]


@pytest.mark.parametrize("wrap", [list, np.array, pd.Series, pd.Categorical])
def test_labels_may_come_in_any_container(wrap, labelled, plain):
    model = clone(plain).fit(labelled.X, labelled.y, task=wrap(labelled.task))
    assert model.tasks_ == plain.tasks_
    np.testing.assert_array_equal(model.weights_, plain.weights_)


def test_labels_that_sort_are_sorted(plain):
    assert plain.tasks_ == ["task 0", "task 1", "task 2"]
    assert plain.n_samples_.tolist() == [14, 22, 9]


@pytest.mark.parametrize(("place", "column"), [(0, 0), (2, 2), (3, -1), (1, -3)])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, np.ndarray.tolist, pd.DataFrame])
def test_a_column_by_number(place, column, wrap, labelled):
    plain = kh.MTONMKLClassifier(kernels="paper", C=3.0, tol=1e-9)
    model = clone(plain).set_params(task_column=column)
    plain.fit(labelled.X, labelled.y, task=labelled.task)
    X = wrap(by_column(labelled, place))
    model.fit(X, labelled.y)
    assert model.tasks_ == [0, 1, 2]
    assert model.n_features_in_ == 4
    np.testing.assert_allclose(
        model.decision_function(X),
        plain.decision_function(labelled.X, task=labelled.task),
        atol=1e-5,
    )
    expected = plain.score(labelled.X, labelled.y, task=labelled.task)
    assert model.score(X, labelled.y) == expected


@pytest.mark.parametrize("column", ["where", 1, -3])
def test_a_column_of_a_data_frame(column, labelled, plain):
    X = pd.DataFrame(labelled.X, columns=["a", "b", "c"])
    X.insert(1, "where", labelled.task)
    model = clone(plain).set_params(task_column=column).fit(X, labelled.y)
    assert model.tasks_ == plain.tasks_
    assert model.feature_names_in_.tolist() == ["a", "where", "b", "c"]
    np.testing.assert_array_equal(
        model.decision_function(X), plain.decision_function(labelled.X, task=labelled.task)
    )


def test_columns_of_kernels_leave_the_task_column_out(labelled):
    X = pd.DataFrame(labelled.X, columns=["a", "b", "c"])
    X.insert(0, "where", labelled.task)
    expected = kh.MTONMKLClassifier(kernels=[kh.Gaussian(1.0), kh.Linear()], C=3.0)
    expected.fit(labelled.X[:, [0, 2]], labelled.y, task=labelled.task)
    for columns in (["a", "c"], [0, 2]):
        bank = [kh.Gaussian(1.0, columns=columns), kh.Linear(columns=columns)]
        model = kh.MTONMKLClassifier(kernels=bank, C=3.0, task_column="where").fit(X, labelled.y)
        np.testing.assert_array_equal(model.weights_, expected.weights_)
        np.testing.assert_array_equal(
            model.predict(X), expected.predict(labelled.X[:, [0, 2]], task=labelled.task)
        )


def test_columns_of_y_are_tasks_on_the_same_points(rng):
    X = rng.normal(size=(30, 2))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 0] * X[:, 1], X[:, 1]])
    Y[rng.uniform(size=Y.shape) < 0.3] = np.nan
    seen = ~np.isnan(Y)
    wide = kh.MTONMKLRegressor(kernels="paper", C=10.0).fit(X, Y)
    rows, columns = np.nonzero(seen)
    long = kh.MTONMKLRegressor(kernels="paper", C=10.0).fit(X[rows], Y[seen], task=columns)
    assert wide.tasks_ == [0, 1, 2]
    assert wide.n_samples_.tolist() == seen.sum(axis=0).tolist()
    np.testing.assert_allclose(wide.weights_, long.weights_, rtol=1e-9)
    predicted = wide.predict(X)
    assert predicted.shape == (30, 3)
    for column in range(3):
        one = np.full(30, column)
        np.testing.assert_array_equal(predicted[:, column], wide.predict(X, task=one))
        np.testing.assert_allclose(predicted[:, column], long.predict(X, task=one), atol=1e-9)
    score = wide.score(X, Y)
    assert score == pytest.approx(long.score(X[rows], Y[seen], task=columns))
    for support, observed in zip(wide.support_, seen.T, strict=True):
        assert observed[support].all()


def test_columns_of_y_may_hold_classes(rng):
    X = rng.normal(size=(24, 2))
    Y = np.empty((24, 2), dtype=object)
    Y[:, 0] = np.where(X[:, 0] > 0, "right", "left")
    Y[:, 1] = X[:, 1] > 0
    Y[3, 0], Y[5, 1] = None, np.nan
    model = kh.MTONMKLClassifier(kernels="paper", C=10.0).fit(X, Y)
    assert [classes.tolist() for classes in model.classes_] == [["left", "right"], [False, True]]
    predicted = model.predict(X)
    assert set(predicted[:, 0]) == {"left", "right"}
    assert set(map(type, predicted[:, 1])) == {bool}
    assert model.score(X, Y) > 0.8
    assert model.decision_function(X).shape == (24, 2)


def test_a_task_without_a_score_is_left_out_of_the_mean(rng):
    X = rng.normal(size=(20, 2))
    Y = np.column_stack([X[:, 0], X[:, 1] ** 2])
    model = kh.MTONMKLRegressor(kernels="paper").fit(X, Y)
    half = Y.copy()
    half[:, 0] = np.nan
    assert model.score(X, half) == model.score(X, Y[:, 1], task=np.ones(20, dtype=int))


def test_nothing_at_all_is_one_task(labelled):
    nothing = kh.MTONMKLClassifier(kernels="paper").fit(labelled.X, labelled.y)
    named = kh.MTONMKLClassifier(kernels="paper").fit(
        labelled.X, labelled.y, task=["all"] * len(labelled.y)
    )
    assert nothing.tasks_ == [0]
    np.testing.assert_array_equal(nothing.weights_, named.weights_)
    expected = nothing.decision_function(labelled.X)
    np.testing.assert_array_equal(expected, named.decision_function(labelled.X))
    zeros = np.zeros(len(labelled.y))
    np.testing.assert_array_equal(expected, nothing.decision_function(labelled.X, task=zeros))


def test_predicting_some_tasks_in_any_order(plain, labelled, rng):
    every = plain.decision_function(labelled.X, task=labelled.task)
    rows = np.flatnonzero(labelled.task != "task 1")[::-1]
    some = plain.decision_function(labelled.X[rows], task=labelled.task[rows])
    np.testing.assert_allclose(some, every[rows], atol=1e-12)
