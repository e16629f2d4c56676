"""A family's fast products against the matrices it stands for, written out in full."""

import numpy as np
import pytest

from kernelhood.solvers.combined import kernel_block, kernel_matrix
from tests.solvers.families import KINDS, LAYOUTS, family_of, written_out


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_family_is_the_matrices_it_stands_for(layout, kind, repeated):
    family, _ = family_of(layout, kind, repeated=repeated)
    matrices, rng = written_out(family), np.random.default_rng(1)
    assert len(matrices) == family.n_weights
    weights = rng.uniform(size=family.n_weights)
    weights[rng.choice(family.n_weights, 2, replace=False)] = 0.0
    K = np.tensordot(weights, matrices, axes=1)
    kernel = family.kernel(weights, 0.3)
    ridged = K + 0.3 * np.eye(len(K))
    np.testing.assert_allclose(kernel_matrix(kernel), ridged, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal, np.diag(ridged))
    v = rng.normal(size=family.n_samples)
    v[::3] = 0.0
    products = family.no_products()
    family.add_products(v, products)
    np.testing.assert_allclose(family.apply(weights, products), K @ v, atol=1e-12)
    halves = 0.5 * np.einsum("i,wij,j->w", v, matrices, v)
    np.testing.assert_allclose(family.curvatures(products, v), halves, atol=1e-12)
    where = np.sort(rng.choice(family.n_samples, 11, replace=False))
    expected = (matrices @ v)[:, where].T
    np.testing.assert_allclose(family.columns(products, where), expected, atol=1e-12)
    block = kernel_block(family.kernel(weights, 0.3), where)
    np.testing.assert_allclose(block, ridged[np.ix_(where, where)], atol=1e-12)
