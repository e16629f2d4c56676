"""Degenerate data and banks: nothing to learn, too little data, kernels that coincide."""

import numpy as np
import pytest

import kernelhood as kh
from tests.references import make_samples

FORMULATIONS = pytest.mark.parametrize("formulation", ["corrected", "printed", "normalized"])


@FORMULATIONS
def test_identical_kernels_are_as_good_as_one(formulation, labelled):
    data = {"X": labelled.X, "y": labelled.y, "task": labelled.task}
    kernels = [kh.Gaussian(1.0), kh.Normalized(kh.Linear())]
    single = kh.MTONMKLClassifier(kernels=kernels, formulation=formulation, tol=1e-8).fit(**data)
    double = kh.MTONMKLClassifier(kernels=2 * kernels, formulation=formulation, tol=1e-8)
    double.fit(**data)
    assert double.objective_ == pytest.approx(single.objective_, rel=1e-7)
    folded = double.weights_.reshape(3, 2, 2).sum(axis=1)
    np.testing.assert_allclose(folded, single.weights_, rtol=1e-3, atol=1e-5)
    folded = double.neighborhood_weights_.reshape(3, 2, 2).sum(axis=1)
    np.testing.assert_allclose(folded, single.neighborhood_weights_, rtol=1e-3, atol=1e-5)
    assert double.rademacher_bound(rho=1.0) == pytest.approx(single.rademacher_bound(rho=1.0), 1e-4)


@FORMULATIONS
def test_one_sample_per_class(formulation):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), ["a", "b"]
    model = kh.MTONMKLClassifier(kernels="paper", formulation=formulation, C=10.0).fit(X, y)
    assert model.predict(X).tolist() == y
    values = model.decision_function(X)
    assert values[0] == pytest.approx(-values[1], abs=1e-6)


@FORMULATIONS
def test_zero_rows_in_a_normalised_linear_kernel(formulation, labelled):
    X = labelled.X.copy()
    X[:6] = 0.0
    model = kh.MTONMKLClassifier(
        kernels=[kh.Normalized(kh.Linear()), kh.Gaussian(1.0)], formulation=formulation
    )
    model.fit(X, labelled.y, task=labelled.task)
    assert model.dual_gap_ <= 1e-3
    assert np.all(np.isfinite(model.decision_function(X, task=labelled.task)))


@FORMULATIONS
def test_constant_targets_are_predicted(formulation):
    samples = make_samples("regression")
    y = np.where(samples.task == "task 1", 4.25, samples.y)
    model = kh.MTONMKLRegressor(kernels="paper", formulation=formulation).fit(
        samples.X, y, task=samples.task
    )
    predicted = model.predict(samples.X, task=samples.task)
    np.testing.assert_allclose(predicted[samples.task == "task 1"], 4.25, atol=0.1 + 1e-9)
    number = model.tasks_.index("task 1")
    assert model.support_[number].size == 0


@FORMULATIONS
def test_a_task_of_one_sample(formulation):
    samples = make_samples("regression", sizes=(12, 1))
    model = kh.MTONMKLRegressor(kernels="paper", formulation=formulation)
    model.fit(samples.X, samples.y, task=samples.task)
    assert model.n_samples_.tolist() == [12, 1]
    alone = samples.task == "task 1"
    predicted = model.predict(samples.X[alone], task=samples.task[alone])
    np.testing.assert_allclose(predicted, samples.y[alone], atol=0.1 + 1e-9)


@pytest.mark.parametrize("made", [kh.MTONMKLClassifier, kh.MTONMKLRegressor])
def test_a_tiny_c_leaves_no_kernel(made, labelled):
    model = made(kernels="paper", C=1e-4, beta=1.0, formulation="corrected")
    model.fit(labelled.X, labelled.y, task=labelled.task)
    np.testing.assert_array_equal(model.weights_, np.zeros((3, 10)))
    assert model.dual_gap_ <= 1e-3
    assert np.all(np.isfinite(model.predict(labelled.X, task=labelled.task)))
    np.testing.assert_array_equal(model.alignment(), np.zeros((3, 3)))
    values = getattr(model, "decision_function", model.predict)(labelled.X, task=labelled.task)
    for t, name in enumerate(model.tasks_):
        np.testing.assert_array_equal(values[labelled.task == name], model.intercept_[t])


def test_without_kernels_the_larger_class_wins():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(np.arange(30) < 10, "few", "many")
    model = kh.MTONMKLClassifier(kernels="paper", C=1e-5, beta=1.0, formulation="corrected").fit(
        X, y
    )
    assert set(model.predict(X)) == {"many"}
    assert model.objective_ == pytest.approx(1e-5 * 2.0 * 10, rel=1e-6)


@FORMULATIONS
def test_a_single_constant_kernel(formulation, labelled):
    def constant(X, Z):
        return np.ones((X.shape[0], Z.shape[0]))

    model = kh.MTONMKLClassifier(kernels=constant, formulation=formulation)
    model.fit(labelled.X, labelled.y, task=labelled.task)
    assert model.dual_gap_ <= 1e-3
    for name in model.tasks_:
        mine = labelled.task == name
        assert np.ptp(model.decision_function(labelled.X[mine], task=labelled.task[mine])) == 0.0


def test_samples_of_weight_zero_do_not_exist(measured):
    weight = np.where(np.arange(45) % 4 == 0, 0.0, 1.0)
    kept = weight > 0.0
    some = kh.MTONMKLRegressor(kernels="paper").fit(
        measured.X, measured.y, task=measured.task, sample_weight=weight
    )
    rest = kh.MTONMKLRegressor(kernels="paper").fit(
        measured.X[kept], measured.y[kept], task=measured.task[kept]
    )
    np.testing.assert_array_equal(some.weights_, rest.weights_)
    for rows in some.support_:
        assert kept[rows].all()
