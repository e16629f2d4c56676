import numpy as np
import pytest

from kernelhood.operators import frobenius
from kernelhood.operators.frobenius import frobenius_gram, joint_gram
from tests.operators.examples import KINDS, kernels_of, written_out
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


def counts_of(kernels):
    cells = kernels.cells
    counts = np.zeros((3, kernels.Ks.shape[1]))
    np.add.at(counts, (cells.task[cells.cell], cells.point), 1.0)
    return counts


@pytest.mark.parametrize("entries", [2**22, 60])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("repeated", [False, True], ids=["plain", "repeated"])
def test_the_joint_gram_is_that_of_the_matrices_written_out(kind, repeated, entries, monkeypatch):
    monkeypatch.setattr(frobenius, "_ENTRIES_AT_ONCE", entries)
    kernels, _ = kernels_of("all tasks", kind, repeated=repeated)
    matrices = written_out(kernels)
    A = joint_gram(
        lambda rows: kernels.Ks[:, rows],
        3,
        counts_of(kernels),
        kernels.matrices,
        kernels.separate,
    )
    np.testing.assert_allclose(A, np.einsum("wij,uij->wu", matrices, matrices), atol=1e-9)


@pytest.mark.parametrize("kind", ["shared and specific", "all kinds"])
def test_weights_of_samples_count_in_the_joint_gram_like_repetitions(kind):
    kernels, _ = kernels_of("all tasks", kind)
    matrices, separate = kernels.matrices, kernels.separate
    counts = counts_of(kernels) * np.linspace(0.5, 2.0, kernels.Ks.shape[1])
    A = joint_gram(lambda rows: kernels.Ks[:, rows], 3, counts, matrices, separate)
    weighted = written_out(kernels) * np.sqrt(np.outer(counts.sum(axis=0), counts.sum(axis=0)))
    np.testing.assert_allclose(A, np.einsum("wij,uij->wu", weighted, weighted), atol=1e-9)
