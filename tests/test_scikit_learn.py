"""scikit-learn around and inside: what takes an estimator takes ours, and passes tasks on."""

import pickle

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.exceptions import DataConversionWarning
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelhood as kh
from tests.references import make_samples

SHARED = {"relation": "functions", "formulation": "corrected", "C": 5.0, "tol": 1e-6}
GRID = {"beta": [0.001, 1.0]}
FOLDS = kh.TaskStratifiedKFold(3, task_column="site")


def regressor(**settings):
    return kh.MTONMKLRegressor(**{**SHARED, **settings})


def searching(estimator, prefix="", **settings):
    grid = {prefix + name: values for name, values in GRID.items()}
    return kh.KernelSearchCV(estimator, grid, **{"cv": 3, **settings})


@pytest.fixture(scope="module")
def samples():
    return make_samples("regression", sizes=(18, 15, 12))


@pytest.fixture(scope="module")
def frame(samples):
    return pd.DataFrame(samples.X, columns=["a", "b", "c"]).assign(site=samples.task)


@pytest.fixture(scope="module")
def fitted(frame, samples):
    return regressor(task_column="site").fit(frame, samples.y)


def test_folds_of_a_search_know_the_task_column(frame, samples):
    """Sorted rows whose tasks are dealt out evenly only by who knows them."""
    inside = searching(regressor(task_column="site")).fit(frame, samples.y)
    beside = searching(regressor()).fit(samples.X, samples.y, task=samples.task)
    for key in ("mean_test_score", "split0_test_score", f"mean_test_score_{samples.task[0]}"):
        np.testing.assert_allclose(inside.cv_results_[key], beside.cv_results_[key], atol=1e-9)
    integers = searching(kh.PooledRegressor(task_column="site"))
    integers.param_grid = {"C": [1.0]}
    assert integers.fit(frame, samples.y).n_splits_ == 3


