"""Scores of probabilities in searches: ours against scikit-learn's, and by task."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import brier_score_loss, get_scorer, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import kernelhood as kh
from kernelhood.estimators import probability as crossfit
from tests.references import make_samples

BANK = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0)])
GRID = {"beta": [0.01, 0.3]}
SCORES = ("neg_log_loss", "neg_brier_score", "roc_auc")


def classifier(**settings):
    given = {"formulation": "corrected", "kernels": BANK, "probability": True, "tol": 1e-6}
    return kh.MTONMKLClassifier(**{**given, **settings})


@pytest.fixture(scope="module")
def samples():
    return make_samples(sizes=(20, 24, 16))


@pytest.fixture(scope="module")
def frame(samples):
    return pd.DataFrame(samples.X, columns=["a", "b", "c"]).assign(site=samples.task)


def by_task(scoring, samples, cv, **settings):
    """Return the mean over tasks and splits, by fits and scikit-learn's scorers."""
    scores = []
    for train, test in cv:
        model = classifier(**settings)
        model.fit(samples.X[train], samples.y[train], task=samples.task[train])
        for name in np.unique(samples.task):
            rows = test[samples.task[test] == name]
            ask = (model, samples.X[rows], samples.y[rows])
            scores.append(kh.task_scorer(scoring)(*ask, task=samples.task[rows]))
    return np.mean(scores)


@pytest.mark.parametrize(
    ("scoring", "settings"),
    [("roc_auc", {}), ("neg_log_loss", {"sharing": "functions"})],
    ids=str,
)
def test_a_search_scores_what_fits_tell(samples, scoring, settings):
    cv = list(kh.TaskStratifiedKFold(2).split(samples.X, samples.y, task=samples.task))
    search = kh.KernelSearchCV(classifier(**settings), GRID, cv=cv, scoring=scoring)
    search.fit(samples.X, samples.y, task=samples.task)
    expected = [by_task(scoring, samples, cv, beta=beta, **settings) for beta in GRID["beta"]]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, atol=1e-5)
    told = search.predict_proba(samples.X, task=samples.task)
    np.testing.assert_array_equal(
        told, search.best_estimator_.predict_proba(samples.X, task=samples.task)
    )
    np.testing.assert_array_equal(
        search.predict_log_proba(samples.X, task=samples.task), np.log(told)
    )
    guess = search.predict(samples.X, task=samples.task)
    np.testing.assert_array_equal(guess, search.classes_[told.argmax(axis=1)])


def test_only_scores_of_probabilities_calibrate(samples, monkeypatch):
    counted = []
    inner = crossfit.fit_sigmoid
    monkeypatch.setattr(crossfit, "fit_sigmoid", lambda *given: counted.append(1) or inner(*given))
    search = kh.KernelSearchCV(classifier(), GRID, cv=2, refit=False)
    for scoring, times in {None: 0, "roc_auc": 0, "accuracy": 0, "neg_log_loss": 4}.items():
        counted.clear()
        clone(search).set_params(scoring=scoring).fit(samples.X, samples.y, task=samples.task)
        assert len(counted) == times


def test_a_scorer_of_ones_own_may_ask_for_probabilities(samples):
    def own(estimator, X, y):
        return -log_loss(y, estimator.predict_proba(X))

    cv = list(kh.TaskStratifiedKFold(2).split(samples.X, samples.y, task=samples.task))
    found = [
        kh.KernelSearchCV(classifier(), GRID, cv=cv, scoring=scoring, refit=False)
        .fit(samples.X, samples.y, task=samples.task)
        .cv_results_["mean_test_score"]
        for scoring in (
            own,
            make_scorer(log_loss, greater_is_better=False, response_method="predict_proba"),
            "neg_log_loss",
        )
    ]
    np.testing.assert_allclose(found[0], found[2], atol=1e-10)
    np.testing.assert_allclose(found[1], found[2], atol=1e-10)


def test_test_rows_of_one_class_have_a_score(samples):
    y = samples.y.copy()
    own = np.flatnonzero(samples.task == "task 0")
    y[own] = -1
    y[own[:2]] = 1
    search = kh.KernelSearchCV(classifier(), GRID, cv=3, scoring="neg_log_loss", per_task=True)
    search.fit(samples.X, y, task=samples.task)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score_task 0"]))
    assert search.predict_proba(samples.X, task=samples.task).shape == (len(y), 2)


