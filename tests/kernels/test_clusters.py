"""Points in clusters far apart keep the small distances within a cluster."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

import kernelhood as kh
from kernelhood.kernels import bank as group_module
from kernelhood.kernels import base as _points
from kernelhood.kernels.base import Pair, Side

FORMS = pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.csc_array]
)
APART = pytest.mark.parametrize("apart", [1e4, 1e6, 1e7])
SPREADS = [0.5, 1.0, 3.0]
BANK = kh.KernelBank([*map(kh.Gaussian, SPREADS), kh.Normalized(kh.Gaussian(1.0)), kh.Linear()])
WEIGHTS = np.linspace(0.5, 1.5, len(SPREADS))


def clusters(rng, apart, n=40):
    """Two clusters, both of them away from 0, the second with as much room as the first."""
    X = rng.normal(size=(n, 3)) + 5.0
    X[n // 2 :] += apart * np.array([1.0, -0.5, 2.0])
    return X


def gaussians(X, Z):
    distances = cdist(X, Z, "sqeuclidean")
    return np.array([np.exp(-distances / (2.0 * spread**2)) for spread in SPREADS])


@APART
@FORMS
def test_values_are_those_of_distances_from_differences(apart, form, rng):
    X, Z = clusters(rng, apart), clusters(rng, apart, n=26)
    for left, right, found in (
        (X, X, BANK(form(X))),
        (X, Z, BANK(form(X), form(Z))),
        (Z, X, BANK(Z, form(X))),
    ):
        expected = gaussians(left, right)
        np.testing.assert_allclose(found[: len(SPREADS)], expected, rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(found[-2], expected[1], rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(found[-1], left @ right.T, rtol=1e-12)
    np.testing.assert_allclose(kh.Gaussian(1.0)(form(X)), gaussians(X, X)[1], rtol=1e-11)


@APART
@FORMS
def test_matrices_are_symmetric_and_positive(apart, form, rng):
    X = clusters(rng, apart, n=60)
    for K in BANK(form(X))[: len(SPREADS)]:
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diag(K), 1.0)
        assert np.linalg.eigvalsh(K)[0] >= -1e-12 * len(K)


@pytest.mark.parametrize("block", [20, 2**19])
@FORMS
def test_sums_and_small_blocks(block, form, rng, monkeypatch):
    monkeypatch.setattr(group_module, "_BLOCK", block)
    monkeypatch.setattr(_points, "_BLOCK", block)
    X, Z = clusters(rng, 1e6), clusters(rng, 1e6, n=26)
    expected, change = gaussians(X, Z), np.linspace(-1.0, 2.0, len(X))
    bank = BANK[: len(SPREADS)]
    np.testing.assert_allclose(bank(form(X), form(Z)), expected, rtol=1e-11, atol=1e-300)
    combined, sums = bank.combine(form(X), form(Z), WEIGHTS), np.tensordot(WEIGHTS, expected, 1)
    np.testing.assert_allclose(combined, sums, rtol=1e-11, atol=1e-300)
    products = bank.products(form(X), form(Z), change)
    np.testing.assert_allclose(products, change @ expected, atol=1e-11)


def test_only_distances_among_far_points_are_from_differences(rng, monkeypatch):
    sizes, real = [], _points.cdist
    monkeypatch.setattr(
        _points, "cdist", lambda X, Z, kind: sizes.append((len(X), len(Z))) or real(X, Z, kind)
    )
    X = rng.normal(size=(40, 3))
    X[[4, 9, 30]] += 1e7
    expected = gaussians(X, X)
    np.testing.assert_allclose(BANK(X)[: len(SPREADS)], expected, rtol=1e-11, atol=1e-300)
    assert sizes == [(3, 3)]
    # Far points on one side only: all distances from them are large.
    found = BANK(X, X[10:20])[: len(SPREADS)]
    np.testing.assert_allclose(found, expected[:, :, 10:20], rtol=1e-11, atol=1e-300)
    assert len(sizes) == 1


def test_wide_gaussians_need_no_differences(rng):
    X = clusters(rng, 1e6)
    assert Pair(X, Side(X, 1e4)).distant.left.all()
    assert not Pair(X, Side(X, 1.0)).distant.left[20:].any()
    wide = kh.KernelBank([kh.Gaussian(1e4), kh.Gaussian(1e6)])
    expected = [np.exp(-cdist(X, X, "sqeuclidean") / (2.0 * s**2)) for s in (1e4, 1e6)]
    np.testing.assert_allclose(wide(X), expected, rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("size", [1.0, 1e2, 1e3])
def test_ordinary_points_have_the_distances_of_inner_products(size, rng):
    X = size * rng.uniform(-1.0, 1.0, size=(50, 21))
    pair = Pair(X, Side(X, 1.0))
    assert pair.distant is pair.inner


def test_where_differences_begin_nothing_jumps(rng):
    base = rng.normal(size=(30, 2))
    for apart in np.geomspace(1e2, 1e5, 13):
        X = np.vstack([base, base + apart, base - apart])
        K = kh.Gaussian(1.0)(X)
        np.testing.assert_allclose(K, gaussians(X, X)[1], atol=2e-9)


def test_wide_sparse_points(rng):
    X = sparse.lil_array(rng.normal(size=(30, 5000)) * (rng.random((30, 5000)) < 0.002))
    X[:15, [7]], X[15:, [4000]] = 1e7, 1e7
    X = sparse.csr_array(X)
    dense = X.toarray()
    found = BANK(X)[: len(SPREADS)]
    np.testing.assert_allclose(found, gaussians(dense, dense), rtol=1e-11, atol=1e-300)
