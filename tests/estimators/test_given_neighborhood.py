"""Neighborhoods that are given: values against a conic solver, and the limits of eta."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

import kernelhood as kh
from tests.estimators import conic
from tests.references import make_samples

BANK = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0), kh.Gaussian(3.0)])
KINDS = ("classification", "regression")
MODELS = {"classification": kh.MTONMKLClassifier, "regression": kh.MTONMKLRegressor}
KTA = {"classification": kh.KTAClassifier, "regression": kh.KTARegressor}
C = {"classification": 2.0, "regression": 5.0}
EPSILON = {"classification": None, "regression": 0.1}

each_kind = pytest.mark.parametrize("kind", KINDS)


def indefinite(n, seed=0):
    """Return a symmetric matrix with eigenvalues of both signs."""
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


def around(name, X, y, task):
    """Return matrices by task, and what to give as `neighborhood`."""
    rows = {one: np.flatnonzero(task == one) for one in np.unique(task)}
    if name == "targets":
        given = {one: np.outer(y[own], y[own]) for one, own in rows.items()}
        return given, given
    if name == "indefinite":
        given = {
            one: 3.0 * indefinite(len(own), seed) for seed, (one, own) in enumerate(rows.items())
        }
        return given, given
    kernel = kh.Gaussian(2.0)
    return {one: kernel(X[own]) for one, own in rows.items()}, kernel


def posed(kind, name, weight=None):
    """Return data, what to give, and the tasks for the conic solver."""
    X, y, task = make_samples(kind)
    matrices, given = around(name, X, y, task)
    counts = np.ones(len(y)) if weight is None else weight
    tasks = [
        (BANK(X[task == one]), y[task == one], matrix, counts[task == one])
        for one, matrix in matrices.items()
    ]
    return (X, y, task), given, tasks


def fitted(kind, data, **options):
    X, y, task = data
    weight = options.pop("sample_weight", None)
    options.setdefault("tol", 1e-7)
    model = MODELS[kind](kernels=BANK, C=C[kind], **options)
    return model.fit(X, y, task=task, sample_weight=weight)


def distance(model, tasks):
    """Return the sum of squared distances of a model's kernels."""
    return sum(
        np.sum(np.outer(weight, weight) * (np.tensordot(theta, Ks, 1) - Khat) ** 2)
        for theta, (Ks, _, Khat, weight) in zip(model.weights_, tasks, strict=True)
    )


@each_kind
@pytest.mark.parametrize("name", ["targets", "indefinite", "kernel"])
@pytest.mark.parametrize("eta", [1e-3, 10.0])
def test_the_penalised_form(kind, name, eta):
    data, given, tasks = posed(kind, name)
    model = fitted(kind, data, neighborhood=given, eta=eta)
    expected, _ = conic.near_matrices(tasks, C[kind], eta=eta, epsilon=EPSILON[kind])
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    assert model.dual_gap_ <= 1e-7


@each_kind
@pytest.mark.parametrize("name", ["targets", "indefinite", "kernel"])
@pytest.mark.parametrize("factor", [1.05, 30.0])
def test_the_constrained_form(kind, name, factor):
    data, given, tasks = posed(kind, name)
    nearest = fitted(kind, data, neighborhood=given, eta=1e9, tol=1e-3)
    rho = factor * (distance(nearest, tasks) + 0.1)
    model = fitted(kind, data, neighborhood=given, radius=rho, tol=1e-5)
    expected, _ = conic.near_matrices(tasks, C[kind], rho=rho, epsilon=EPSILON[kind])
    assert distance(model, tasks) <= rho * (1.0 + 1e-9)
    assert model.objective_ == pytest.approx(expected, rel=5e-5)
    assert model.dual_gap_ <= 1e-5
    # The multiplier is the eta of the same model with a price.
    priced = fitted(kind, data, neighborhood=given, eta=model.multiplier_)
    assert distance(priced, tasks) == pytest.approx(rho, rel=0.05)


