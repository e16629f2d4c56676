"""What holds for every method of the table, classifier and regressor alike."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy import sparse

import kernelhood as kh
from kernelhood.estimators import METHODS

BANK = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0), kh.Gaussian(3.0)])
SINGLE_KERNEL = {"rpkl"}
PEERS = [name for name in METHODS if name != "mt-onmkl"]
WITHOUT_NEIGHBORHOOD = {"itl", "avmtmkl", "mt-mkl"}
TOL = 1e-6

every_method = pytest.mark.parametrize("name", METHODS)
every_estimator = pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in METHODS for number in (0, 1)]
)
every_peer = pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in PEERS for number in (0, 1)]
)


def make(name, number, **options):
    if name not in SINGLE_KERNEL:
        options.setdefault("kernels", BANK)
    return METHODS[name][number](**options)


@pytest.fixture
def data():
    """Three tasks of unequal size with classes and numbers to learn."""
    rng = np.random.default_rng(3)
    task = np.repeat(["a", "b", "c"], [24, 30, 18])
    X = rng.normal(size=(len(task), 3))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(task))
    return X, (np.where(f > np.median(f), 1, -1), f), task


@every_estimator
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_every_method_reaches_the_gap(name, number, C, data):
    X, targets, task = data
    model = make(name, number, C=C, tol=TOL).fit(X, targets[number], task=task)
    assert -1e-9 <= model.dual_gap_ <= TOL
    assert 1 <= model.n_iter_ <= 100
    assert model.weights_.shape == (3, 1 if name in SINGLE_KERNEL else 3)
    assert np.all(model.weights_ >= 0.0)
    np.testing.assert_allclose(model.shared_weights_ + model.specific_weights_, model.weights_)


@every_estimator
def test_objective_never_falls_below_what_a_tighter_gap_certifies(name, number, data):
    X, targets, task = data
    loose = make(name, number, tol=1e-2).fit(X, targets[number], task=task)
    tight = make(name, number, tol=1e-8).fit(X, targets[number], task=task)
    size = abs(tight.objective_)
    assert loose.objective_ >= tight.objective_ - 1e-7 * size
    assert loose.objective_ <= tight.objective_ + 2e-2 * size


@every_estimator
def test_the_four_ways_to_name_tasks_agree(name, number, data):
    X, targets, _ = data
    X, y = X[:30], np.column_stack([targets[number][:30], targets[number][30:60]])
    wide = make(name, number, tol=TOL).fit(X, y)
    long_X, long_y = np.vstack([X, X]), y.T.ravel()
    task = np.repeat([0, 1], 30)
    labelled = make(name, number, tol=TOL).fit(long_X, long_y, task=task)
    with_column = np.column_stack([task, long_X])
    column = make(name, number, tol=TOL, task_column=0).fit(with_column, long_y)
    expected = wide.predict(X).T.ravel()
    np.testing.assert_allclose(labelled.predict(long_X, task=task), expected)
    np.testing.assert_allclose(column.predict(with_column), expected)
    if name != "mt-mkl":
        one = make(name, number, tol=TOL).fit(X, y[:, 0])
        np.testing.assert_allclose(one.predict(X), wide.predict(X)[:, 0])


@every_peer
def test_sparse_points_and_threads_change_nothing(name, number, data):
    X, targets, task = data
    plain = make(name, number, tol=1e-10).fit(X, targets[number], task=task)
    other = make(name, number, tol=1e-10, n_jobs=2).fit(
        sparse.csr_matrix(X), targets[number], task=task
    )
    np.testing.assert_allclose(other.weights_, plain.weights_, atol=1e-5)
    np.testing.assert_allclose(other.objective_, plain.objective_, rtol=1e-5)


@every_estimator
def test_a_weight_of_two_is_a_repeated_sample(name, number, data):
    X, targets, task = data
    y = targets[number]
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    settings = {"tol": 1e-8, **({"formulation": "corrected"} if name == "mt-onmkl" else {})}
    weighted = make(name, number, **settings).fit(X, y, task=task, sample_weight=counts)
    repeated = make(name, number, **settings).fit(X[rows], y[rows], task=task[rows])
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=1e-3)
    if name not in WITHOUT_NEIGHBORHOOD:
        np.testing.assert_allclose(weighted.alignment(), repeated.alignment(), atol=1e-3)


@every_estimator
def test_every_parameter_is_described_and_stored(name, number):
    cls = METHODS[name][number]
    doc = inspect.getdoc(cls)
    for parameter in cls().get_params():
        assert f"\n{parameter} : " in doc
    assert doc.index("Parameters\n") < doc.index("Attributes\n") < doc.index("Notes\n")


@every_method
def test_neighborhoods_where_there_are_any(name, data):
    X, (classes, _), task = data
    model = make(name, 0).fit(X, classes, task=task)
    offered = [hasattr(model, method) for method in ("neighborhood_kernel", "alignment")]
    assert offered == [name not in WITHOUT_NEIGHBORHOOD] * 2
    assert hasattr(model, "neighborhood_weights_") == offered[0]
    if offered[0]:
        cosines = model.alignment()
        assert cosines.shape == (3, 3)
        assert np.all(np.abs(cosines) <= 1.0)
        assert model.neighborhood_kernel(X[:4], X[:5], "b").shape == (4, 5)


@every_method
def test_task_kernel_explains_the_predictions(name, data):
    X, (_, f), task = data
    model = make(name, 1, C=10.0).fit(X, f, task=task)
    new = X[:7] + 0.1
    for number, one in enumerate(model.tasks_):
        K = model.task_kernel(new, model.support_vectors_[number], one)
        expected = K @ model.dual_coef_[number] + model.intercept_[number]
        np.testing.assert_allclose(model.predict(new, task=np.repeat(one, 7)), expected)
    assert list(model.weights_table().index) == ["a", "b", "c"]


OWN_GRIDS = {
    "itl": {"p": [1.0, 2.0, np.inf]},
    "avmtmkl": {"C": [0.1, 1.0]},
    "mt-mkl": {"sharing_budget": [0.0, 1.0]},
    "rpkl": {"rho": [0.25, 100.0], "spread_level": [1, 3]},
    "onjkl": {"rho": [0.1, 100.0, 1.0]},
    "kta": {"eta": [1e-3, 1.0, 0.03]},
    "mt-onmkl": {"beta": [0.01, 1.0]},
}


@every_estimator
def test_a_search_scores_what_a_fit_would(name, number, data):
    X, targets, task = data
    train, test = np.arange(0, len(task), 2), np.arange(1, len(task), 2)
    model = make(name, number, tol=1e-8)
    search = kh.KernelSearchCV(model, OWN_GRIDS[name], cv=[(train, test)], refit=False)
    search.fit(X, targets[number], task=task)
    results = search.cv_results_
    assert search.n_models_ == len(results["params"])
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        one = make(name, number, tol=1e-8, **params).fit(
            X[train], targets[number][train], task=task[train]
        )
        expected = one.score(X[test], targets[number][test], task=task[test])
        assert score == pytest.approx(expected, abs=1e-3)
