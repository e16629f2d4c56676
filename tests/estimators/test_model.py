"""The mathematics of MT-ONMKL, against solvers and matrices that share no code with it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.svm import SVC, SVR

import kernelhood as kh
from tests.references import conic_optimum, make_samples, svm

TIGHT = 1e-9
KERNELS = [kh.Linear(), kh.Polynomial(), kh.Gaussian(1.0), kh.Normalized(kh.Polynomial(3))]


def estimator(kind, **parameters):
    made = {"classification": kh.MTONMKLClassifier, "regression": kh.MTONMKLRegressor}
    return made[kind](**parameters)


def values(model, X, task=None):
    predict = getattr(model, "decision_function", model.predict)
    return predict(X, task=task)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("C", [0.5, 4.0])
def test_one_kernel_and_one_task_is_svc_at_the_learned_scale(kernel, C):
    samples = make_samples(sizes=(40,))
    fresh = make_samples(sizes=(30,), seed=1).X
    model = kh.MTONMKLClassifier(kernels=kernel, C=C, beta=0.01, formulation="corrected", tol=1e-12)
    model.fit(samples.X, samples.y)
    scale = model.weights_[0, 0]
    assert scale > 0.0
    reference = SVC(C=C, kernel="precomputed", tol=1e-9)
    reference.fit(scale * kernel(samples.X), samples.y)
    expected = reference.decision_function(scale * kernel(fresh, samples.X))
    np.testing.assert_allclose(model.decision_function(fresh), expected, atol=1e-4)
    np.testing.assert_array_equal(model.predict(fresh), np.where(expected > 0.0, 1, -1))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("C", [0.5, 4.0])
def test_one_kernel_and_one_task_is_svr_at_the_learned_scale(kernel, C):
    samples = make_samples("regression", sizes=(40,))
    fresh = make_samples(sizes=(30,), seed=1).X
    model = kh.MTONMKLRegressor(kernels=kernel, C=C, beta=0.01, formulation="corrected", tol=1e-12)
    model.fit(samples.X, samples.y)
    scale = model.weights_[0, 0]
    assert scale > 0.0
    reference = SVR(C=C, epsilon=0.1, kernel="precomputed", tol=1e-9)
    reference.fit(scale * kernel(samples.X), samples.y)
    expected = reference.predict(scale * kernel(fresh, samples.X))
    np.testing.assert_allclose(model.predict(fresh), expected, atol=1e-4)


def test_the_scale_balances_the_svm_and_the_price_of_the_trace():
    samples = make_samples(sizes=(30,))
    kernel = kh.Gaussian(1.0)
    model = kh.MTONMKLClassifier(kernels=kernel, beta=0.3, formulation="corrected", tol=TIGHT).fit(
        samples.X, samples.y
    )
    K = kernel(samples.X)
    v = svm(model.weights_[0, 0] * K, samples.y, C=1.0).v
    assert 0.5 * v @ K @ v == pytest.approx(0.3 * 30, rel=1e-5)


FORMULATIONS = [("corrected", 16.0, 1.0), ("printed", 16.0, 1.0), ("printed", 7.0, 1.0)]


@pytest.mark.parametrize(("formulation", "eta", "beta"), FORMULATIONS)
@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("C", [0.3, 8.0])
def test_objective_is_that_of_a_conic_solver(kind, formulation, eta, beta, C, small_bank):
    samples = make_samples(kind)
    rest = 2.0 * eta - 7.0 * beta
    a, f = (beta, 0.0)
    if formulation == "printed":
        a, f = 2.0 * beta / rest, 2.0 * (eta - 7.0 * beta) / rest
    epsilon = None if kind == "classification" else 0.1
    optimum = 0.0
    for name in np.unique(samples.task):
        mine = samples.task == name
        Ks = small_bank(samples.X[mine])
        optimum += conic_optimum(Ks, samples.y[mine], C=C, a=a, f=f, epsilon=epsilon)
    for tol in (1e-3, 1e-6):
        model = estimator(
            kind, kernels=small_bank, C=C, eta=eta, beta=beta, formulation=formulation, tol=tol
        )
        model.fit(samples.X, samples.y, task=samples.task)
        assert model.dual_gap_ <= tol
        assert model.objective_ >= optimum * (1.0 - 1e-7)
        assert model.objective_ <= optimum * (1.0 + tol)


def test_objective_with_sample_and_class_weights_is_that_of_a_conic_solver(small_bank, rng):
    samples = make_samples(sizes=(25,))
    weight = rng.uniform(0.2, 3.0, size=25)
    model = kh.MTONMKLClassifier(kernels=small_bank, beta=1.0, formulation="printed", tol=1e-6)
    model.fit(samples.X, samples.y, sample_weight=weight)
    optimum = conic_optimum(
        small_bank(samples.X), samples.y, C=1.0, a=2.0 / 25.0, f=18.0 / 25.0, weight=weight
    )
    assert model.objective_ == pytest.approx(optimum, rel=2e-6)


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("formulation", ["corrected", "printed", "normalized"])
def test_a_weight_counts_as_repetition(kind, formulation, small_bank):
    samples = make_samples(kind, sizes=(12, 9))
    times = np.arange(21) % 3 + 1
    model = estimator(kind, kernels=small_bank, formulation=formulation, tol=1e-10)
    weighted = clone(model).fit(samples.X, samples.y, task=samples.task, sample_weight=times)
    rows = np.repeat(np.arange(21), times)
    repeated = clone(model).fit(samples.X[rows], samples.y[rows], task=samples.task[rows])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(
        values(weighted, samples.X, samples.task),
        values(repeated, samples.X, samples.task),
        atol=1e-4,
    )


def test_eta_moves_the_neighborhood_and_no_prediction(labelled, small_bank):
    models = [
        kh.MTONMKLClassifier(kernels=small_bank, eta=eta, beta=1.0, formulation="corrected").fit(
            labelled.X, labelled.y, task=labelled.task
        )
        for eta in (0.5, 16.0, 1e6)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(
            models[0].decision_function(labelled.X, task=labelled.task),
            other.decision_function(labelled.X, task=labelled.task),
        )
    spread = [np.abs(one.neighborhood_weights_ - one.weights_).max() for one in models]
    assert spread[0] / spread[1] == pytest.approx(32.0)
    np.testing.assert_allclose(models[2].neighborhood_weights_, models[2].weights_, atol=1e-3)


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_twice_c_and_four_times_beta_is_the_same_model(kind, tol, small_bank):
    samples = make_samples(kind)
    fresh = make_samples(kind, seed=1)
    one = estimator(kind, kernels=small_bank, C=1.5, beta=0.7, formulation="corrected", tol=tol)
    one.fit(samples.X, samples.y, task=samples.task)
    two = clone(one).set_params(C=3.0, beta=2.8).fit(samples.X, samples.y, task=samples.task)
    np.testing.assert_allclose(
        values(one, fresh.X, fresh.task), values(two, fresh.X, fresh.task), atol=1e-10
    )
    np.testing.assert_allclose(one.weights_, 2.0 * two.weights_, rtol=1e-9)


@given(seed=st.integers(0, 2**31 - 1), kind=st.sampled_from(["classification", "regression"]))
@settings(max_examples=10, deadline=None)
def test_the_order_of_samples_and_tasks_changes_nothing(seed, kind, small_bank):
    samples, fresh = make_samples(kind), make_samples(kind, seed=1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(samples.y))
    names = dict(zip(np.unique(samples.task), rng.permutation(3).tolist(), strict=True))
    renamed = np.array([names[label] for label in samples.task])
    plain = estimator(kind, kernels=small_bank, tol=TIGHT)
    plain.fit(samples.X, samples.y, task=samples.task)
    shuffled = estimator(kind, kernels=small_bank, tol=TIGHT)
    shuffled.fit(samples.X[order], samples.y[order], task=renamed[order])
    assert shuffled.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    np.testing.assert_allclose(
        values(plain, fresh.X, fresh.task),
        values(shuffled, fresh.X, [names[label] for label in fresh.task]),
        atol=1e-4,
    )


@pytest.mark.parametrize("formulation", ["corrected", "printed", "normalized"])
def test_tasks_are_learned_independently(formulation, labelled, small_bank):
    together = kh.MTONMKLClassifier(kernels=small_bank, formulation=formulation)
    together.fit(labelled.X, labelled.y, task=labelled.task)
    for number, name in enumerate(together.tasks_):
        mine = labelled.task == name
        alone = clone(together).fit(labelled.X[mine], labelled.y[mine])
        np.testing.assert_array_equal(alone.weights_[0], together.weights_[number])


def test_fitting_twice_gives_the_same_numbers(measured):
    models = [
        kh.MTONMKLRegressor(kernels="paper", C=5.0).fit(measured.X, measured.y, task=measured.task)
        for _ in "ab"
    ]
    np.testing.assert_array_equal(models[0].weights_, models[1].weights_)
    np.testing.assert_array_equal(
        models[0].predict(measured.X, task=measured.task),
        models[1].predict(measured.X, task=measured.task),
    )
