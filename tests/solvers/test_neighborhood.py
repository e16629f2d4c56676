import numpy as np
import pytest

from kernelhood.operators.gram import frobenius_gram
from kernelhood.solvers.neighborhood import identity_projection, neighborhood_weights, span_rank
from tests.solvers.problems import points, stack


@pytest.mark.parametrize("kernels", [slice(0, 3), slice(None)])
def test_the_projection_of_the_identity(kernels):
    """Of all combinations, Pi is the closest to I, however ill-conditioned the bank."""
    Ks = stack(points(25)[0])[kernels]
    G, d = frobenius_gram(Ks, np.ones(25))
    gamma = identity_projection(G, d)
    distance = np.linalg.norm(np.tensordot(gamma, Ks, axes=1) - np.eye(25))
    columns = (Ks / np.sqrt(np.diag(G))[:, None, None]).reshape(len(Ks), -1).T
    best = np.linalg.lstsq(columns, np.eye(25).ravel(), rcond=1e-6)[0]
    closest = np.linalg.norm(columns @ best - np.eye(25).ravel())
    assert distance == pytest.approx(closest, rel=1e-6)
    assert np.abs(gamma).max() < 1e9


def test_identical_and_zero_kernels_do_no_harm():
    K = stack(points(10)[0])[2]
    Ks = np.array([K, K, np.zeros_like(K), 1e6 * np.eye(10)])
    G, d = frobenius_gram(Ks, np.ones(10))
    gamma = identity_projection(G, d)
    np.testing.assert_allclose(np.tensordot(gamma, Ks, axes=1), np.eye(10), atol=1e-6)
    assert span_rank(G) == 2


def test_the_closed_form():
    theta, gamma = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    np.testing.assert_allclose(neighborhood_weights(theta, gamma, 2.0, 0.1), [1.95, 4.1])
