"""Searches answer as the estimator that they have chosen does."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelhood as kh
from kernelhood.estimators import METHODS
from tests.references import make_samples

GRID = {"C": [1.0, 10.0]}
TABLES = ("weights_table", "relation_table", "sharing_table")
PLOTS = ("plot_weights", "plot_alignment", "plot_task_map", "plot_sharing")


def classifier(**settings):
    return kh.MTONMKLClassifier(kernels="small", relation="mixed", **settings)


def regressor(**settings):
    return kh.MTONMKLRegressor(kernels="small", relation="mixed", **settings)


@pytest.fixture(scope="module")
def data():
    return make_samples("regression", sizes=(18, 15, 12))


@pytest.fixture(scope="module")
def labels(data):
    return np.where(data.y > np.median(data.y), "high", "low")


@pytest.fixture(scope="module")
def chosen_classifier(data, labels):
    search = kh.KernelSearchCV(classifier(), GRID, cv=2)
    return search.fit(data.X, labels, task=data.task)


@pytest.fixture(scope="module")
def chosen_regressor(data):
    search = kh.KernelSearchCV(regressor(), GRID, cv=2)
    return search.fit(data.X, data.y, task=data.task)


def test_classifiers_tell_what_the_chosen_one_tells(chosen_classifier, data, labels):
    model = chosen_classifier
    chosen = model.best_estimator_
    for method in ("predict", "decision_function"):
        found = getattr(model, method)(data.X, task=data.task)
        np.testing.assert_array_equal(found, getattr(chosen, method)(data.X, task=data.task))
    assert model.classes_.tolist() == ["high", "low"]
    assert model.score_by_task(data.X, labels, task=data.task) == chosen.score_by_task(
        data.X, labels, task=data.task
    )


def test_regressors_tell_what_the_chosen_one_tells(chosen_regressor, data):
    model = chosen_regressor
    chosen, asked = model.best_estimator_, {"X": data.X, "task": data.task}
    np.testing.assert_array_equal(model.predict(**asked), chosen.predict(**asked))
    np.testing.assert_array_equal(model.task_similarity(), chosen.task_similarity())
    for name in TABLES:
        np.testing.assert_array_equal(getattr(model, name)(), getattr(chosen, name)())
    for name in PLOTS:
        assert getattr(model, name)() is not None
    assert model.kernels_ is chosen.kernels_
    assert model.tasks_ == chosen.tasks_
    assert model.dual_gap_ == chosen.dual_gap_
    assert model.n_features_in_ == data.X.shape[1]
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "classes_")


def test_a_new_task_is_learned(data):
    model = kh.KernelSearchCV(regressor(), GRID, cv=2).fit(data.X, data.y, task=data.task)
    y = data.y[:10] + 5.0
    assert model.adapt(data.X[:10], y, task="new") is model
    found = model.predict(data.X[:10], task=["new"] * 10)
    assert np.abs(found - y).mean() < 0.5 * np.abs(y - data.y.mean()).mean()


def test_what_is_known_of_a_new_task_reaches_the_relation(data):
    groups = dict(zip(np.unique(data.task).tolist(), "uuv", strict=True))
    grouped = kh.MTONMKLRegressor(kernels="small", relation=kh.TaskGroups(groups))
    model = kh.KernelSearchCV(grouped, GRID, cv=2)
    model.fit(data.X, data.y, task=data.task)
    asked = {"X": data.X[:5], "task": ["new"] * 5, "task_features": {"new": "u"}}
    np.testing.assert_array_equal(model.predict(**asked), model.best_estimator_.predict(**asked))
    alone = kh.KernelSearchCV(kh.ITLRegressor(), {"C": [1.0]}, cv=2)
    alone.fit(data.X, data.y, task=data.task)
    with pytest.raises(TypeError, match="task_features"):
        alone.predict(**asked)


def test_before_a_fit_it_is_known_what_there_will_be():
    plain = kh.KernelSearchCV(classifier(), GRID)
    assert hasattr(plain, "decision_function")
    assert not hasattr(kh.KernelSearchCV(regressor(), GRID), "decision_function")
    inside = make_pipeline(StandardScaler(), classifier())
    assert hasattr(kh.KernelSearchCV(inside, GRID), "decision_function")
    assert not hasattr(kh.KernelSearchCV(StandardScaler(), GRID), "decision_function")
    for name in ("n_features_in_", "classes_", "tasks_", "kernels_", "dual_gap_"):
        assert not hasattr(plain, name)
    with pytest.raises(NotFittedError):
        kh.KernelSearchCV(classifier(), GRID).decision_function([[0.0]])


def test_every_task_may_have_an_estimator_of_its_own(data):
    alone = kh.MTONMKLRegressor(kernels="small", relation="independent")
    search = kh.KernelSearchCV(alone, {"C": [0.1, 10.0]}, cv=2, per_task=True)
    search.fit(data.X, data.y, task=data.task)
    found = search.predict(data.X, task=data.task)
    for name, one in search.best_estimator_.items():
        own = data.task == name
        expected = one.predict(data.X[own], task=data.task[own])
        np.testing.assert_allclose(found[own], expected)
    with pytest.raises(ValueError, match=r"relation_table is about one.*best_estimator_\[task\]"):
        search.relation_table()


HASTY = {"tol": 1e-13, "max_iter": 1}
CONVEX = [
    kh.MTONMKLRegressor(loss=loss, formulation=formulation, relation=relation, **HASTY)
    for loss in ("epsilon_insensitive", "squared", kh.losses.Quantile(0.3))
    for formulation in ("corrected", "normalized")
    for relation in ("independent", "mixed")
]
OTHERS = [one(**HASTY) for pair in METHODS.values() for one in pair]


@pytest.mark.parametrize("model", [*CONVEX, *OTHERS], ids=str)
def test_folds_that_miss_the_gap_are_counted_in_one_warning(data, labels, model):
    y = labels if is_classifier(model) else data.y
    search = kh.KernelSearchCV(model, {"C": [1.0, 5.0]}, cv=2, refit=False)
    with pytest.warns(ConvergenceWarning) as heard:
        search.fit(data.X, y, task=data.task)
    gaps = search.cv_results_["max_gap"]
    assert len(heard) == 1
    assert str(heard[0].message).startswith("2 of 2 models did not reach the duality gap tol=1e-13")
    assert f"the worst gap is {gaps.max():.1e}" in str(heard[0].message)


def test_every_model_has_the_gap_that_was_asked_of_it(data):
    search = kh.KernelSearchCV(regressor(max_iter=1), {"tol": [1e6, 1e-13]}, cv=2, refit=False)
    with pytest.warns(ConvergenceWarning, match=r"1 of 2 models.*tol=1e-13 to 1e\+06 on some"):
        search.fit(data.X, data.y, task=data.task)


def test_kernels_name_the_columns_that_a_transformer_gives_out(data):
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"]).assign(site=data.task)
    scaled = make_column_transformer(
        (StandardScaler(), ["a", "b"]), remainder="passthrough", verbose_feature_names_out=False
    )
    bank = [kh.Gaussian(1.0, columns=["b"]), kh.Linear(columns=["c", "a"])]
    last = kh.MTONMKLRegressor(kernels=bank, task_column="site")
    whole = make_pipeline(scaled.set_output(transform="pandas"), last)
    grid = {"mtonmklregressor__C": [1.0, 10.0]}
    folds = kh.TaskStratifiedKFold(2, task_column="site")
    search = kh.KernelSearchCV(whole, grid, cv=folds).fit(frame, data.y)
    assert search.kernels_.names[:2] == ["gaussian(1)[1]", "linear[2,0]"]
    peer = GridSearchCV(whole, grid, cv=folds).fit(frame, data.y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-2
    )
    with pytest.raises(ValueError, match=r"no feature names: .*set_output\(transform='pandas'\)"):
        kh.KernelSearchCV(
            make_pipeline(StandardScaler(), kh.ITLRegressor(kernels=bank)), {"itlregressor__C": [1]}
        ).fit(data.X, data.y)
