import numpy as np

from kernelhood.operators import one_task
from kernelhood.operators.base import combined_matrix, fill_rows
from tests.solvers.problems import combination


def example():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 5, 5))
    return A @ A.transpose(0, 2, 1), np.array([0.5, 0.0, 2.0]), rng


def combined_row(kernel, i):
    fill_rows(kernel, np.array([i]))
    return kernel.rows[kernel.slot[i]]


def test_rows_come_on_demand_and_are_right():
    Ks, weights, _ = example()
    expected = 0.5 * Ks[0] + 2.0 * Ks[2] + 0.1 * np.eye(5)
    kernel = combination(Ks, weights, 0.1)
    np.testing.assert_allclose(combined_row(kernel, 3), expected[3])
    assert (kernel.slot >= 0).tolist() == [False, False, False, True, False]
    np.testing.assert_allclose(combined_matrix(kernel), expected)
    assert (kernel.slot >= 0).all()


def test_kernels_of_weight_zero_are_never_read():
    Ks, weights, _ = example()
    Ks[1] = np.nan
    Ks[1].flat[::6] = 1.0
    expected = 0.5 * Ks[0] + 2.0 * Ks[2]
    np.testing.assert_allclose(combined_matrix(combination(Ks, weights)), expected)


def test_a_row_is_computed_once():
    Ks, weights, _ = example()
    kernel = combination(Ks, weights)
    first = combined_row(kernel, 2).copy()
    Ks[:] = 0.0
    np.testing.assert_array_equal(combined_row(kernel, 2), first)


def test_room_is_used_and_stale_rows_are_not():
    Ks, weights, _ = example()
    room = np.full((5, 5), 7.0)
    kernel = one_task(Ks).combined(weights, 0.0, room)
    expected = np.tensordot(weights, Ks, axes=1)
    np.testing.assert_allclose(combined_row(kernel, 0), expected[0])
    assert np.shares_memory(kernel.rows, room)


def test_diagonal_block_and_products():
    Ks, weights, rng = example()
    K = np.tensordot(weights, Ks, axes=1)
    kernel = combination(Ks, weights, 0.3)
    np.testing.assert_allclose(kernel.diagonal, np.diag(K) + 0.3)
    where = np.array([1, 4])
    ridged = K + 0.3 * np.eye(5)
    np.testing.assert_allclose(one_task(Ks).block(kernel, where), ridged[np.ix_(where, where)])
    v, products = rng.normal(size=5), np.ones((3, 5))
    v[2] = 0.0
    one_task(Ks).add_products(v, products)
    np.testing.assert_allclose(products, 1.0 + Ks @ v)


def test_rows_are_added_in_fours_and_one_by_one():
    rng = np.random.default_rng(1)
    Ks = rng.normal(size=(11, 7, 7))
    for n in range(12):
        weights = np.zeros(11)
        weights[rng.choice(11, n, replace=False)] = rng.normal(size=n)
        kernel = combination(Ks, weights)
        expected = np.tensordot(weights, Ks, axes=1)
        np.testing.assert_allclose(combined_row(kernel, 3), expected[3], atol=1e-12)
