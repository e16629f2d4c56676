"""Distances do not change when all points are moved, so kernels of distances must not either."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

import kernelhood as kh
from kernelhood.kernels import bank as group_module
from kernelhood.kernels.bank import PointKernels
from kernelhood.kernels.base import Pair, Side

OFFSETS = [0.0, 1e3, 1e5, 1e6, 1e7]
SPREADS = [0.5, 1.0, 3.0]
FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
GAUSSIANS = [kh.Gaussian(spread) for spread in SPREADS]
RAW = [kh.Linear(), kh.Normalized(kh.Linear()), kh.Normalized(kh.Polynomial(3, offset=2.0))]


def moved_points(rng, offset, n=12, m=9):
    """Points around an offset. What rounds them is the sum, so all compare with its result."""
    direction = np.array([1.0, -0.5, 2.0, 0.25])
    return tuple(rng.normal(size=(size, 4)) + offset * direction for size in (n, m))


def expected_gaussians(X, Z):
    """Gaussians of distances from differences, which lose no digits."""
    distances = cdist(X, Z, "sqeuclidean")
    return np.array([np.exp(-distances / (2.0 * spread**2)) for spread in SPREADS])


@pytest.mark.parametrize("offset", OFFSETS)
@FORMS
def test_gaussians_alone(offset, form, rng):
    X, Z = moved_points(rng, offset)
    for spread, across, inside in zip(
        SPREADS, expected_gaussians(X, Z), expected_gaussians(X, X), strict=True
    ):
        for kernel in (kh.Gaussian(spread), kh.Normalized(kh.Gaussian(spread))):
            np.testing.assert_allclose(kernel(form(X), form(Z)), across, rtol=1e-11)
            np.testing.assert_allclose(kernel(form(X)), inside, rtol=1e-11)


@pytest.mark.parametrize("raw", [[], RAW], ids=["only Gaussians", "with inner products"])
@pytest.mark.parametrize("offset", OFFSETS)
@FORMS
def test_gaussians_of_a_bank(raw, offset, form, rng):
    X, Z = moved_points(rng, offset)
    bank = kh.KernelBank([*GAUSSIANS, *raw])
    inside, across = bank(form(X)), bank(form(X), form(Z))
    np.testing.assert_allclose(inside[: len(SPREADS)], expected_gaussians(X, X), rtol=1e-11)
    np.testing.assert_allclose(across[: len(SPREADS)], expected_gaussians(X, Z), rtol=1e-11)
    for place, kernel in enumerate(raw, len(SPREADS)):
        np.testing.assert_allclose(across[place], kernel(X, Z), rtol=1e-13)


@pytest.mark.parametrize("offset", OFFSETS)
@FORMS
def test_moving_the_points_leaves_the_gaussians(offset, form, rng):
    X, Z = moved_points(rng, 0.0)
    bank = kh.KernelBank([*GAUSSIANS, *RAW])
    found = bank(form(X + offset), form(Z + offset))[: len(SPREADS)]
    # The sums round the points themselves, to half of what the next number is away.
    atol = 100.0 * np.spacing(offset + 1.0)
    np.testing.assert_allclose(found, expected_gaussians(X, Z), rtol=1e-11, atol=atol)


@pytest.mark.parametrize("offset", OFFSETS)
@FORMS
def test_matrices_are_symmetric_with_a_unit_diagonal(offset, form, rng):
    X = form(moved_points(rng, offset, n=67)[0])
    bank = kh.KernelBank([*GAUSSIANS, *RAW])
    for Ks in (bank(X), [kernel(X) for kernel in bank]):
        for K in Ks:
            np.testing.assert_array_equal(K, K.T)
        for K in Ks[: len(SPREADS)]:
            np.testing.assert_array_equal(np.diag(K), 1.0)
            assert np.linalg.eigvalsh(K)[0] > -1e-12


@pytest.mark.parametrize("block", [1, 20, 2**19])
@pytest.mark.parametrize("offset", OFFSETS)
@FORMS
def test_blocks_are_parts_of_the_whole(block, offset, form, rng, monkeypatch):
    monkeypatch.setattr(group_module, "_BLOCK", block)
    X, Z = moved_points(rng, offset)
    bank = kh.KernelBank([*GAUSSIANS, *RAW[1:], kh.Gaussian(1.0, columns=[2, 0])])
    weights, change = np.linspace(0.5, 1.5, len(bank)), np.linspace(-1.0, 2.0, len(X))
    whole = bank(X, Z)
    combined, products = np.tensordot(weights, whole, axes=1), change @ whole
    X, Z = form(X), form(Z)
    np.testing.assert_allclose(bank.combine(X, Z, weights), combined, rtol=1e-11)
    np.testing.assert_allclose(bank.products(X, Z, change), products, atol=1e-11)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(
    ("rows", "columns"), [([3], [5]), ([3], [3]), ([0, 7], [2]), ([4, 1, 2], [1, 4, 9, 11])]
)
@FORMS
def test_named_points_are_parts_of_the_whole(offset, rows, columns, form, rng):
    X, _ = moved_points(rng, offset)
    bank, rows, columns = kh.KernelBank([*GAUSSIANS, *RAW[1:]]), np.array(rows), np.array(columns)
    part = bank(X)[:, rows][:, :, columns]
    kernels = PointKernels(bank, form(X))
    weights, change = np.linspace(0.5, 1.5, len(bank)), np.linspace(-1.0, 2.0, len(rows))
    np.testing.assert_allclose(kernels.stack(rows, columns), part, rtol=1e-11)
    combined = np.tensordot(weights, part, axes=1)
    found = kernels.combinations(rows, columns, weights[None, :, None])[0]
    np.testing.assert_allclose(found, combined, rtol=1e-11)
    products = kernels.products(rows, columns, change)
    np.testing.assert_allclose(products, change @ part, atol=1e-11)


def test_points_to_predict_may_lie_elsewhere(rng):
    Z = rng.normal(size=(8, 3)) + 1e7
    X = np.vstack([Z[:4] + rng.normal(size=(4, 3)), rng.normal(size=(4, 3))])
    Ks = kh.KernelBank([*GAUSSIANS, kh.Linear()])(X, Z)[: len(SPREADS)]
    np.testing.assert_allclose(Ks, expected_gaussians(X, Z), rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("offset", [0.0, 5.0, 9.0, 11.0, 20.0, 100.0])
def test_no_digits_jump_where_the_offset_begins_to_matter(offset, rng):
    Z = rng.normal(size=(50, 1)) + offset
    np.testing.assert_allclose(
        Pair(Z, Side(Z)).distant.square_distances(),
        cdist(Z, Z, "sqeuclidean"),
        rtol=0.0,
        atol=1e-12,
    )


@FORMS
def test_one_product_serves_all_kernels_where_the_offset_does_not_matter(form, rng):
    near, far = (form(rng.normal(size=(30, 3)) + offset) for offset in (1.0, 1e3))
    pair = Pair(near, Side(near))
    assert pair.distant is pair.inner
    pair = Pair(far, Side(far))
    assert pair.distant is not pair.inner


def test_gaussians_alone_need_one_product(rng):
    Z = rng.normal(size=(30, 3)) + 1e3
    pair = Pair(Z, Side(Z))
    assert pair.products(moved=True) is pair.distant
    assert "inner" not in vars(pair)


def mostly_empty_points(rng):
    """Sparse points with two columns that are far from 0 in all rows, and wide empty ones."""
    X = sparse.lil_array(rng.normal(size=(40, 500)) * (rng.random((40, 500)) < 0.01))
    X[:, [7]] = 1e6 + rng.normal(size=(40, 1))
    X[:, [300]] = -1e6 + rng.normal(size=(40, 1))
    return sparse.csr_array(X)


def test_only_columns_that_are_full_become_dense(rng):
    X = mostly_empty_points(rng)
    side = Side(X)
    full, rest = side.moved
    assert side.centre.columns.tolist() == [7, 300]
    assert full.shape == (40, 2)
    assert sparse.issparse(rest)
    dense = X.toarray()
    bank = kh.KernelBank(GAUSSIANS)
    np.testing.assert_allclose(bank(X), expected_gaussians(dense, dense), rtol=1e-11)
    np.testing.assert_allclose(bank(X[:5], X), expected_gaussians(dense[:5], dense), rtol=1e-11)


def test_sparse_and_dense_points_together(rng):
    Z = mostly_empty_points(rng)
    dense = Z.toarray()
    bank, expected = kh.KernelBank(GAUSSIANS), expected_gaussians(dense[:7], dense)
    np.testing.assert_allclose(bank(dense[:7], Z), expected, rtol=1e-11)
    np.testing.assert_allclose(bank(Z[:7], dense), expected, rtol=1e-11)


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_sparse_numbers_of_other_kinds_count_as_double(kind):
    X = np.array([[70000, 1], [70001, 1], [70000, 4]])
    bank = kh.KernelBank([*GAUSSIANS, kh.Linear()])
    found = bank(sparse.csr_array(X.astype(kind)))
    np.testing.assert_allclose(found[:-1], expected_gaussians(X, X), rtol=1e-11)
    np.testing.assert_array_equal(found[-1], np.asarray(X @ X.T, dtype=float))


def test_an_outlier_costs_the_other_points_no_digits(rng):
    Z = rng.normal(size=(50, 2))
    Z[0] = 1e7
    expected = expected_gaussians(Z[1:], Z[1:])
    np.testing.assert_allclose(kh.KernelBank(GAUSSIANS)(Z)[:, 1:, 1:], expected, rtol=1e-11)


@pytest.mark.parametrize("offset", [0.0, 1e7, 1e150])
@FORMS
def test_features_that_are_constant_change_no_distance(offset, form, rng):
    X = np.column_stack([rng.normal(size=(9, 2)), np.full(9, offset)])
    found = kh.KernelBank([*GAUSSIANS, kh.Normalized(kh.Linear())])(form(X))[: len(SPREADS)]
    np.testing.assert_allclose(found, expected_gaussians(X[:, :2], X[:, :2]), rtol=1e-11)
    same = np.full((5, 2), offset)
    np.testing.assert_array_equal(kh.KernelBank(GAUSSIANS)(form(same)), 1.0)
    np.testing.assert_array_equal(kh.KernelBank(GAUSSIANS)(form(same), form(same[:2])), 1.0)


@FORMS
def test_few_rows_and_no_columns(form):
    bank = kh.default_bank()
    np.testing.assert_allclose(bank(form([[3.0, 1e7]])), 1.0)
    np.testing.assert_array_equal(bank(form(np.zeros((1, 2))))[1:], 1.0)
    empty = bank(form(np.zeros((3, 0))))
    assert np.all(empty[0] == 0.0)
    np.testing.assert_allclose(empty[1:], 1.0)
    X = form(np.full((4, 2), 1e6))
    assert bank(X[:0], X).shape == (10, 0, 4)
    assert bank(X, X[:0]).shape == (10, 4, 0)
    assert bank(X[:0]).shape == (10, 0, 0)
    assert bank.combine(X, X[:0], np.ones(10)).shape == (4, 0)


@pytest.mark.parametrize("size", [1e100, 1e150, 1e154, 1e200, 1e300, 1.7e308])
@FORMS
def test_distances_that_overflow_give_zero(size, form):
    X = size * np.array([[1.0, 0.5], [-1.0, 0.5], [1.0, -0.5], [1e-320, 0.0], [1.0, 0.5]])
    expected = np.eye(5)
    expected[0, 4] = expected[4, 0] = 1.0
    bank = kh.KernelBank([*GAUSSIANS, kh.Linear(), kh.Polynomial()])
    stacks = [bank(form(X)), bank(form(X), form(X.copy())), [kernel(form(X)) for kernel in bank]]
    for Ks in stacks:
        for K in Ks[: len(SPREADS)]:
            np.testing.assert_allclose(K, expected, atol=1e-300)
    gaussians = kh.KernelBank(GAUSSIANS)
    combined = gaussians.combine(form(X), form(X), np.ones(len(SPREADS)))
    np.testing.assert_allclose(combined, len(SPREADS) * expected, atol=1e-300)


@pytest.mark.parametrize("offset", [1e3, 1e7, 1e50, 1e150])
@FORMS
def test_normalised_kernels_of_inner_products_far_from_zero(offset, form, rng):
    X = rng.normal(size=(8, 3)) + offset
    X[2] = 0.0
    kernels = [kh.Normalized(kh.Linear()), *(kh.Normalized(kh.Polynomial(p, 0.0)) for p in (2, 5))]
    expected = np.ones((8, 8))
    expected[2] = expected[:, 2] = 0.0
    bank, tolerance = kh.KernelBank(kernels), min(1.0, 100.0 / offset)
    for K in (*bank(form(X)), *(kernel(form(X)) for kernel in kernels)):
        np.testing.assert_allclose(K, expected, atol=tolerance)
        np.testing.assert_allclose(np.diag(K), np.diag(expected), rtol=1e-14)
    for kernel in kernels:
        np.testing.assert_array_equal(kernel.diagonal(form(X)), np.diag(expected))


@FORMS
def test_normalised_kernels_are_zero_where_the_norm_overflows(form):
    X = np.array([[1e200, 1e200], [1e200, -1e200], [3.0, 4.0]])
    for kernel in (kh.Normalized(kh.Linear()), kh.Normalized(kh.Polynomial())):
        expected = np.diag([0.0, 0.0, 1.0])
        for K in (kernel(form(X)), kh.KernelBank([kernel])(form(X))[0]):
            np.testing.assert_allclose(K, expected, rtol=1e-14)
        np.testing.assert_array_equal(kernel.diagonal(form(X)), np.diag(expected))


@pytest.mark.parametrize("size", [1e-154, 1e-160, 1e-162, 1e-300])
def test_normalised_kernels_of_points_that_hardly_differ_from_zero(size):
    X = size * np.array([[1.0, 0.5], [-0.5, 1.0], [1e150, 0.0]])
    kernel = kh.Normalized(kh.Linear())
    K = kernel(X)
    np.testing.assert_array_equal(np.isfinite(K), True)
    np.testing.assert_allclose(np.diag(K), kernel.diagonal(X), rtol=1e-14)
    np.testing.assert_array_equal(kh.KernelBank([kernel])(X)[0], K)


def test_normalised_polynomials_of_short_points():
    X = 1e-120 * np.array([[1.0, 0.0], [1.0, 1.0]])
    kernel = kh.Normalized(kh.Polynomial(3, offset=0.0))
    expected = [[1.0, 0.5**1.5], [0.5**1.5, 1.0]]
    for K in (kernel(X), kh.KernelBank([kernel])(X)[0]):
        np.testing.assert_allclose(K, expected, rtol=1e-14)
    np.testing.assert_array_equal(kernel.diagonal(X), 1.0)
