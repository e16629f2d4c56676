import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import (
    cosine_similarity,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)

import kernelhood as kh
from kernelhood.kernels import as_kernel


def half_overlap(X, Z):
    return np.minimum(X[:, None, 0], Z[None, :, 0])


REFERENCES = [
    (kh.Linear(), linear_kernel),
    (kh.Polynomial(), lambda X, Z: polynomial_kernel(X, Z, degree=2, gamma=1.0, coef0=1.0)),
    (
        kh.Polynomial(3, offset=0.5),
        lambda X, Z: polynomial_kernel(X, Z, degree=3, gamma=1.0, coef0=0.5),
    ),
    (kh.Gaussian(2.0), lambda X, Z: rbf_kernel(X, Z, gamma=1.0 / 8.0)),
    (kh.Normalized(kh.Linear()), cosine_similarity),
    (
        kh.Pairwise("laplacian", {"gamma": 0.3}),
        lambda X, Z: laplacian_kernel(X, Z, gamma=0.3),
    ),
]
IDS = [repr(kernel) for kernel, _ in REFERENCES]


@pytest.fixture
def points(rng):
    return rng.normal(size=(7, 3)), rng.normal(size=(5, 3))


@pytest.mark.parametrize(("kernel", "reference"), REFERENCES, ids=IDS)
def test_values_are_those_of_scikit_learn(kernel, reference, points):
    X, Z = points
    np.testing.assert_allclose(kernel(X, Z), reference(X, Z), atol=1e-12)
    np.testing.assert_allclose(kernel(X), reference(X, X), atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(reference(X, X)), atol=1e-12)


@pytest.mark.parametrize(("kernel", "reference"), REFERENCES, ids=IDS)
def test_sparse_points_give_the_dense_values(kernel, reference, points):
    X, Z = (np.where(np.abs(one) < 0.5, 0.0, one) for one in points)
    found = kernel(sparse.csr_matrix(X), sparse.csr_array(Z))
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, reference(X, Z), atol=1e-12)
    on_itself = kernel(sparse.csr_matrix(X))
    np.testing.assert_allclose(on_itself, reference(X, X), atol=1e-12)


@pytest.mark.parametrize(("kernel", "reference"), REFERENCES, ids=IDS)
def test_columns_restrict_the_points(kernel, reference, points):
    X, Z = points
    narrow = kernel.with_columns((2, 0))
    np.testing.assert_allclose(narrow(X, Z), reference(X[:, [2, 0]], Z[:, [2, 0]]), atol=1e-12)
    expected = np.diag(reference(X[:, [2, 0]], X[:, [2, 0]]))
    np.testing.assert_allclose(narrow.diagonal(X), expected, atol=1e-12)


def test_one_column_may_be_given_alone(points):
    X, Z = points
    np.testing.assert_array_equal(
        kh.Gaussian(1.0, columns=1)(X, Z), kh.Gaussian(1.0, columns=[1])(X, Z)
    )


@pytest.mark.parametrize("columns", [[], [-1]])
def test_columns_that_cannot_be_are_refused(columns):
    with pytest.raises(ValueError, match="columns must be names or numbers from 0"):
        kh.Linear(columns=columns)


def test_columns_beyond_the_features_are_refused(points):
    with pytest.raises(ValueError, match="columns holds 3, but there are only 3 features"):
        kh.Linear(columns=[0, 3])(points[0])


def test_named_columns_need_names(points):
    with pytest.raises(ValueError, match=r"columns \['age'\] are named"):
        kh.Linear(columns=["age"])(points[0])


@pytest.mark.parametrize(
    "kernel", [kh.Linear(), kh.Polynomial(3), kh.Gaussian(0.7), half_overlap, "laplacian"]
)
def test_normalising_divides_by_the_norms(kernel, rng):
    X, Z = rng.uniform(0.1, 1.0, size=(6, 2)), rng.uniform(0.1, 1.0, size=(4, 2))
    plain = as_kernel(kernel)
    left, right = (np.sqrt(np.diag(plain(one))) for one in (X, Z))
    found = kh.Normalized(kernel)
    np.testing.assert_allclose(found(X, Z), plain(X, Z) / np.outer(left, right), atol=1e-12)
    np.testing.assert_allclose(found.diagonal(X), 1.0)


def test_normalising_twice_changes_nothing(points):
    once = kh.Normalized(kh.Polynomial(columns=[0, 2]))
    twice = kh.Normalized(once)
    assert twice.columns == (0, 2)
    np.testing.assert_allclose(twice(*points), once(*points), atol=1e-14)


