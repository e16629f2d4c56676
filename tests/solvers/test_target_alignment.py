"""Kernels that align with the targets."""

import numpy as np
import pytest

from kernelhood.operators.frobenius import frobenius_gram
from kernelhood.solvers.solution import recertified
from kernelhood.solvers.target_alignment import (
    centered_alignment_weights,
    certified_etas,
    distance,
    nearest_weights,
    solve_aligned,
    target_products,
)
from tests.solvers.problems import LOSSES, block_of, loss_of, points, solve_fixed, stack

each_loss = pytest.mark.parametrize("kind", LOSSES)


def problem(kind, C, n=40):
    X, sign = points(n)
    Ks, loss = stack(X), loss_of(kind, X, sign, C)
    ones = np.ones(n)
    G, _ = frobenius_gram(Ks, ones)
    return Ks, loss, G, target_products(Ks, loss.target, ones)


def test_the_distance_is_that_of_the_matrices():
    Ks, loss, G, products = problem("hinge", 1.0)
    weights, y = np.linspace(0.0, 1.0, 10), loss.target
    K = np.tensordot(weights, Ks, axes=1)
    target = np.outer(y, y)
    expected = 0.5 * 3.0 * (np.sum((K - target) ** 2) - np.sum(target**2))
    assert distance(3.0, G, products).value(weights) == pytest.approx(expected)


@each_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("eta", [1e-6, 1.0, 1e6])
def test_alignment_solves_the_whole_and_the_svm(kind, C, eta):
    Ks, loss, G, products = problem(kind, C)
    block = block_of(Ks, loss)
    found = solve_aligned(block, G, products, eta, tol=1e-6)
    svm = solve_fixed(Ks, loss, found.weights, tol=1e-9)
    assert found.gap <= 1e-6
    assert found.svm_value == pytest.approx(svm.objective, rel=2e-6)
    again = solve_aligned(block, G, products, eta, starts=[found], tol=1e-6)
    assert again.objective == pytest.approx(found.objective, rel=1e-5)


@each_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("first", [1e-6, 1e-3, 1.0])
def test_certified_etas_are_those_that_certify_one_by_one(kind, C, first):
    Ks, loss, G, products = problem(kind, C)
    found = solve_aligned(block_of(Ks, loss), G, products, first)
    etas = [first * 1.5**k for k in range(1, 60)]
    count = certified_etas(found, G, products, etas, 1e-3)
    one_by_one = [recertified(found, distance(eta, G, products), 1e-3) for eta in etas]
    assert all(one_by_one[:count])
    assert count == len(etas) or one_by_one[count] is None


def test_nearest_weights_satisfy_their_optimality_conditions():
    _, _, G, products = problem("hinge", 1.0)
    weights = nearest_weights(G, products)
    slope = G @ weights - products
    assert weights.min() >= 0.0
    assert slope.min() >= -1e-8 * products.max()
    assert abs(float(slope @ weights)) <= 1e-8 * float(products @ weights)


def test_centred_weights_have_length_one_or_vanish():
    Ks, loss, G, _ = problem("hinge", 1.0)
    ones = np.ones(Ks.shape[1])
    found = centered_alignment_weights(Ks, G, loss.target, ones)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    assert not np.any(centered_alignment_weights(Ks, G, ones, ones))
