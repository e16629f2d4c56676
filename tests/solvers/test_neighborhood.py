import numpy as np
import pytest

from kernelhood.solvers.neighborhood import (
    frobenius_gram,
    identity_projection,
    joint_gram,
    neighborhood_weights,
    span_rank,
)
from tests.solvers.families import family_of, written_out
from tests.solvers.problems import points, stack


def test_the_gram_matrix_and_the_traces():
    Ks = stack(points(15)[0])
    G, d = frobenius_gram(Ks, np.ones(15))
    np.testing.assert_allclose(G, [[np.vdot(K, L) for L in Ks] for K in Ks])
    np.testing.assert_allclose(d, [np.trace(K) for K in Ks])


def test_a_weight_of_two_is_a_sample_twice():
    X = points(12)[0]
    weight = np.array([2.0, 1.0, 3.0] * 4)
    G, d = frobenius_gram(stack(X), weight)
    repeated, traces = frobenius_gram(stack(np.repeat(X, weight.astype(int), axis=0)), np.ones(24))
    np.testing.assert_allclose(G, repeated)
    np.testing.assert_allclose(d, traces)


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


@pytest.mark.parametrize("repeated", [False, True])
def test_the_joint_gram_is_that_of_the_matrices_written_out(repeated):
    family, _ = family_of("tasks", "both", repeated=repeated)
    matrices, layout = written_out(family), family.layout
    counts = np.zeros((3, family.Ks.shape[1]))
    np.add.at(counts, (layout.task[layout.cell], layout.point), 1.0)
    A = joint_gram(lambda rows: family.Ks[:, rows], 3, counts)
    np.testing.assert_allclose(A, np.einsum("wij,uij->wu", matrices, matrices), atol=1e-9)