def test_the_radius_is_one_for_all_tasks():
    data, given, tasks = posed("regression", "kernel")
    model = fitted("regression", data, neighborhood=given, radius=40.0, tol=1e-5)
    own = np.array(
        [distance_of(theta, one) for theta, one in zip(model.weights_, tasks, strict=True)]
    )
    assert own.sum() == pytest.approx(40.0, rel=0.01)
    # Each task on its own with its share of the radius has the same value.
    values = [
        conic.near_matrices([one], C["regression"], rho=share, epsilon=0.1)[0]
        for one, share in zip(tasks, own, strict=True)
    ]
    assert sum(values) == pytest.approx(model.objective_, rel=1e-3)
    assert np.ptp(own) > 1.0


def distance_of(theta, task):
    Ks, _, Khat, _ = task
    return np.sum((np.tensordot(theta, Ks, 1) - Khat) ** 2)


@each_kind
@pytest.mark.parametrize("form", [{"eta": 0.3}, {"radius": 300.0}])
def test_a_sample_of_weight_two_counts_as_two(kind, form):
    X, y, task = make_samples(kind)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    data, given, tasks = posed(kind, "kernel", weight)
    model = fitted(kind, data, neighborhood=given, sample_weight=weight, tol=1e-6, **form)
    settings = {"eta": form.get("eta"), "rho": form.get("radius"), "epsilon": EPSILON[kind]}
    expected, _ = conic.near_matrices(tasks, C[kind], **settings)
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    often = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = fitted(kind, (X[often], y[often], task[often]), neighborhood=given, tol=1e-6, **form)
    assert repeated.objective_ == pytest.approx(model.objective_, rel=1e-5)


def test_samples_of_weight_zero_have_no_row_in_the_matrix():
    data, given, _ = posed("classification", "indefinite")
    X, y, task = data
    weight = np.ones(len(y))
    weight[[3, 4, 11]] = 0.0
    model = fitted("classification", data, neighborhood=given, sample_weight=weight, eta=0.1)
    kept = weight > 0.0
    smaller = {
        one: matrix[np.ix_(kept[task == one], kept[task == one])] for one, matrix in given.items()
    }
    part = (X[kept], y[kept], task[kept])
    again = fitted("classification", part, neighborhood=smaller, eta=0.1)
    assert model.objective_ == pytest.approx(again.objective_, rel=1e-6)


@each_kind
@pytest.mark.parametrize("eta", [1e-3, 1.0, 2.0**40])
def test_the_targets_as_neighborhood_are_kta(kind, eta):
    data, given, _ = posed(kind, "targets")
    X, y, task = data
    model = fitted(kind, data, neighborhood=given, eta=eta)
    kta = KTA[kind](kernels=BANK, C=C[kind], eta=eta, tol=1e-7).fit(X, y, task=task)
    assert model.objective_ == pytest.approx(kta.objective_, rel=1e-6)
    K = model.task_kernel(X, X, "task 1")
    np.testing.assert_allclose(K, kta.task_kernel(X, X, "task 1"), atol=1e-2 * np.abs(K).max())
    np.testing.assert_allclose(np.diag(model.alignment()), np.diag(kta.alignment()), rtol=1e-3)


@each_kind
@pytest.mark.parametrize("name", ["targets", "indefinite", "kernel"])
def test_a_large_eta_gives_the_projection(kind, name):
    data, given, tasks = posed(kind, name)
    model = fitted(kind, data, neighborhood=given, eta=1e12, tol=1e-3)
    for theta, (Ks, _, Khat, _) in zip(model.weights_, tasks, strict=True):
        nearest = nnls(Ks.reshape(len(Ks), -1).T, Khat.ravel())[0]
        expected = np.tensordot(nearest, Ks, 1)
        found = np.tensordot(theta, Ks, 1)
        np.testing.assert_allclose(found, expected, atol=1e-6 * (1.0 + np.abs(expected).max()))
    assert model.dual_gap_ <= 1e-3