def test_a_point_of_norm_zero_has_the_value_zero(points):
    X = points[0].copy()
    X[2] = 0.0
    K = kh.Normalized(kh.Linear())(X)
    assert np.all(K[2] == 0.0)
    assert np.all(K[:, 2] == 0.0)
    np.testing.assert_allclose(np.delete(np.diag(K), 2), 1.0)
    assert kh.Normalized(kh.Linear()).diagonal(X)[2] == 0.0


def test_precomputed_reads_row_numbers(rng):
    F = rng.normal(size=(6, 3))
    K = F @ F.T
    kernel = kh.Precomputed(K)
    np.testing.assert_array_equal(kernel([[4], [0]], [[1], [4], [5]]), K[[4, 0]][:, [1, 4, 5]])
    np.testing.assert_array_equal(kernel.diagonal(np.array([[3], [1]])), np.diag(K)[[3, 1]])
    np.testing.assert_array_equal(kernel(sparse.csr_matrix([[2.0], [5.0]])), K[[2, 5]][:, [2, 5]])
    second = kh.Precomputed(K, columns=[1])
    np.testing.assert_array_equal(second([[0.3, 4.0], [0.1, 2.0]]), K[[4, 2]][:, [4, 2]])
    scaled = kh.Normalized(second)(np.array([[0.3, 4.0], [0.1, 2.0]]))
    assert scaled[0, 1] == pytest.approx(K[4, 2] / np.sqrt(K[4, 4] * K[2, 2]))


@pytest.mark.parametrize(
    "rows", [[2], [1, 2, 3], [0, 2, 4], [3, 2, 1], [2, 2, 2], [0, 1, 3], []], ids=str
)
def test_precomputed_reads_rows_in_any_order(rng, rows):
    F = rng.normal(size=(6, 3))
    K = F @ F.T
    points, others = np.reshape(rows, (-1, 1)), np.array([[1], [4]])
    kernel = kh.Precomputed(K)
    np.testing.assert_array_equal(kernel(points, others), K[np.ix_(np.array(rows, int), [1, 4])])
    np.testing.assert_array_equal(
        kernel(points), K[np.ix_(np.array(rows, int), np.array(rows, int))]
    )


def test_precomputed_keeps_its_own_matrix():
    K = np.eye(3)
    kernel = kh.Precomputed(K)
    K[0, 0] = 7.0
    assert kernel([[0]])[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        kernel.K[0, 0] = 7.0


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), r"K of Precomputed must be square, got shape \(2, 3\)"),
        (np.ones(4), r"K of Precomputed must be square, got shape \(4,\)"),
        ([[1.0, 0.5], [0.4, 1.0]], "K of Precomputed must be symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "K of Precomputed must be finite"),
        ([[1.0, np.inf], [np.inf, 1.0]], "K of Precomputed must be finite"),
    ],
)
def test_precomputed_refuses_what_is_no_kernel_matrix(K, message):
    with pytest.raises(ValueError, match=message):
        kh.Precomputed(K)


@pytest.mark.parametrize("row", [-1, 2, 0.5])
def test_precomputed_refuses_other_rows(row):
    with pytest.raises(ValueError, match="must be integers from 0 to 1"):
        kh.Precomputed(np.eye(2))([[row]])


def test_precomputed_needs_one_column():
    with pytest.raises(ValueError, match="one column of row numbers, got 2"):
        kh.Precomputed(np.eye(2))([[0, 1]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kh.Gaussian(0.0), "spread must be finite and positive, got 0.0"),
        (lambda: kh.Gaussian(np.inf), "spread must be finite and positive"),
        (lambda: kh.Polynomial(0), "degree must be an integer of at least 1, got 0"),
        (lambda: kh.Polynomial(1.5), "degree must be an integer"),
        (lambda: kh.Polynomial(offset=-1.0), "offset must be finite and at least 0"),
        (lambda: kh.Pairwise("gausian"), "unknown kernel name 'gausian'; known are .*laplacian"),
        (lambda: as_kernel("gausian"), "unknown kernel name 'gausian'"),
    ],
)
def test_parameters_outside_their_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_is_no_kernel_is_refused():
    with pytest.raises(TypeError, match="a kernel must be .* got int"):
        as_kernel(3)


def test_a_function_has_to_return_the_right_shape(points):
    def wrong(X, Z):
        return np.ones((1, 1))

    with pytest.raises(ValueError, match=r"wrong returned shape \(1, 1\), expected \(7, 5\)"):
        kh.Custom(wrong)(*points)


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in REFERENCES], ids=IDS)
def test_kernels_are_immutable_values(kernel, points):
    assert clone(kernel) is kernel
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel
    np.testing.assert_array_equal(copy(*points), kernel(*points))
    with pytest.raises(AttributeError):
        kernel.columns = (0,)
