"""Pipelines, searches and cross-validation, with and without metadata routing."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import kernelhood as kh
from tests.references import make_samples

FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.fixture
def labelled():
    return make_samples("classification", sizes=(30, 24, 21))


@pytest.fixture
def measured():
    return make_samples("regression", sizes=(30, 24, 21))


@pytest.fixture
def frame(labelled):
    X = pd.DataFrame(labelled.X, columns=["a", "b", "c"])
    X["where"] = labelled.task
    return X


def scores_by_hand(model, samples):
    scores = []
    for train, test in FOLDS.split(samples.X):
        fitted = clone(model).fit(samples.X[train], samples.y[train], task=samples.task[train])
        scores.append(fitted.score(samples.X[test], samples.y[test], task=samples.task[test]))
    return scores


def test_cross_validation_with_a_task_column(frame, labelled):
    model = kh.MTONMKLClassifier(kernels="paper", C=3.0, task_column="where")
    found = cross_val_score(model, frame, labelled.y, cv=FOLDS)
    expected = scores_by_hand(kh.MTONMKLClassifier(kernels="paper", C=3.0), labelled)
    np.testing.assert_array_equal(found, expected)
    predicted = cross_val_predict(model, frame, labelled.y, cv=FOLDS)
    assert set(predicted) == {-1, 1}


def test_a_pipeline_with_a_task_column(frame, labelled):
    scale = make_column_transformer(
        (StandardScaler(), ["a", "b", "c"]), ("passthrough", ["where"])
    ).set_output(transform="pandas")
    column = "passthrough__where"
    pipe = make_pipeline(scale, kh.MTONMKLClassifier(kernels="paper", task_column=column))
    search = GridSearchCV(pipe, {"mtonmklclassifier__C": [1e-4, 10.0]}, cv=FOLDS)
    search.fit(frame, labelled.y)
    assert search.best_params_ == {"mtonmklclassifier__C": 10.0}
    plain = kh.MTONMKLClassifier(kernels="paper", C=10.0)
    scaled = StandardScaler().fit_transform(labelled.X)
    plain.fit(scaled, labelled.y, task=labelled.task)
    np.testing.assert_array_equal(search.predict(frame), plain.predict(scaled, task=labelled.task))


def test_a_pipeline_with_a_numbered_task_column(labelled, measured):
    number = np.unique(measured.task, return_inverse=True)[1]
    X = np.column_stack([measured.X, number])
    search = GridSearchCV(
        kh.MTONMKLRegressor(kernels="paper", task_column=-1),
        {"C": [1e-4, 10.0], "epsilon": [0.1]},
        cv=FOLDS,
    )
    assert search.fit(X, measured.y).best_params_["C"] == 10.0
    assert search.score(X, measured.y) > 0.5


def test_routing_through_cross_validation(labelled):
    plain = kh.MTONMKLClassifier(kernels="paper", C=3.0)
    expected = scores_by_hand(plain, labelled)
    with config_context(enable_metadata_routing=True):
        routed = kh.MTONMKLClassifier(kernels="paper", C=3.0).set_fit_request(task=True)
        routed = routed.set_score_request(task=True)
        found = cross_val_score(
            routed, labelled.X, labelled.y, cv=FOLDS, params={"task": labelled.task}
        )
    np.testing.assert_array_equal(found, expected)


def test_routing_of_sample_weights(measured):
    weight = np.linspace(0.1, 3.0, len(measured.y))
    params = {"task": measured.task, "sample_weight": weight}
    with config_context(enable_metadata_routing=True):
        model = kh.MTONMKLRegressor(kernels="paper", C=3.0)
        model.set_fit_request(task=True, sample_weight=True)
        model.set_score_request(task=True, sample_weight=False)
        found = cross_validate(
            model, measured.X, measured.y, cv=FOLDS, params=params, return_estimator=True
        )
    for (train, _), fitted in zip(FOLDS.split(measured.X), found["estimator"], strict=True):
        expected = kh.MTONMKLRegressor(kernels="paper", C=3.0).fit(
            measured.X[train],
            measured.y[train],
            task=measured.task[train],
            sample_weight=weight[train],
        )
        np.testing.assert_array_equal(fitted.weights_, expected.weights_)


#: Before 1.8 scikit-learn's searches do not ask a pipeline what it routes to `score`.
SCORERS = [None] if parse_version(sklearn.__version__) >= parse_version("1.8") else []


@pytest.mark.parametrize("scoring", [*SCORERS, kh.task_scorer("accuracy")])
def test_routing_through_a_pipeline_and_a_search(labelled, scoring):
    with config_context(enable_metadata_routing=True):
        model = kh.MTONMKLClassifier(kernels="paper").set_fit_request(task=True)
        model = model.set_predict_request(task=True).set_score_request(task=True)
        pipe = make_pipeline(StandardScaler(), model)
        search = GridSearchCV(
            pipe, {"mtonmklclassifier__C": [1e-4, 10.0]}, cv=FOLDS, scoring=scoring
        )
        search.fit(labelled.X, labelled.y, task=labelled.task)
        assert search.best_params_ == {"mtonmklclassifier__C": 10.0}
        predicted = search.best_estimator_.predict(labelled.X, task=labelled.task)
    plain = kh.MTONMKLClassifier(kernels="paper", C=10.0)
    scaled = StandardScaler().fit_transform(labelled.X)
    plain.fit(scaled, labelled.y, task=labelled.task)
    np.testing.assert_array_equal(predicted, plain.predict(scaled, task=labelled.task))


def test_columns_of_y_in_cross_validation(rng):
    X = rng.normal(size=(45, 2))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 0]])
    Y[::7, 0] = np.nan
    found = cross_val_score(
        kh.MTONMKLRegressor(kernels="paper", C=50.0, epsilon=0.01), X, Y, cv=FOLDS
    )
    assert found.shape == (3,)
    assert found.min() > 0.5


def test_precomputed_kernels_survive_cross_validation(labelled):
    matrices = [kh.Gaussian(1.0)(labelled.X), kh.Normalized(kh.Linear())(labelled.X)]
    number = np.unique(labelled.task, return_inverse=True)[1]
    rows = np.column_stack([np.arange(75.0), number])
    given = kh.MTONMKLClassifier(
        kernels=[kh.Precomputed(K) for K in matrices], C=3.0, task_column=1, tol=1e-9
    )
    model = kh.MTONMKLClassifier(
        kernels=[kh.Gaussian(1.0), kh.Normalized(kh.Linear())], C=3.0, task_column=3, tol=1e-9
    )
    X = np.column_stack([labelled.X, number])
    for method in ("decision_function", "predict"):
        found = cross_val_predict(given, rows, labelled.y, cv=FOLDS, method=method)
        expected = cross_val_predict(model, X, labelled.y, cv=FOLDS, method=method)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_rows_of_a_precomputed_kernel_beside_other_features(labelled):
    K = kh.Gaussian(1.0)(labelled.X)
    X = np.column_stack([np.arange(75.0), labelled.X])
    bank = [kh.Precomputed(K, columns=[0]), kh.Linear(columns=[1, 2, 3])]
    plain = [kh.Gaussian(1.0), kh.Linear()]
    found = kh.MTONMKLClassifier(kernels=bank, C=3.0, tol=1e-9)
    found.fit(X, labelled.y, task=labelled.task)
    expected = kh.MTONMKLClassifier(kernels=plain, C=3.0, tol=1e-9)
    expected.fit(labelled.X, labelled.y, task=labelled.task)
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-5)
