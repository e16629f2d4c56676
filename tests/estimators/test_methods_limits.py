"""Where the methods meet: limits of their parameters, and plain SVMs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.svm import SVC, SVR

import kernelhood as kh
from tests.references import make_samples

BANK = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0), kh.Gaussian(3.0)])


@pytest.fixture(params=["classification", "regression"])
def samples(request):
    return make_samples(request.param)


def fit(prefix, samples, **options):
    X, y, task = samples
    kind = "Classifier" if y.dtype.kind == "i" else "Regressor"
    options.setdefault("kernels", BANK)
    return getattr(kh, prefix + kind)(C=2.0, tol=1e-10, **options).fit(X, y, task=task)


def values(model, samples):
    read = getattr(model, "decision_function", model.predict)
    return read(samples.X, task=samples.task)


def svm_values(samples, kernel_of):
    """Return the values of a plain SVM for every task, whose kernel is a function of X."""
    result = np.empty(len(samples.y))
    for name in np.unique(samples.task):
        rows = samples.task == name
        K = kernel_of(samples.X[rows])
        if samples.y.dtype.kind == "i":
            svm = SVC(C=2.0, kernel="precomputed", tol=1e-9).fit(K, samples.y[rows])
            result[rows] = svm.decision_function(K)
        else:
            svm = SVR(C=2.0, epsilon=0.1, kernel="precomputed", tol=1e-9).fit(K, samples.y[rows])
            result[rows] = svm.predict(K)
    return result


def gaussian(X, level=1):
    D = np.square(X[:, None] - X[None]).sum(axis=2)
    return np.exp(-D / (4.0 ** (level - 1) * D.mean()))


def test_nothing_shared_is_independent(samples):
    coupled = fit("MTMKL", samples, sharing_budget=0.0)
    alone = fit("ITL", samples, p=1.0)
    assert coupled.objective_ == pytest.approx(alone.objective_, rel=1e-8)
    np.testing.assert_allclose(values(coupled, samples), values(alone, samples), atol=1e-4)
    assert not np.any(coupled.shared_weights_)


def test_everything_shared_is_one_kernel(samples):
    model = fit("MTMKL", samples, sharing_budget=1.0)
    np.testing.assert_array_equal(model.weights_, np.tile(model.shared_weights_, (3, 1)))
    assert not np.any(model.specific_weights_)


def test_more_sharing_costs(samples):
    budgets = (0.0, 0.2, 0.5, 0.8, 1.0)
    costs = [fit("MTMKL", samples, sharing_budget=c).objective_ for c in budgets]
    assert np.all(np.diff(costs) >= -1e-8 * costs[0])
    assert costs[-1] > costs[0]


def test_itl_for_infinite_p_is_the_sum_of_kernels(samples):
    model = fit("ITL", samples, p=np.inf)
    expected = svm_values(samples, lambda X: BANK(X).sum(axis=0))
    np.testing.assert_allclose(values(model, samples), expected, atol=1e-4)
    np.testing.assert_allclose(model.weights_, 1.0, rtol=1e-12)


@pytest.mark.parametrize(("p", "limit"), [(1.0001, 1.0), (1e5, np.inf)])
def test_itl_is_continuous_in_p(samples, p, limit):
    near, there = fit("ITL", samples, p=p), fit("ITL", samples, p=limit)
    assert near.objective_ == pytest.approx(there.objective_, rel=1e-3)


def test_itl_objective_falls_as_the_ball_grows(samples):
    costs = [fit("ITL", samples, p=p).objective_ for p in (1.0, 1.2, 2.0, 4.0, np.inf)]
    assert np.all(np.diff(costs) < 0.0)


def test_averaged_kernel_is_an_svm(samples):
    expected = svm_values(samples, lambda X: BANK(X).mean(axis=0))
    np.testing.assert_allclose(values(fit("AVMTMKL", samples), samples), expected, atol=1e-4)


@pytest.mark.parametrize("level", [1, 2])
def test_rpkl_far_from_leaving_its_kernel_is_an_svm(samples, level):
    model = fit("RPKL", samples, rho=1e9, spread_level=level, kernels=None)
    expected = svm_values(samples, lambda X: gaussian(X, level))
    np.testing.assert_allclose(values(model, samples), expected, atol=1e-4)


def test_rpkl_is_an_svm_with_the_ridge_of_its_own_dual_vector(samples):
    model = fit("RPKL", samples, rho=0.25, kernels=None)
    numbers = {name: number for number, name in enumerate(model.tasks_)}
    for name, number in numbers.items():
        rows = np.flatnonzero(samples.task == name)
        v = np.zeros(len(samples.y))
        v[model.support_[number]] = model.dual_coef_[number]
        v = v[rows]
        K = gaussian(samples.X[rows])
        ridge = K + v @ v * np.eye(len(v))
        neighbor = K + np.outer(v, v)
        np.testing.assert_allclose(ridge @ v, neighbor @ v)
        own = type(samples)(samples.X[rows], samples.y[rows], samples.task[rows])
        expected = svm_values(own, lambda X, K=ridge: K)
        found = ridge @ v + model.intercept_[number]
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_onjkl_far_from_leaving_its_combination_is_itl(samples):
    near, alone = fit("ONJKL", samples, rho=1e9), fit("ITL", samples, p=1.0)
    assert near.objective_ == pytest.approx(alone.objective_, rel=1e-6)


def test_onjkl_with_one_kernel_is_rpkl(samples):
    one = [kh.Gaussian(2.0)]
    joint, single = fit("ONJKL", samples, kernels=one, rho=0.5), fit("RPKL", samples, kernels=one)
    assert joint.objective_ == pytest.approx(single.objective_, rel=1e-9)


def test_kta_for_large_eta_is_non_negative_least_squares(samples):
    model = fit("KTA", samples, eta=1e9)
    for number, name in enumerate(model.tasks_):
        X, y = samples.X[samples.task == name], samples.y[samples.task == name]
        flat = BANK(X).reshape(len(BANK), -1)
        expected = nnls(flat.T, np.outer(y, y).ravel().astype(float))[0]
        np.testing.assert_allclose(model.weights_[number], expected, atol=1e-6)


def test_kta_for_large_eta_still_solves_its_svm(samples):
    model = fit("KTA", samples, eta=1e9)
    shares = dict(zip(model.tasks_, model.weights_, strict=True))
    for name, theta in shares.items():
        rows = samples.task == name
        own = type(samples)(samples.X[rows], samples.y[rows], samples.task[rows])
        expected = svm_values(own, lambda X, theta=theta: np.tensordot(theta, BANK(X), 1))
        np.testing.assert_allclose(values(model, own), expected, atol=1e-4)
