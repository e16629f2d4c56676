"""The pooled SVM is scikit-learn's on the averaged kernel, whatever the tasks."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import kernelhood as kh
from kernelhood.kernels import Gaussian, KernelBank, Linear, Normalized
from tests.references import make_samples

BANK = KernelBank([Normalized(Linear()), Gaussian(1.0), Gaussian(2.0)])


def test_a_pooled_classifier_is_svc_on_all_samples():
    samples = make_samples("classification")
    K = BANK(samples.X).mean(axis=0)
    model = kh.PooledClassifier(kernels=BANK, C=2.0, tol=1e-9)
    model.fit(samples.X, samples.y, task=samples.task)
    reference = SVC(C=2.0, kernel="precomputed", tol=1e-9).fit(K, samples.y)
    np.testing.assert_allclose(
        model.decision_function(samples.X, task=samples.task),
        reference.decision_function(K),
        atol=1e-4,
    )
    unseen = model.predict(samples.X, task=["new"] * len(samples.y))
    np.testing.assert_array_equal(unseen, reference.predict(K))
    assert model.weights_table().columns.tolist() == ["average"]


def test_a_pooled_regressor_is_svr_on_all_samples():
    samples = make_samples("regression")
    K = BANK(samples.X).mean(axis=0)
    model = kh.PooledRegressor(kernels=BANK, C=2.0, tol=1e-9)
    model.fit(samples.X, samples.y, task=samples.task)
    reference = SVR(C=2.0, kernel="precomputed", tol=1e-9).fit(K, samples.y)
    np.testing.assert_allclose(model.predict(samples.X), reference.predict(K), atol=1e-4)


def test_classes_that_differ_by_task_are_matched_by_their_order():
    samples = make_samples("classification")
    other = np.where(samples.y > 0, "yes", "no")
    y = np.where(samples.task == "task 1", other, np.where(samples.y > 0, "b", "a"))
    mixed = kh.PooledClassifier(kernels=BANK).fit(samples.X, y, task=samples.task)
    plain = kh.PooledClassifier(kernels=BANK).fit(samples.X, samples.y, task=samples.task)
    found = mixed.predict(samples.X, task=samples.task)
    assert set(found[samples.task == "task 1"]) <= {"no", "yes"}
    second = np.isin(found, ["yes", "b"])
    np.testing.assert_array_equal(second, plain.predict(samples.X) > 0)
    by_task = [np.mean((found == y)[samples.task == name]) for name in np.unique(samples.task)]
    assert mixed.score(samples.X, y, task=samples.task) == pytest.approx(np.mean(by_task))
    search = kh.KernelSearchCV(kh.PooledClassifier(kernels=BANK), {"C": [0.1, 1.0]}, cv=2)
    search.fit(samples.X, y, task=samples.task)
    np.testing.assert_array_equal(search.n_models_, 2)
    with pytest.raises(ValueError, match="not seen in fit: 'new'"):
        mixed.predict(samples.X[:1], task=["new"])
    with pytest.raises(ValueError, match="task is required"):
        mixed.predict(samples.X[:1])


def test_it_searches_like_the_others():
    samples = make_samples("regression", sizes=(30, 24))
    search = kh.KernelSearchCV(kh.PooledRegressor(kernels=BANK), {"C": [0.1, 1.0, 10.0]}, cv=2)
    search.fit(samples.X, samples.y, task=samples.task)
    assert search.n_models_ == 3
    assert search.predict(samples.X, task=samples.task).shape == samples.y.shape


def test_two_columns_of_targets_are_refused():
    samples = make_samples("regression")
    with pytest.raises(ValueError, match=r"y must have one dimension.*\(45, 2\)"):
        kh.PooledRegressor().fit(samples.X, np.column_stack([samples.y, samples.y]))
