import numpy as np

from kernelhood.solvers.combined import (
    add_products,
    combined_kernel,
    kernel_block,
    kernel_matrix,
    kernel_row,
)


def example():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 5, 5))
    return A @ A.transpose(0, 2, 1), np.array([0.5, 0.0, 2.0]), rng


def test_rows_come_on_demand_and_are_right():
    Ks, weights, _ = example()
    Ks[1] = np.nan
    expected = 0.5 * Ks[0] + 2.0 * Ks[2] + 0.1 * np.eye(5)
    kernel = combined_kernel(Ks, weights, 0.1)
    np.testing.assert_allclose(kernel_row(kernel, 3), expected[3])
    assert kernel.ready.tolist() == [False, False, False, True, False]
    np.testing.assert_allclose(kernel_matrix(kernel), expected)
    assert kernel.ready.all()


def test_a_row_is_computed_once():
    Ks, weights, _ = example()
    kernel = combined_kernel(Ks, weights)
    first = kernel_row(kernel, 2).copy()
    Ks[:] = 0.0
    np.testing.assert_array_equal(kernel_row(kernel, 2), first)


def test_room_is_used_and_stale_rows_are_not():
    Ks, weights, _ = example()
    room = np.full((5, 5), 7.0)
    kernel = combined_kernel(Ks, weights, 0.0, room)
    expected = np.tensordot(weights, Ks, axes=1)
    np.testing.assert_allclose(kernel_row(kernel, 0), expected[0])
    assert np.shares_memory(kernel.rows, room)


def test_diagonal_block_and_products():
    Ks, weights, rng = example()
    K = np.tensordot(weights, Ks, axes=1)
    kernel = combined_kernel(Ks, weights, 0.3)
    np.testing.assert_allclose(kernel.diagonal, np.diag(K) + 0.3)
    where = np.array([1, 4])
    ridged = K + 0.3 * np.eye(5)
    np.testing.assert_allclose(kernel_block(kernel, where), ridged[np.ix_(where, where)])
    v, products = rng.normal(size=5), np.ones((3, 5))
    v[2] = 0.0
    add_products(Ks, v, products)
    np.testing.assert_allclose(products, 1.0 + Ks @ v)