def test_the_gap_is_relative_to_what_weights_can_change():
    """The part of the distance that no weights avoid would hide any error of the SVMs."""
    data, given, tasks = posed("classification", "indefinite")
    model = fitted("classification", data, neighborhood=given, eta=1e6, tol=1e-3)
    least = 0.5e6 * distance(fitted("classification", data, neighborhood=given, eta=1e12), tasks)
    tight = fitted("classification", data, neighborhood=given, eta=1e6, tol=1e-8)
    svms = tight.objective_ - least
    assert least > 1e3 * svms
    assert model.objective_ - tight.objective_ <= 2e-3 * svms


def test_a_kernel_of_the_bank_is_reached():
    data, _, _ = posed("regression", "kernel")
    model = fitted("regression", data, neighborhood=kh.Gaussian(3.0), eta=1e9)
    np.testing.assert_allclose(model.weights_, [[0.0, 0.0, 1.0]] * 3, atol=1e-4)
    free = fitted("regression", data, neighborhood=kh.Gaussian(3.0), radius=0.0, tol=1e-3)
    np.testing.assert_allclose(free.weights_, [[0.0, 0.0, 1.0]] * 3, atol=1e-3)


def test_a_radius_that_does_not_matter_has_no_multiplier():
    X, _, task = make_samples("regression")
    flat = np.full(len(task), 0.05)
    model = kh.MTONMKLRegressor(kernels=BANK, neighborhood="rbf", radius=50.0, epsilon=0.1)
    model.fit(X, flat, task=task)
    assert model.multiplier_ == 0.0
    assert model.objective_ == pytest.approx(0.0, abs=1e-12)
    assert model.dual_gap_ <= 1e-3


def test_several_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
    task = np.repeat(["a", "b"], 30)
    for form in ({"eta": 1.0}, {"radius": 50.0}):
        model = kh.MTONMKLClassifier(kernels=BANK, C=3.0, neighborhood=kh.Gaussian(2.0), **form)
        model.fit(X, y, task=task)
        assert model.dual_gap_ <= 1e-3
        assert model.score(X, y, task=task) > 0.8
    far = np.sum((model.task_kernel(X[:30], X[:30], "a") - kh.Gaussian(2.0)(X[:30])) ** 2)
    far += np.sum((model.task_kernel(X[30:], X[30:], "b") - kh.Gaussian(2.0)(X[30:])) ** 2)
    assert far <= 50.0 * (1.0 + 1e-9)


@pytest.mark.parametrize("form", [{"eta": 1e-3}, {"radius": 2000.0}])
def test_the_nearest_kernel_may_be_zero(form):
    """Its SVM has many dual vectors, and tells little of where to go."""
    (X, y, task), _, tasks = posed("classification", "kernel")
    given = {name: -kh.Gaussian(2.0)(X[task == name]) for name in np.unique(task)}
    tasks = [(Ks, own, -Khat, weight) for Ks, own, Khat, weight in tasks]
    model = fitted("classification", (X, y, task), neighborhood=given, tol=1e-6, **form)
    settings = {"eta": form.get("eta"), "rho": form.get("radius")}
    expected, _ = conic.near_matrices(tasks, C["classification"], **settings)
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    far = fitted("classification", (X, y, task), neighborhood=given, eta=1e9, tol=1e-3)
    np.testing.assert_allclose(far.weights_, 0.0, atol=1e-5)


@pytest.mark.parametrize("eta", [1.0, 1e6, 1e12])
def test_a_kernel_that_the_bank_holds_twice(eta):
    X, y, task = make_samples("regression")
    kernels = [kh.Gaussian(s) for s in (32.0, 4.0, 2.0, 4.0, 2.0, 64.0)]
    model = kh.MTONMKLRegressor(kernels=kernels, C=900.0, eta=eta)
    model.set_params(neighborhood=([kh.Gaussian(2.0)], [20.0])).fit(X, y, task=task)
    assert model.dual_gap_ <= 1e-3