def scaling(**options):
    columns = make_column_transformer(
        (StandardScaler(), ["a", "b", "c"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    return make_pipeline(columns.set_output(transform="pandas"), *options.values())


def test_a_pipeline_inside_a_search_is_fitted_to_every_split(frame, samples):
    model = scaling(last=regressor(task_column="site"))
    search = searching(model, "mtonmklregressor__", cv=FOLDS).fit(frame, samples.y)
    peer = GridSearchCV(model, {"mtonmklregressor__beta": GRID["beta"]}, cv=FOLDS)
    peer.fit(frame, samples.y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-5
    )
    assert search.best_params_ == peer.best_params_
    np.testing.assert_allclose(search.predict(frame), peer.predict(frame), atol=1e-4)
    np.testing.assert_array_equal(search.best_estimator_.predict(frame), search.predict(frame))
    assert search.score(frame, samples.y) == pytest.approx(
        search.best_estimator_.score(frame, samples.y)
    )
    assert search.plot_path() is not None


def test_a_transformed_target_inside_a_search(frame, samples):
    y = 1000.0 * samples.y + 5000.0
    plain = searching(regressor(task_column="site"), cv=[(np.arange(45), np.arange(45))])
    plain.fit(frame, (y - y.mean()) / y.std())
    wrapped = TransformedTargetRegressor(
        regressor(task_column="site"), transformer=StandardScaler()
    )
    search = searching(wrapped, "regressor__", cv=[(np.arange(45), np.arange(45))]).fit(frame, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-6
    )
    expected = plain.predict(frame) * y.std() + y.mean()
    np.testing.assert_allclose(search.predict(frame), expected, rtol=1e-4)
    np.testing.assert_allclose(search.best_estimator_.predict(frame), search.predict(frame))
    assert search.score(frame, y) == pytest.approx(search.best_score_, abs=1e-4)
    logs = TransformedTargetRegressor(
        scaling(last=regressor(task_column="site")), func=np.log1p, inverse_func=np.expm1
    )
    both = searching(logs, "regressor__mtonmklregressor__").fit(frame, np.exp(samples.y))
    assert np.all(both.predict(frame) > -1.0)
    np.testing.assert_array_equal(both.best_estimator_.predict(frame), both.predict(frame))


def test_targets_of_two_dimensions_are_transformed_by_column(samples):
    Y = np.column_stack([samples.X[:, 0], 1000.0 * samples.X[:, 1]])
    wrapped = TransformedTargetRegressor(regressor(), transformer=StandardScaler())
    search = searching(wrapped, "regressor__").fit(samples.X, Y)
    assert search.predict(samples.X).shape == Y.shape
    assert search.score(samples.X, Y) > 0.9
    np.testing.assert_array_equal(
        search.best_estimator_.predict(samples.X), search.predict(samples.X)
    )


def test_a_pipeline_with_tasks_beside_x(samples):
    search = searching(make_pipeline(StandardScaler(), regressor()), "mtonmklregressor__")
    search.fit(samples.X, samples.y, task=samples.task)
    assert search.score(samples.X, samples.y, task=samples.task) > 0.9
    with config_context(enable_metadata_routing=True):
        assert search.predict(samples.X, task=samples.task).shape == samples.y.shape


def test_a_pipeline_and_a_target_around_a_search(frame, samples):
    search = searching(regressor(task_column="site"))
    alone = clone(search).fit(
        frame.assign(**dict(zip("abc", _scaled(frame), strict=True))), samples.y
    )
    around = scaling(last=search).fit(frame, samples.y)
    np.testing.assert_allclose(
        around.predict(frame)[:5],
        alone.predict(frame.assign(**dict(zip("abc", _scaled(frame), strict=True))))[:5],
        atol=1e-6,
    )
    target = TransformedTargetRegressor(search, transformer=StandardScaler())
    assert target.fit(frame, 100.0 * samples.y).score(frame, 100.0 * samples.y) > 0.9


def _scaled(frame):
    return StandardScaler().fit_transform(frame[["a", "b", "c"]]).T


def test_what_a_search_cannot_be_put_around(frame, samples):
    with pytest.raises(ValueError, match="param_grid names 'standardscaler__with_mean'.*C. Use"):
        kh.KernelSearchCV(
            make_pipeline(StandardScaler(), regressor()), {"standardscaler__with_mean": [True]}
        ).fit(samples.X, samples.y)
    with pytest.raises(
        TypeError,
        match="estimator must be one of the paper's methods, such as MTONMKLRegressor, alone",
    ):
        searching(make_pipeline(StandardScaler())).fit(samples.X, samples.y)


def test_tasks_are_routed_to_folds_fits_and_scores(samples):
    tasks = {"task": samples.task}
    splits = list(kh.TaskStratifiedKFold(3).split(samples.X, samples.y, **tasks))
    assert kh.TaskStratifiedKFold(3).get_n_splits(samples.X, samples.y, **tasks) == 3
    assert kh.TaskShuffleSplit(2).get_n_splits(task=samples.task) == 2
    expected = []
    for train, test in splits:
        one = regressor(beta=0.001).fit(
            samples.X[train], samples.y[train], task=samples.task[train]
        )
        expected.append(one.score(samples.X[test], samples.y[test], task=samples.task[test]))
    with config_context(enable_metadata_routing=True):
        model = regressor(beta=0.001).set_fit_request(task=True)
        model.set_predict_request(task=True).set_score_request(task=True)
        folds = kh.TaskStratifiedKFold(3).set_split_request(task=True)
        found = cross_validate(model, samples.X, samples.y, cv=folds, params=tasks)
        np.testing.assert_array_equal(found["test_score"], expected)
        grid = GridSearchCV(model, GRID, cv=folds).fit(samples.X, samples.y, **tasks)
        assert grid.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(expected))
        assert grid.score(samples.X, samples.y, **tasks) > 0.9
        search = searching(regressor()).set_fit_request(task=True).set_score_request(task=True)
        whole = make_pipeline(StandardScaler(), search).fit(samples.X, samples.y, **tasks)
        assert whole.score(samples.X, samples.y, **tasks) > 0.9


def test_a_column_of_targets_is_one_dimension(samples, fitted, frame):
    model = regressor(task_column="site")
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        model.fit(frame, samples.y[:, None])
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(frame))
    with pytest.warns(DataConversionWarning):
        kh.MTONMKLClassifier().fit(samples.X, (samples.y[:, None] > 0.0))
    with pytest.warns(DataConversionWarning) as heard:
        search = searching(model).fit(frame, samples.y[:, None])
    assert len(heard) == 1
    assert search.predict(frame).shape == samples.y.shape


def test_a_frame_of_one_column_names_the_tasks(samples, fitted, frame):
    model = regressor().fit(frame[["a", "b", "c"]], samples.y, task=frame[["site"]])
    found = model.predict(frame[["a", "b", "c"]], task=samples.task[:, None])
    np.testing.assert_allclose(found, fitted.predict(frame), atol=1e-8)
    with pytest.raises(ValueError, match=r"one hashable label.*got the columns \['site', 'a'\]"):
        regressor().fit(samples.X, samples.y, task=frame[["site", "a"]])


def test_polars_frames(samples, fitted, frame):
    table = polars.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
    model = regressor(task_column="site").fit(table, polars.Series(samples.y))
    np.testing.assert_allclose(model.predict(table), fitted.predict(frame), atol=1e-8)
    assert list(model.feature_names_in_) == list(frame.columns)
    beside = regressor().fit(table[["a", "b", "c"]], samples.y, task=table[["site"]])
    found = beside.predict(table[["a", "b", "c"]], task=table["site"])
    np.testing.assert_allclose(found, fitted.predict(frame), atol=1e-8)
    search = searching(regressor(task_column="site")).fit(table, samples.y)
    assert search.score(table, samples.y) > 0.9
    with pytest.raises(ValueError, match=r"task_column 'where' is not among the columns"):
        regressor(task_column="where").fit(table, samples.y)


def test_importance_and_dependence(samples, fitted, frame):
    found = permutation_importance(fitted, frame, samples.y, n_repeats=2, random_state=0)
    assert found.importances_mean.shape == (4,)
    assert found.importances_mean.max() > 0.1
    curve = partial_dependence(fitted, frame, ["a"], grid_resolution=4)
    at = [fitted.predict(frame.assign(a=value)).mean() for value in curve["grid_values"][0]]
    np.testing.assert_allclose(curve["average"][0], at)
    search = searching(regressor(task_column="site")).fit(frame, samples.y)
    assert permutation_importance(search, frame, samples.y, n_repeats=1).importances.size == 4
    assert partial_dependence(search, frame, ["a"], grid_resolution=3)["average"].shape == (1, 3)


@pytest.mark.parametrize(
    "model", [kh.ITLRegressor(kernels="small"), kh.MTONMKLRegressor(relation="independent")]
)
def test_folds_of_whole_tasks_say_what_to_use(model, frame, samples):
    model.set_params(task_column="site")
    remedy = (
        r"(?s)not seen in fit: 'task .'.*cv=kernelhood.TaskStratifiedKFold\(task_column='site'\)"
    )
    with pytest.warns(UserWarning, match=remedy):
        scores = cross_val_score(model, frame, samples.y, cv=GroupKFold(3), groups=samples.task)
    assert np.isnan(scores).all()
    assert np.isfinite(cross_val_score(model, frame, samples.y, cv=FOLDS)).all()


def test_folds_of_whole_tasks_score_the_common_function(frame, samples):
    model = kh.MTONMKLRegressor(kernels="small", relation="mixed", task_column="site")
    whole = {"cv": GroupKFold(3), "groups": samples.task}
    with pytest.warns(
        UserWarning, match=r"cv=kernelhood.TaskStratifiedKFold\(task_column='site'\)"
    ):
        scores = cross_val_score(model, frame, samples.y, **whole)
    quiet = clone(model).set_params(unseen_task="shared")
    np.testing.assert_array_equal(scores, cross_val_score(quiet, frame, samples.y, **whole))
    routed = kh.MTONMKLRegressor(kernels="small").fit(samples.X, samples.y, task=samples.task)
    with pytest.warns(UserWarning, match=r"TaskStratifiedKFold\(\).set_split_request\(task=True\)"):
        routed.predict(samples.X[:1], task=["new"])


def test_learning_curves(samples, frame):
    sizes, _, test = learning_curve(
        regressor(task_column="site"),
        frame,
        samples.y,
        cv=FOLDS,
        train_sizes=[1.0],
        scoring="r2",
    )
    plain = cross_val_score(regressor(task_column="site"), frame, samples.y, cv=FOLDS, scoring="r2")
    np.testing.assert_allclose(test[0], plain)
    assert sizes.tolist() == [30]


def test_calibration(samples, frame):
    y = np.where(samples.y > np.median(samples.y), "high", "low")
    model = kh.MTONMKLClassifier(task_column="site", **SHARED)
    calibrated = CalibratedClassifierCV(model, cv=FOLDS).fit(frame, y)
    chances = calibrated.predict_proba(frame)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.mean(calibrated.predict(frame) == y) > 0.9
    search = kh.KernelSearchCV(model, GRID, cv=2)
    assert CalibratedClassifierCV(search, cv=FOLDS).fit(frame, y).classes_.tolist() == [
        "high",
        "low",
    ]


def test_copies_files_and_pictures(samples, fitted, frame):
    search = searching(scaling(last=regressor(task_column="site")), "mtonmklregressor__")
    assert "KernelSearchCV" in search._repr_html_()
    assert "MTONMKLRegressor" in fitted._repr_html_()
    assert clone(search).get_params(deep=False).keys() == search.get_params(deep=False).keys()
    search.fit(frame, samples.y)
    for model in (fitted, search):
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
        assert not hasattr(clone(model), "n_features_in_")
        assert clone(model) is not model
