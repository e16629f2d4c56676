"""Neighborhoods that exist on the training points only, and RPKL's own kernels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelhood as kh
from kernelhood.estimators.neighborhoods import mean_square_distance
from kernelhood.inspection.model import alignment
from tests.references import make_samples

BANK = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0), kh.Gaussian(3.0)])


@pytest.fixture
def samples():
    return make_samples()


def whole_dual(model, samples, number):
    v = np.zeros(len(samples.y))
    v[model.support_[number]] = model.dual_coef_[number]
    return v[samples.task == model.tasks_[number]]


@pytest.mark.parametrize(
    ("model", "c"), [(kh.RPKLClassifier(rho=0.5), 0.5), (kh.ONJKLClassifier(rho=0.5), 1.0)]
)
def test_alignment_tells_of_the_whole_matrix_on_the_diagonal(model, c, samples):
    model.fit(samples.X, samples.y, task=samples.task)
    cosines = model.alignment()
    for t, name in enumerate(model.tasks_):
        X = samples.X[samples.task == name]
        K = model.task_kernel(X, X, name)
        v = whole_dual(model, samples, t)
        assert cosines[t, t] == pytest.approx(alignment(K, K + c * np.outer(v, v)))
        whole = K + c * np.outer(v, v)
        np.testing.assert_allclose(model.neighborhood_kernel(X, X, name), whole, atol=1e-12)
        np.testing.assert_allclose(
            model.neighborhood_kernel(X[3:1:-1], X, name), whole[3:1:-1], atol=1e-12
        )
        away = model.neighborhood_kernel(X, X + 0.01, name)
        np.testing.assert_allclose(away, model.task_kernel(X, X + 0.01, name))
        assert np.abs(v).max() > 0.0
        for s, other in enumerate(model.tasks_):
            if s != t:
                expected = alignment(K, model.neighborhood_kernel(X, X, other))
                assert cosines[t, s] == pytest.approx(expected)


@pytest.mark.parametrize("centered", [False, True])
def test_kta_aligns_with_the_targets(centered, samples):
    model = kh.KTAClassifier(kernels=BANK, centered=centered)
    model.fit(samples.X, samples.y, task=samples.task)
    cosines = model.alignment()
    for t, name in enumerate(model.tasks_):
        rows = samples.task == name
        X, y = samples.X[rows], samples.y[rows]
        K = model.task_kernel(X, X, name)
        assert cosines[t, t] == pytest.approx(alignment(K, np.outer(y, y)))
        projection = model.neighborhood_kernel(X, X, name)
        rest = np.outer(y, y) - projection
        np.testing.assert_allclose(np.einsum("mij,ij->m", BANK(X), rest), 0.0, atol=1e-6)


def test_rpkl_has_a_gaussian_for_every_task(samples):
    model = kh.RPKLClassifier(spread_level=2).fit(samples.X, samples.y, task=samples.task)
    for number, name in enumerate(model.tasks_):
        X = samples.X[samples.task == name]
        D = np.square(X[:, None] - X[None]).sum(axis=2)
        assert model.sigmas_[number] == pytest.approx(4.0 * D.mean())
        np.testing.assert_allclose(model.task_kernel(X, X, name), np.exp(-D / (4.0 * D.mean())))
    assert list(model.weights_table().columns) == ["gaussian"]


def test_rpkl_takes_one_kernel_or_none(samples):
    with pytest.raises(ValueError, match="needs a single kernel, got 3"):
        kh.RPKLClassifier(kernels=BANK).fit(samples.X, samples.y, task=samples.task)
    model = kh.RPKLClassifier(kernels=kh.Gaussian(2.0)).fit(samples.X, samples.y, task=samples.task)
    assert not hasattr(model, "sigmas_")
    assert list(model.weights_table().columns) == ["gaussian(2)"]
    np.testing.assert_allclose(np.diag(model.alignment()) <= 1.0, True)


def test_rpkl_survives_equal_points():
    X, y = np.ones((6, 2)), np.array([0, 1, 0, 1, 1, 1])
    model = kh.RPKLClassifier().fit(X, y)
    assert model.sigmas_[0] == 0.0
    np.testing.assert_array_equal(model.predict(X), 1)


def test_mean_square_distance_counts_weights_and_sparse_points():
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(9, 3)), rng.integers(1, 4, 9)
    repeated = np.repeat(X, counts, axis=0)
    expected = np.square(repeated[:, None] - repeated[None]).sum(axis=2).mean()
    assert mean_square_distance(X, counts.astype(float)) == pytest.approx(expected)
    assert mean_square_distance(sparse.csr_matrix(X), counts.astype(float)) == pytest.approx(
        expected
    )


@pytest.mark.parametrize(
    "model",
    [
        kh.ITLClassifier(p=0.5),
        kh.MTMKLClassifier(sharing_budget=1.5),
        kh.RPKLClassifier(spread_level=4),
        kh.ONJKLRegressor(rho=0.0),
        kh.KTARegressor(eta=-1.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_parameters_out_of_range_are_refused(model, samples):
    with pytest.raises(ValueError, match="parameter of"):
        model.fit(samples.X, samples.y, task=samples.task)


def test_methods_without_a_neighborhood_say_so(samples):
    model = kh.ITLClassifier(kernels=BANK).fit(samples.X, samples.y, task=samples.task)
    with pytest.raises(AttributeError):
        model.alignment()
