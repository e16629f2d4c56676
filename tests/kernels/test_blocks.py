import numpy as np
from scipy import sparse

from kernelhood import default_bank
from kernelhood.kernels.bank import PointKernels


def test_blocks_are_parts_of_the_whole_stack():
    X = np.random.default_rng(0).normal(size=(9, 3))
    bank = default_bank()
    whole, weights = bank(X), np.linspace(0.0, 1.0, 10)
    for points in (X, sparse.csr_matrix(X)):
        kernels = PointKernels(bank, points)
        rows, columns = np.array([1, 4]), np.array([0, 4, 8])
        assert (len(kernels), kernels.n_points) == (10, 9)
        part = whole[:, rows][:, :, columns]
        np.testing.assert_allclose(kernels.stack(rows, columns), part, atol=1e-12)
        several = np.stack([weights, weights[::-1], np.eye(10)[3]])
        combined = np.tensordot(several, part, axes=1)
        found = kernels.combinations(rows, columns, several[:, :, None])
        np.testing.assert_allclose(found, combined, atol=1e-12)
        by_row = np.random.default_rng(1).uniform(size=(2, 10, 2))
        expected = 1.0 + np.einsum("smi,mij->sij", by_row, part)
        found = kernels.combinations(rows, columns, by_row, out=np.ones((2, 2, 3)))
        np.testing.assert_allclose(found, expected, atol=1e-12)
        change = np.array([2.0, -1.0])
        products = kernels.products(rows, columns, change)
        np.testing.assert_allclose(products, change @ part, atol=1e-12)
        apart = kernels.products(rows, columns, change, np.array([0, 1]))
        expected = np.stack([2.0 * part[:, 0], -part[:, 1]])
        np.testing.assert_allclose(apart, expected, atol=1e-12)
        np.testing.assert_allclose(kernels.diagonals, np.einsum("mii->mi", whole), atol=1e-12)
