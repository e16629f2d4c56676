from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity, polynomial_kernel, rbf_kernel

import kernelhood as kh
from kernelhood.kernels import bank as group_module
from kernelhood.kernels.bank import kernel_name
from kernelhood.kernels.base import ProductKernel


@pytest.fixture
def points(rng):
    return 2.0 * rng.normal(size=(9, 4)), 2.0 * rng.normal(size=(6, 4))


def check_one_by_one(bank, X, Z):
    """The stack holds what each kernel gives on its own, on two sets of points and on one."""
    np.testing.assert_allclose(bank(X, Z), [kernel(X, Z) for kernel in bank], atol=1e-11)
    np.testing.assert_allclose(bank(X), [kernel(X) for kernel in bank], atol=1e-11)


def test_the_default_bank_is_that_of_the_paper(points):
    X, Z = points

    def polynomial(X, Z):
        return polynomial_kernel(X, Z, degree=2, gamma=1.0, coef0=1.0)

    left, right = (np.sqrt(np.diag(polynomial(one, one))) for one in (X, Z))
    expected = [cosine_similarity(X, Z), polynomial(X, Z) / np.outer(left, right)]
    expected += [rbf_kernel(X, Z, gamma=0.5 / 4.0**k) for k in range(1, 9)]
    np.testing.assert_allclose(kh.default_bank()(X, Z), expected, atol=1e-11)


def test_all_kernels_of_the_default_bank_have_a_unit_diagonal(points):
    Ks = kh.default_bank()(points[0])
    np.testing.assert_allclose(np.einsum("mii->mi", Ks), 1.0, rtol=1e-14)


@pytest.mark.parametrize(
    "spreads",
    [
        [2.0, 4.0, 8.0],
        [8.0, 2.0],
        [1.0, np.sqrt(2.0), 2.0],
        [0.3, 1.0, 3.0, 0.6, 1.2],
        [1.0, 1.0, 2.0],
        [2.0**-6, 1.0, 2.0**6],
        [0.7],
    ],
)
def test_gaussians_share_exponentials_without_losing_digits(spreads, points):
    X, Z = points
    bank = kh.KernelBank([kh.Gaussian(spread) for spread in spreads])
    expected = [rbf_kernel(X, Z, gamma=0.5 / spread**2) for spread in spreads]
    np.testing.assert_allclose(bank(X, Z), expected, atol=1e-11)
    np.testing.assert_array_equal(np.einsum("mii->mi", bank(X)), 1.0)


@given(
    exponents=st.lists(st.integers(-8, 8), min_size=1, max_size=6),
    factors=st.lists(st.sampled_from([1.0, 1.1, np.sqrt(2.0)]), min_size=6, max_size=6),
)
@settings(max_examples=25, deadline=None)
def test_any_set_of_spreads(exponents, factors):
    X = np.random.default_rng(3).normal(size=(5, 2))
    spreads = [factor * 2.0**k for k, factor in zip(exponents, factors, strict=False)]
    bank = kh.KernelBank([kh.Gaussian(spread) for spread in spreads])
    expected = [rbf_kernel(X, gamma=0.5 / spread**2) for spread in spreads]
    np.testing.assert_allclose(bank(X), expected, atol=1e-11)


def mixed_bank():
    return kh.KernelBank(
        [
            kh.Gaussian(2.0),
            kh.Normalized(kh.Linear(columns=[0, 1])),
            "cosine",
            kh.Gaussian(1.0, columns=[0, 1]),
            kh.Normalized(kh.Polynomial(3, offset=2.0)),
            kh.Linear(),
            lambda X, Z: np.asarray(X @ Z.T),
            kh.Gaussian(4.0),
            kh.Normalized(kh.Normalized(kh.Polynomial(columns=[3]))),
        ]
    )


def test_a_mixed_bank_equals_its_kernels(points):
    check_one_by_one(mixed_bank(), *points)


def test_sparse_points_give_the_dense_stack(points):
    X, Z = (np.where(np.abs(one) < 1.0, 0.0, one) for one in points)
    X[3] = 0.0
    bank = kh.default_bank()
    np.testing.assert_allclose(bank(sparse.csr_matrix(X)), bank(X), atol=1e-13)
    np.testing.assert_allclose(
        bank(sparse.csr_array(X), sparse.csr_array(Z)), bank(X, Z), atol=1e-13
    )
    columns = kh.KernelBank([kh.Gaussian(1.0, columns=[3, 1]), kh.Linear(columns=[0])])
    np.testing.assert_allclose(columns(sparse.csr_matrix(X)), columns(X), atol=1e-13)


def test_zero_rows_have_zero_linear_values_only(points):
    X = points[0].copy()
    X[0] = 0.0
    linear, polynomial, *gaussians = kh.default_bank()(X)
    assert np.all(linear[0] == 0.0)
    assert polynomial[0, 0] == pytest.approx(1.0)
    assert all(K[0, 0] == 1.0 for K in gaussians)


@pytest.mark.parametrize("block", [1, 7, 50, 2**22])
def test_combine_is_the_weighted_sum_in_blocks_of_any_size(block, points, monkeypatch):
    monkeypatch.setattr(group_module, "_BLOCK", block)
    X, Z = points
    bank = mixed_bank()
    weights = np.array([0.5, 0.0, 2.0, -1.0, 0.0, 0.3, 1.0, 0.7, 0.1])
    expected = np.tensordot(weights, bank(X, Z), axes=1)
    np.testing.assert_allclose(bank.combine(X, Z, weights), expected, atol=1e-11)
    np.testing.assert_allclose(
        kh.default_bank().combine(sparse.csr_matrix(X), sparse.csr_matrix(Z), np.ones(10)),
        kh.default_bank()(X, Z).sum(axis=0),
        atol=1e-11,
    )


