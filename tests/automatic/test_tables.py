"""Estimators that choose, on real tables and inside scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelhood as kh
from tests.scikit_learn_checks import every_check

SIZES = (1, 2, 3, 5, 24, 30)
QUICK = {"kernels": "small", "formulation": "corrected"}
REGRESSOR = kh.MTONMKLRegressorCV(epsilon=0.1, loss="epsilon_insensitive", cv=2, **QUICK)
CLASSIFIER = kh.MTONMKLClassifierCV(cv=2, **QUICK)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    site = np.repeat([f"site {k}" for k in range(len(SIZES))], SIZES)
    X = rng.normal(size=(len(site), 3))
    y = X[:, 0] + 0.1 * rng.normal(size=len(site))
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(site=site, y=y)


def columns(frame):
    return frame[["a", "b", "c", "site"]]


def labels(frame):
    found = np.where(frame.y > 0.0, "yes", "no")
    found[frame.site == "site 3"] = "yes"
    return found


def test_tiny_tasks(frame):
    one = clone(REGRESSOR).set_params(cv=3, relation="mixed")
    model = clone(one).set_params(task_column="site").fit(columns(frame), frame.y)
    assert model.tasks_ == [f"site {k}" for k in range(len(SIZES))]
    assert np.isnan(model.best_task_scores_["site 0"])
    assert model.score(columns(frame), frame.y) > 0.8
    beside = clone(one).fit(frame[["a", "b", "c"]], frame.y, task=frame[["site"]])
    assert beside.best_params_ == model.best_params_


def test_tasks_of_one_class_are_named_once(frame):
    model = clone(CLASSIFIER).set_params(task_column="site", cv=3)
    with pytest.warns(UserWarning, match=r"only one class in \d of 6 tasks") as heard:
        model.fit(columns(frame), labels(frame))
    assert len(heard) == 1
    assert set(model.predict(columns(frame))) == {"yes", "no"}


def test_missing_values_and_text(frame):
    given = columns(frame).assign(colour=np.tile(["red", "blue"], 33)[: len(frame)])
    given.loc[::7, "a"] = np.nan
    model = clone(REGRESSOR).set_params(task_column="site", missing="indicator", kernels=None)
    assert model.fit(given, frame.y).score(given, frame.y) > 0.4
    with pytest.raises(ValueError, match="column 'a' holds missing values"):
        clone(model).set_params(missing="error").fit(given, frame.y)


def test_targets_of_two_dimensions(frame):
    X = frame[["a", "b", "c"]].to_numpy()
    Y = np.column_stack([frame.y, -1000.0 * frame.y])
    model = clone(REGRESSOR).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.8


def test_a_single_task_needs_no_name(frame):
    X = frame[["a", "b", "c"]].to_numpy()
    model = clone(REGRESSOR).fit(X, frame.y)
    assert {kind.split(",")[0] for kind in model.cv_results_["kind"]} == {"independent"}
    assert model.predict(X).shape == (len(X),)


def test_in_a_pipeline_and_in_searches(frame):
    scaled = make_column_transformer(
        (StandardScaler(), ["a", "b", "c"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = make_pipeline(scaled, clone(REGRESSOR).set_params(task_column="site"))
    folds = kh.TaskStratifiedKFold(2, task_column="site")
    search = GridSearchCV(model, {"mtonmklregressorcv__relation": ["pooled"]}, cv=folds)
    search.fit(columns(frame), frame.y)
    assert search.score(columns(frame), frame.y) > 0.8
    assert search.best_estimator_[-1].n_features_in_ == 4


def test_tasks_are_routed(frame):
    X, task = frame[["a", "b", "c"]], frame.site.to_numpy()
    with config_context(enable_metadata_routing=True):
        model = clone(REGRESSOR).set_params(relation="mixed")
        model.set_fit_request(task=True).set_score_request(task=True)
        folds = kh.TaskStratifiedKFold(2).set_split_request(task=True)
        found = cross_validate(model, X, frame.y, cv=folds, params={"task": task})
    assert found["test_score"].mean() > 0.5


def test_copies_files_and_pictures(frame):
    model = clone(REGRESSOR).set_params(task_column="site")
    assert "MTONMKLRegressorCV" in model._repr_html_()
    model.fit(columns(frame), frame.y)
    content = pickle.dumps(model)
    again = pickle.loads(content)
    np.testing.assert_array_equal(again.predict(columns(frame)), model.predict(columns(frame)))
    assert again.summary() == model.summary()
    assert not hasattr(clone(model), "n_features_in_")


ONE_KIND = {"relation": "pooled", "kernels": [kh.Gaussian(1.0)], "cv": 2}


#: What choosing can break; the estimator that is chosen passes all checks itself.
OF_CHOICES = (
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_dataframe_column_names_consistency",
    "check_dict_unchanged",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_dont_overwrite_attributes",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_fit2d_1sample",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_parameters_default_constructible",
    "check_requires_y_none",
    "check_sample_weights_pandas_series",
)


@every_check(clone(CLASSIFIER).set_params(**ONE_KIND), only=OF_CHOICES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
