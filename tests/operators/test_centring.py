import numpy as np
import pytest

from kernelhood.operators import DenseKernels
from kernelhood.operators.dense import centred
from tests.operators.examples import kernels_of, products_of, written_out


def raised(kernels, level):
    """Return the same kernels, the second one with a constant on top."""
    Ks = kernels.Ks.copy()
    Ks[1] += level
    return DenseKernels(kernels.cells, kernels.matrices, kernels.separate, Ks=Ks)


def test_kernels_that_are_far_from_constant_stay():
    kernels, _ = kernels_of("all tasks", "all kinds")
    found = centred(kernels, kernels.cells.starts)
    assert found.operator is kernels
    assert found.means is None


@pytest.mark.parametrize("kind", ["shared", "shared and specific", "all kinds"])
@pytest.mark.parametrize("level", [1e7, 1e9])
def test_forms_of_a_nearly_constant_kernel_keep_their_digits(kind, level):
    kernels, _ = kernels_of("all tasks", kind)
    starts, rng = kernels.cells.starts, np.random.default_rng(0)
    v = rng.normal(size=kernels.n_samples)
    for rows in map(slice, starts[:-1], starts[1:]):
        v[rows] -= v[rows].mean()
    found = centred(raised(kernels, level), starts)
    assert found.means is not None
    exact = kernels.forms(products_of(kernels, v), v)
    mine = found.operator.forms(products_of(found.operator, v), v)
    np.testing.assert_allclose(mine, exact, rtol=1e-5, atol=1e-15 * level * (v @ v) * 20)


@pytest.mark.parametrize("kind", ["shared", "shared and specific", "all kinds"])
def test_the_shifts_are_what_the_means_add_to_the_values_of_each_cell(kind):
    kernels, _ = kernels_of("all tasks", kind)
    starts, rng = kernels.cells.starts, np.random.default_rng(1)
    v, weights = rng.normal(size=kernels.n_samples), rng.uniform(size=kernels.n_weights)
    for rows in map(slice, starts[:-1], starts[1:]):
        v[rows] -= v[rows].mean()
    high = raised(kernels, 1e7)
    found = centred(high, starts)
    whole = np.tensordot(weights, written_out(high), axes=1) @ v
    rest = found.operator.apply(weights, products_of(found.operator, v))
    shifts = np.broadcast_to(found.shifts(weights, v), len(starts) - 1)
    np.testing.assert_allclose(whole - rest, shifts[kernels.cells.cell], atol=1e-5)
