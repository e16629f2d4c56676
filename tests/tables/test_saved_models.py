"""Model files of searches: the chosen model, and all that was found on the way."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelhood as kh
from tests.references import make_samples

pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def data():
    return make_samples("regression", sizes=(18, 15, 12))


def again(model, folder):
    kh.save(model, folder / "model.skops")
    return kh.load(folder / "model.skops")


def same_results(found, expected):
    """Compare two dictionaries of results, column by column."""
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        if name == "params":
            assert found[name] == column
        elif name.startswith("param_"):
            assert found[name].mask.tolist() == column.mask.tolist()
            assert found[name].compressed().tolist() == column.compressed().tolist()
        else:
            np.testing.assert_array_equal(found[name], column)


@pytest.mark.parametrize("per_task", [True, False])
def test_a_search_is_kept(data, small_bank, tmp_path, per_task):
    folds = kh.TaskStratifiedKFold(2)
    search = kh.KernelSearchCV(
        kh.ITLRegressor(kernels=small_bank), {"C": [0.01, 10.0]}, cv=folds, per_task=per_task
    )
    search.fit(data.X, data.y, task=data.task)
    loaded = again(search, tmp_path)
    asked = {"X": data.X, "task": data.task}
    np.testing.assert_array_equal(loaded.predict(**asked), search.predict(**asked))
    assert loaded.best_params_ == search.best_params_
    assert loaded.cv.get_n_splits() == 2
    assert loaded.plot_path() is not None
    same_results(loaded.cv_results_, search.cv_results_)


def test_what_is_around_the_model_is_kept(data, small_bank, tmp_path):
    inside = make_pipeline(StandardScaler(), kh.ITLRegressor(kernels=small_bank))
    target = TransformedTargetRegressor(inside, transformer=StandardScaler())
    grid = {"regressor__itlregressor__C": [1.0, 10.0]}
    search = kh.KernelSearchCV(target, grid, cv=2).fit(data.X, data.y, task=data.task)
    asked = {"X": data.X, "task": data.task}
    loaded = again(search, tmp_path)
    np.testing.assert_array_equal(loaded.predict(**asked), search.predict(**asked))
    assert loaded.score(data.X, data.y, task=data.task) == search.score(
        data.X, data.y, task=data.task
    )
    around = make_pipeline(StandardScaler(), kh.KernelSearchCV(inside, {"itlregressor__C": [1.0]}))
    around.fit(data.X, data.y)
    np.testing.assert_array_equal(again(around, tmp_path).predict(data.X), around.predict(data.X))


def test_code_is_kept_as_text_where_only_a_new_search_would_need_it(data, tmp_path):
    def product(X, Z):
        return X @ Z.T

    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    grid = {"kernels": [[product], [kh.Gaussian(1.0)]]}
    search = kh.KernelSearchCV(kh.ITLRegressor(), grid, cv=KFold(2), scoring=scorer)
    search.fit(data.X, np.exp(-(data.X**2).sum(axis=1)))
    assert search.best_index_ == 1
    loaded = again(search, tmp_path)
    assert loaded.cv == repr(search.cv)
    assert isinstance(loaded.scoring, str)
    assert "product" in loaded.cv_results_["params"][0]["kernels"][0]
    assert loaded.cv_results_["params"][1] == search.cv_results_["params"][1]
    np.testing.assert_array_equal(loaded.predict(data.X), search.predict(data.X))
