"""Kernels that align with the targets."""

import numpy as np
import pytest
from scipy.optimize import nnls

from kernelhood.operators.gram import frobenius_gram
from kernelhood.penalties.priced import nearest_weights
from kernelhood.solvers.neighborhood import (
    TargetMatrix,
    centered_alignment_weights,
    certified_etas,
    solve_aligned,
)
from kernelhood.solvers.problem import recertified
from tests.solvers.problems import LOSSES, block_of, loss_of, points, solve_fixed, stack

each_loss = pytest.mark.parametrize("kind", LOSSES)


def problem(kind, C, n=40):
    X, sign = points(n)
    Ks, loss = stack(X), loss_of(kind, X, sign, C)
    ones = np.ones(n)
    G, _ = frobenius_gram(Ks, ones)
    return Ks, loss, TargetMatrix.of(Ks, G, loss.target, ones)


def test_the_distance_is_that_of_the_matrices():
    Ks, loss, matrix = problem("hinge", 1.0)
    weights, y = np.linspace(0.0, 1.0, 10), loss.target
    K = np.tensordot(weights, Ks, axes=1)
    expected = 3.0 * (0.5 * np.sum((K - np.outer(y, y)) ** 2) - matrix.least_distance)
    assert matrix.distance(3.0).value(weights) == pytest.approx(expected)


def test_the_least_distance_is_that_of_the_nearest_kernel():
    Ks, loss, matrix = problem("hinge", 1.0)
    y = loss.target
    found, residual = nnls(Ks.reshape(len(Ks), -1).T, np.outer(y, y).ravel())
    assert matrix.least_distance == pytest.approx(0.5 * residual**2)
    assert found.any()


@each_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("eta", [1e-6, 1.0, 1e6])
def test_alignment_solves_the_whole_and_the_svm(kind, C, eta):
    Ks, loss, matrix = problem(kind, C)
    block = block_of(Ks, loss)
    found = solve_aligned(block, matrix, eta, tol=1e-6)
    svm = solve_fixed(Ks, loss, found.weights, tol=1e-9)
    assert found.gap <= 1e-6
    assert found.svm_value == pytest.approx(svm.objective, rel=2e-6)
    again = solve_aligned(block, matrix, eta, starts=[found], tol=1e-6)
    assert again.objective == pytest.approx(found.objective, rel=1e-5)


@each_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("first", [1e-6, 1e-3, 1.0])
def test_certified_etas_are_those_that_certify_one_by_one(kind, C, first):
    Ks, loss, matrix = problem(kind, C)
    found = solve_aligned(block_of(Ks, loss), matrix, first)
    etas = [first * 1.5**k for k in range(1, 60)]
    count = certified_etas(found, matrix, etas, 1e-3)
    one_by_one = [recertified(found, matrix.distance(eta), 1e-3) for eta in etas]
    assert all(one_by_one[:count])
    assert count == len(etas) or one_by_one[count] is None


@each_loss
@pytest.mark.parametrize("eta", [1.0, 1e6, 1e12])
def test_where_the_distance_dominates_the_weights_are_found_all_the_same(kind, eta):
    """However large the distance is, a start from other weights ends at the same ones."""
    Ks, loss, matrix = problem(kind, 1.0)
    block = block_of(Ks, loss)
    found = solve_aligned(block, matrix, eta, tol=1e-5)
    other = solve_aligned(block, matrix, 1e-6 * eta, tol=1e-5)
    again = solve_aligned(block, matrix, eta, starts=[other], tol=1e-5)
    kernels = [np.tensordot(one.weights, Ks, axes=1) for one in (found, again)]
    np.testing.assert_allclose(*kernels, atol=2e-2 * np.abs(kernels[0]).max())
    assert found.objective == pytest.approx(again.objective, rel=2e-5)


def test_nearest_weights_satisfy_their_optimality_conditions():
    _, _, matrix = problem("hinge", 1.0)
    G, products = matrix.G, matrix.products
    weights, _ = nearest_weights(G, products)
    slope = G @ weights - products
    assert weights.min() >= 0.0
    assert slope.min() >= -1e-8 * products.max()
    assert abs(float(slope @ weights)) <= 1e-8 * float(products @ weights)


def test_centred_weights_have_length_one_or_vanish():
    Ks, loss, matrix = problem("hinge", 1.0)
    G = matrix.G
    ones = np.ones(Ks.shape[1])
    found = centered_alignment_weights(Ks, G, loss.target, ones)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    assert not np.any(centered_alignment_weights(Ks, G, ones, ones))