def test_many_classes_and_two_dimensions(samples):
    y = np.digitize(samples.X[:, 0], [-0.5, 0.5])
    for scoring in ("neg_log_loss", "neg_brier_score"):
        search = kh.KernelSearchCV(classifier(), GRID, cv=2, scoring=scoring)
        search.fit(samples.X, y, task=samples.task)
        told = search.predict_proba(samples.X, task=samples.task)
        assert told.shape == (len(y), 3)
    model = search.best_estimator_
    brier = -kh.task_scorer("neg_brier_score")(model, samples.X, y, task=samples.task)
    assert brier == pytest.approx(np.mean(np.sum((told - np.eye(3)[y]) ** 2, axis=1)))
    Y = np.column_stack([y, samples.y])
    each = kh.KernelSearchCV(classifier(), GRID, cv=2, scoring="neg_log_loss", per_task=True)
    told = each.fit(samples.X, Y).predict_proba(samples.X)
    assert [one.shape for one in told] == [(len(y), 3), (len(y), 2)]


def test_without_probabilities_the_search_says_so_before_any_work(samples):
    wanted = {"scoring": "neg_log_loss"}
    with pytest.raises(ValueError, match=r"use MTONMKLClassifier\(probability=True\)"):
        kh.KernelSearchCV(classifier(probability=False), GRID, **wanted).fit(samples.X, samples.y)
    with pytest.raises(ValueError, match="predict_proba of ITLClassifier: it tells none"):
        kh.KernelSearchCV(kh.ITLClassifier(), {"C": [1.0]}, **wanted).fit(samples.X, samples.y)
    assert not hasattr(kh.KernelSearchCV(classifier(probability=False), GRID), "predict_proba")


@pytest.mark.parametrize("scoring", SCORES)
def test_scikit_learn_scores_with_a_task_column(frame, samples, scoring):
    folds = kh.TaskStratifiedKFold(2, task_column="site")
    model = classifier(task_column="site", tol=1e-5)
    expected = []
    for train, test in folds.split(frame, samples.y):
        fitted = clone(model).fit(frame.iloc[train], samples.y[train])
        expected.append(get_scorer(scoring)(fitted, frame.iloc[test], samples.y[test]))
    np.testing.assert_array_equal(
        cross_val_score(model, frame, samples.y, cv=folds, scoring=scoring), expected
    )
    whole = make_pipeline(FunctionTransformer(), model)
    grid = GridSearchCV(whole, {"mtonmklclassifier__beta": [1e-3]}, cv=folds, scoring=scoring)
    assert np.isfinite(grid.fit(frame, samples.y).best_score_)
    assert grid.predict_proba(frame).shape == (len(frame), 2)


@pytest.mark.parametrize("scoring", SCORES)
def test_scikit_learn_scores_with_tasks_that_are_routed(frame, samples, scoring):
    beside = cross_val_score(
        classifier(task_column="site", tol=1e-5),
        frame,
        samples.y,
        cv=kh.TaskStratifiedKFold(2, task_column="site"),
        scoring=scoring,
    )
    with config_context(enable_metadata_routing=True):
        model = classifier(tol=1e-5).set_fit_request(task=True)
        folds = kh.TaskStratifiedKFold(2).set_split_request(task=True)
        routed = {"scoring": kh.task_scorer(scoring), "cv": folds}
        tasks = {"task": samples.task}
        found = cross_val_score(model, samples.X, samples.y, params=tasks, **routed)
        np.testing.assert_allclose(found, beside, atol=1e-12)
        grid = GridSearchCV(model, {"beta": [1e-3]}, **routed).fit(samples.X, samples.y, **tasks)
        np.testing.assert_allclose(grid.best_score_, np.mean(found), atol=1e-12)


def test_a_routed_scorer_takes_weights_of_samples(samples):
    model = classifier(tol=1e-4).fit(samples.X, samples.y, task=samples.task)
    weight = np.arange(1.0, 1.0 + len(samples.y))
    told = model.predict_proba(samples.X, task=samples.task)[:, 1]
    found = kh.task_scorer("neg_brier_score")(
        model, samples.X, samples.y, task=samples.task, sample_weight=weight
    )
    assert found == pytest.approx(-brier_score_loss(samples.y, told, sample_weight=weight))
    assert "neg_brier_score" in repr(kh.task_scorer("neg_brier_score"))