@dataclass(frozen=True)
class Cube(ProductKernel):
    """A kernel of inner products that the bank has no pass for."""

    def from_products(self, products):
        return products.inner**3

    def from_square_norms(self, squares):
        return squares**3


class HalfGaussian(kh.Gaussian):
    """Looks like a Gaussian, but is another kernel."""

    def from_products(self, products):
        return 0.5 * super().from_products(products)

    def from_square_norms(self, squares):
        return 0.5 * super().from_square_norms(squares)


class PlusLinear(kh.Polynomial):
    """Looks like a polynomial, but is another kernel."""

    def from_products(self, products):
        return super().from_products(products) + products.inner

    def from_square_norms(self, squares):
        return super().from_square_norms(squares) + squares


def test_kernels_that_inherit_from_others_are_normalised_by_their_own_norms(points):
    X, Z = points
    kernel = PlusLinear(2)
    left, right = (np.sqrt(kernel.diagonal(one)) for one in (X, Z))
    expected = ((X @ Z.T + 1.0) ** 2 + X @ Z.T) / np.outer(left, right)
    np.testing.assert_allclose(kh.Normalized(kernel)(X, Z), expected, atol=1e-12)
    bank = kh.KernelBank([kh.Normalized(kernel), kh.Normalized(HalfGaussian(1.0))])
    np.testing.assert_allclose(bank(X, Z), [expected, kh.Gaussian(1.0)(X, Z)], atol=1e-12)


def test_kernels_of_inner_products_that_are_new_to_the_bank(points):
    X, Z = points
    kernels = [Cube(), kh.Normalized(Cube(columns=[1, 2])), HalfGaussian(2.0), kh.Gaussian(1.0)]
    bank, weights = kh.KernelBank(kernels), np.array([1.0, 2.0, 3.0, 4.0])
    expected = [(X @ Z.T) ** 3, kernels[1](X, Z), 0.5 * kh.Gaussian(2.0)(X, Z), kernels[3](X, Z)]
    np.testing.assert_allclose(bank(X, Z), expected, atol=1e-12)
    combined = np.tensordot(weights, np.array(expected), axes=1)
    np.testing.assert_allclose(bank.combine(X, Z, weights), combined, atol=1e-11)


@pytest.mark.parametrize("block", [1, 20, 2**19])
def test_products_are_those_with_the_stack_in_blocks_of_any_size(block, points, monkeypatch):
    monkeypatch.setattr(group_module, "_BLOCK", block)
    X, Z = points
    change = np.linspace(-1.0, 2.0, len(X))
    for bank in (mixed_bank(), kh.default_bank()):
        expected = np.einsum("i,mij->mj", change, bank(X, Z))
        np.testing.assert_allclose(bank.products(X, Z, change), expected, atol=1e-11)
    sparse_points = sparse.csr_matrix(X), sparse.csr_matrix(Z)
    np.testing.assert_allclose(bank.products(*sparse_points, change), expected, atol=1e-11)
    assert bank.products(X[:0], Z, change[:0]).tolist() == np.zeros((10, len(Z))).tolist()


def test_combinations_of_other_kernels_follow_each_other(points):
    X, Z = points
    bank = mixed_bank()
    Ks = bank(X, Z)
    for used in ([0, 2], [2, 3], [0, 2], list(range(len(bank))), [5]):
        weights = np.zeros(len(bank))
        weights[used] = 1.0
        np.testing.assert_allclose(bank.combine(X, Z, weights), Ks[used].sum(axis=0), atol=1e-11)


def test_combine_does_not_evaluate_kernels_of_weight_zero(points):
    def explode(X, Z):
        raise AssertionError("evaluated")

    bank = kh.KernelBank([explode, kh.Linear()])
    X, Z = points
    np.testing.assert_allclose(bank.combine(X, Z, np.array([0.0, 2.0])), 2.0 * X @ Z.T)
    np.testing.assert_array_equal(bank.combine(X, Z, np.zeros(2)), np.zeros((9, 6)))


def test_names_of_columns_become_numbers(points):
    X = points[0]
    bank = kh.KernelBank(
        [kh.Gaussian(1.0, columns=["c", "a"]), kh.Linear(), kh.Normalized(kh.Linear(columns=[1]))]
    )
    resolved = bank.resolved(["a", "b", "c", "d"])
    assert [kernel.columns for kernel in resolved] == [(2, 0), None, (1,)]
    np.testing.assert_allclose(resolved(X)[0], kh.Gaussian(1.0)(X[:, [2, 0]]))
    with pytest.raises(ValueError, match=r"columns \['c'\] are not among the features"):
        bank.resolved(["a", "b"])


def test_a_bank_is_a_sequence():
    bank = mixed_bank()
    assert len(bank) == 9
    assert isinstance(bank[1:3], kh.KernelBank)
    assert bank[1:3].names == ["linear[0,1]", "cosine"]
    assert bank[0] == kh.Gaussian(2.0)
    assert list(bank)[5] == kh.Linear()
    assert repr(kh.KernelBank([kh.Linear()])) == "KernelBank([Linear(columns=None)])"


def test_names_are_short():
    assert kh.default_bank().names[:4] == [
        "linear",
        "polynomial(2)",
        "gaussian(2)",
        "gaussian(4)",
    ]
    assert kernel_name(kh.Custom(len)) == "len"
    assert kernel_name(kh.Precomputed(np.eye(2), columns=["row"])) == "precomputed[row]"


def test_an_empty_bank_is_refused():
    with pytest.raises(ValueError, match="kernels must hold at least one kernel"):
        kh.KernelBank([])


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="unknown kernel name 'guassian'; known are"):
        kh.KernelBank([kh.Linear(), "guassian"])
