"""Fast products, rows and blocks against the matrices they stand for, written out in full."""

import numpy as np
import pytest

from kernelhood.operators import DenseKernels, cells_of, one_task
from kernelhood.operators.base import combined_matrix
from tests.operators.examples import KINDS, LAYOUTS, kernels_of, products_of, written_out


@pytest.fixture(params=[False, True], ids=["plain", "repeated"])
def repeated(request):
    return request.param


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=LAYOUTS)
def example(request, kind, repeated):
    kernels, _ = kernels_of(request.param, kind, repeated=repeated)
    return kernels, written_out(kernels), np.random.default_rng(1)


def some_weights(kernels, rng):
    weights = rng.uniform(size=kernels.n_weights)
    weights[rng.choice(kernels.n_weights, 2, replace=False)] = 0.0
    return weights


def some_vector(kernels, rng):
    v = rng.normal(size=kernels.n_samples)
    v[::3] = 0.0
    return v


def test_there_is_a_weight_for_every_matrix_written_out(example):
    kernels, matrices, _ = example
    assert kernels.n_weights == len(matrices)
    assert kernels.n_kernels == 3
    assert kernels.n_samples == matrices.shape[1]


def test_rows_diagonal_and_blocks_of_a_combination(example):
    kernels, matrices, rng = example
    weights = some_weights(kernels, rng)
    ridged = np.tensordot(weights, matrices, axes=1) + 0.3 * np.eye(kernels.n_samples)
    kernel = kernels.combined(weights, 0.3, kernels.row_buffer())
    np.testing.assert_allclose(kernel.diagonal, np.diag(ridged))
    where = np.sort(rng.choice(kernels.n_samples, 11, replace=False))
    block = kernels.block(kernel, where)
    np.testing.assert_allclose(block, ridged[np.ix_(where, where)], atol=1e-12)
    np.testing.assert_array_equal(np.flatnonzero(kernel.slot >= 0), where)
    np.testing.assert_allclose(combined_matrix(kernel), ridged, atol=1e-12)


def test_products_with_a_combination_and_with_each_kernel(example):
    kernels, matrices, rng = example
    weights, v = some_weights(kernels, rng), some_vector(kernels, rng)
    products = products_of(kernels, v)
    expected = np.tensordot(weights, matrices, axes=1) @ v
    np.testing.assert_allclose(kernels.apply(weights, products), expected, atol=1e-12)
    halves = 0.5 * np.einsum("i,wij,j->w", v, matrices, v)
    np.testing.assert_allclose(kernels.forms(products, v), halves, atol=1e-12)


def test_products_are_added_up(example):
    kernels, _, rng = example
    v, u = some_vector(kernels, rng), some_vector(kernels, rng)
    products = products_of(kernels, v)
    kernels.add_products(u - v, products)
    np.testing.assert_allclose(products, products_of(kernels, u), atol=1e-12)


def test_columns_of_all_and_of_some_weights(example):
    kernels, matrices, rng = example
    v = some_vector(kernels, rng)
    products = products_of(kernels, v)
    where = np.sort(rng.choice(kernels.n_samples, 11, replace=False))
    expected = (matrices @ v)[:, where].T
    np.testing.assert_allclose(kernels.columns(products, where), expected, atol=1e-12)
    for kept in (rng.uniform(size=kernels.n_weights) < 0.5, np.arange(kernels.n_weights) == 1):
        some = kernels.columns(products, where, kept)
        np.testing.assert_allclose(some, expected[:, kept], atol=1e-12)


def test_traces_and_the_samples_they_are_summed_over(example):
    kernels, matrices, _ = example
    traces, counts = kernels.traces
    np.testing.assert_allclose(traces, np.einsum("wii->w", matrices))
    n, task = kernels.n_samples, kernels.cells.task[kernels.cells.cell]
    own = np.bincount(task, minlength=3)
    expected = [n] * 3 * len(kernels.matrices) + list(np.repeat(own, 3)) * kernels.separate
    np.testing.assert_array_equal(counts, expected)


def test_a_task_on_its_own_is_plain():
    kernels, _ = kernels_of("one task", "shared")
    alone = one_task(kernels.Ks)
    assert alone.plain
    assert alone.n_weights == 3
    np.testing.assert_array_equal(written_out(alone), kernels.Ks)
    v = np.linspace(-1.0, 1.0, 17)
    np.testing.assert_allclose(products_of(alone, v), kernels.Ks @ v, atol=1e-12)


def test_only_one_matrix_of_ones_is_plain():
    plain = {kind for kind in KINDS if kernels_of("all tasks", kind)[0].plain}
    assert plain == {"shared"}


def test_rows_are_as_exact_as_the_matrices():
    kernels, _ = kernels_of("all tasks", "shared and specific")
    single = DenseKernels(
        kernels.cells, kernels.matrices, kernels.separate, Ks=kernels.Ks.astype(np.float32)
    )
    assert kernels.row_buffer().dtype == np.float64
    assert single.row_buffer().dtype == np.float32
    weights = np.linspace(0.1, 1.0, kernels.n_weights)
    kernel = single.combined(weights, 0.0, single.row_buffer())
    expected = np.tensordot(weights, written_out(kernels), axes=1)
    np.testing.assert_allclose(combined_matrix(kernel), expected, rtol=1e-5, atol=1e-5)
    assert single.diagonals.dtype == np.float64


@pytest.mark.parametrize("kind", ["shared", "shared and specific", "all kinds"])
@pytest.mark.parametrize("first", [0, 3])
def test_the_points_may_be_more_than_the_samples(kind, first):
    """An SVM of two classes has some of its task's samples, often the first ones."""
    whole, _ = kernels_of("all tasks", kind)
    cells = cells_of(np.arange(first, first + 12), np.array([5, 7]), np.array([0, 2]))
    kernels = DenseKernels(cells, whole.matrices, whole.separate, Ks=whole.Ks)
    matrices, rng = written_out(kernels), np.random.default_rng(3)
    weights, v = rng.uniform(size=kernels.n_weights), some_vector(kernels, rng)
    products = products_of(kernels, v)
    K = np.tensordot(weights, matrices, axes=1)
    np.testing.assert_allclose(kernels.apply(weights, products), K @ v, atol=1e-12)
    kernel = kernels.combined(weights, 0.0, kernels.row_buffer())
    np.testing.assert_allclose(combined_matrix(kernel), K, atol=1e-12)
