"""The kernel that is 1 everywhere."""

import numpy as np
import pytest
from scipy import sparse

from kernelhood.kernels import Constant, Gaussian, KernelBank, Linear


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_it_is_one_between_any_points(make):
    X, Z = make(np.arange(6.0).reshape(3, 2)), make(np.ones((4, 2)))
    np.testing.assert_array_equal(Constant()(X, Z), np.ones((3, 4)))
    np.testing.assert_array_equal(Constant().diagonal(X), np.ones(3))


def test_a_bank_evaluates_it_among_others():
    X = np.random.default_rng(0).normal(size=(5, 2))
    bank, change = KernelBank([Gaussian(1.0), Constant(), Linear()]), np.arange(5.0)
    np.testing.assert_array_equal(bank(X)[1], np.ones((5, 5)))
    np.testing.assert_allclose(bank.products(X, X, change)[1], change.sum())
    expected = 0.5 + 2.0 * X @ X.T
    np.testing.assert_allclose(bank.combine(X, X, np.array([0.0, 0.5, 2.0])), expected)
    assert bank.names[1] == "constant"
