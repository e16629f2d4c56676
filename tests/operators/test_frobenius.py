from dataclasses import replace

import numpy as np
import pytest

from kernelhood.operators import gram as frobenius
from kernelhood.operators.gram import frobenius_gram, joint_gram, task_grams
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


def gram_of(kernels, counts):
    def stack_of(rows, columns):
        return kernels.Ks[:, rows][:, :, columns]

    G = task_grams(stack_of, counts)
    return joint_gram(stack_of, G, counts, kernels.matrices, kernels.separate)


@pytest.mark.parametrize("together", [1, 256])
@pytest.mark.parametrize("repeated", [False, True], ids=["plain", "repeated"])
def test_the_gram_matrices_of_small_tasks_are_made_together(together, repeated, monkeypatch):
    monkeypatch.setattr(frobenius, "_POINTS_TOGETHER", together)
    kernels, _ = kernels_of("all tasks", "shared", repeated=repeated)
    calls, counts = [], counts_of(kernels)

    def stack_of(rows, columns):
        calls.append(rows)
        return kernels.Ks[:, rows][:, :, columns]

    found = task_grams(stack_of, counts)
    assert len(calls) == (3 if together == 1 else 1)
    for G, own in zip(found, counts, strict=True):
        root = np.sqrt(np.outer(own, own)) * kernels.Ks
        np.testing.assert_allclose(G, np.einsum("mij,lij->ml", root, root), atol=1e-12)


def test_points_that_follow_each_other_are_not_copied_one_by_one():
    asked = []

    def stack_of(rows, columns):
        asked.append(rows)
        return Ks[:, rows][:, :, columns]

    Ks = np.random.default_rng(0).normal(size=(2, 6, 6))
    for counts in ([[0, 1, 1, 1, 0, 0]], [[0, 1, 0, 1, 0, 1]]):
        (G,) = task_grams(stack_of, np.array(counts, dtype=float))
        own = Ks * np.outer(counts, counts)
        np.testing.assert_allclose(G, np.einsum("mij,lij->ml", own, own))
    assert asked[0] == slice(1, 4)
    np.testing.assert_array_equal(asked[1], [1, 3, 5])
    assert len(frobenius.as_slice(np.array([], dtype=int))) == 0


def test_equal_products_of_matrices_are_summed_up_once():
    """Groups, ones and the identity have three different products, one of them within tasks."""
    group = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    kernels, _ = kernels_of("all tasks", "shared")
    kernels = replace(kernels, matrices=np.stack([np.ones((3, 3)), group, np.eye(3)]))
    places, factors = frobenius._distinct_products(kernels.matrices)
    assert len(factors) == 3
    assert len(set(places.values())) == 3
    matrices = written_out(kernels)
    A = gram_of(kernels, counts_of(kernels))
    np.testing.assert_allclose(A, np.einsum("wij,uij->wu", matrices, matrices), atol=1e-9)


def test_nothing_but_the_identity_reads_only_what_is_within_tasks():
    counts, G = np.kron(np.eye(3), np.ones(4)), np.random.default_rng(0).normal(size=(3, 2, 2))
    G = G + G.transpose(0, 2, 1)
    A = joint_gram(None, G, counts, np.eye(3)[None], True)
    np.testing.assert_allclose(A[:2, :2], G.sum(axis=0))
    np.testing.assert_allclose(A[:2, 4:6], G[1])


@pytest.mark.parametrize("entries", [2**22, 60])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("repeated", [False, True], ids=["plain", "repeated"])
def test_the_joint_gram_is_that_of_the_matrices_written_out(kind, repeated, entries, monkeypatch):
    monkeypatch.setattr(frobenius, "_ENTRIES_AT_ONCE", entries)
    kernels, _ = kernels_of("all tasks", kind, repeated=repeated)
    matrices = written_out(kernels)
    A = gram_of(kernels, counts_of(kernels))
    np.testing.assert_allclose(A, np.einsum("wij,uij->wu", matrices, matrices), atol=1e-9)


@pytest.mark.parametrize("kind", ["shared and specific", "all kinds"])
def test_weights_of_samples_count_in_the_joint_gram_like_repetitions(kind):
    kernels, _ = kernels_of("all tasks", kind)
    counts = counts_of(kernels) * np.linspace(0.5, 2.0, kernels.Ks.shape[1])
    A = gram_of(kernels, counts)
    weighted = written_out(kernels) * np.sqrt(np.outer(counts.sum(axis=0), counts.sum(axis=0)))
    np.testing.assert_allclose(A, np.einsum("wij,uij->wu", weighted, weighted), atol=1e-9)
