"""Fixed kernels, the noise kernel and alignment to targets."""

from __future__ import annotations

import numpy as np
import pytest

from kernelhood.solvers.fixed import solve_fixed, start_at
from kernelhood.solvers.mkl import recertified
from kernelhood.solvers.neighborhood import frobenius_gram
from kernelhood.solvers.noise_kernel import solve_neighborhood
from kernelhood.solvers.penalty import Penalty, dual_bound
from kernelhood.solvers.target_alignment import (
    centered_alignment_weights,
    certified_etas,
    nearest_weights,
    solve_aligned,
    target_products,
)
from tests.solvers.problems import LOSSES, dual_terms, feasible, points, stack

each_loss = pytest.mark.parametrize("loss", LOSSES)


def problem(loss, C, n=40):
    X, sign = points(n)
    return stack(X), dual_terms(loss, X, sign, C)


@each_loss
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
def test_fixed_kernel_reaches_the_gap_from_any_start(loss, C):
    Ks, terms = problem(loss, C)
    weights = np.linspace(0.0, 1.0, len(Ks))
    cold = solve_fixed(Ks, terms, weights, tol=1e-9)
    warm = solve_fixed(Ks, terms, weights, v=0.5 * cold.v, tol=1e-9)
    assert max(cold.gap, warm.gap) <= 1e-9
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
    assert feasible(cold.v, terms)
    assert cold.svm_value == cold.objective


@each_loss
def test_no_kernel_at_all_is_a_constant(loss):
    Ks, terms = problem(loss, 1.0)
    found = solve_fixed(Ks, terms, np.zeros(len(Ks)))
    start = start_at(Ks, terms, np.zeros(len(Ks)))
    assert found.gap <= 1e-3
    assert found.objective == pytest.approx(start.objective, rel=1e-3)


@each_loss
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e3])
def test_the_ridge_is_that_of_the_dual_vector(loss, C, rho):
    Ks, terms = problem(loss, C)
    full = np.concatenate([Ks, np.eye(Ks.shape[1])[None]])
    for stack_ in (full, full[-2:]):
        found = solve_neighborhood(stack_, terms, rho, tol=1e-8)
        assert found.gap <= 1e-8
        assert found.n_iter <= 20
        assert found.weights[:-1].sum() == pytest.approx(1.0)
        tau = float(found.v @ found.v) / (2.0 * rho)
        assert found.weights[-1] == pytest.approx(tau, rel=1e-2)


def test_a_warm_start_reaches_the_same_neighborhood():
    Ks, terms = problem("hinge", 10.0)
    full = np.concatenate([Ks, np.eye(Ks.shape[1])[None]])
    cold = solve_neighborhood(full, terms, 2.0, tol=1e-9)
    for rho in (1e-3, 1.0, 1e4):
        other = solve_neighborhood(full, terms, rho, tol=1e-9)
        warm = solve_neighborhood(full, terms, 2.0, starts=[other], tol=1e-9)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
        loose = solve_neighborhood(full, terms, 2.0, starts=[other], tol=1e-2)
        assert loose.objective <= cold.objective * 1.02


def test_the_bound_splits_where_only_free_kernels_have_a_quadratic_price():
    q = np.array([1.0, 3.0, 2.0])
    penalty = Penalty(np.zeros(3), np.diag([0.0, 0.0, 4.0]), np.array([1.0, 2.0, 0.0]), 5.0)
    assert dual_bound(penalty, 20.0, q) == pytest.approx(20.0 - 5.0 * 1.5 - 2.0**2 / (2.0 * 4.0))


@each_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("eta", [1e-6, 1.0, 1e6])
def test_alignment_solves_the_whole_and_the_svm(loss, C, eta):
    Ks, terms = problem(loss, C)
    ones = np.ones(Ks.shape[1])
    G, _ = frobenius_gram(Ks, ones)
    products = target_products(Ks, terms.target, ones)
    found = solve_aligned(Ks, terms, G, products, eta, tol=1e-6)
    svm = solve_fixed(Ks, terms, found.weights, tol=1e-9)
    assert found.gap <= 1e-6
    assert found.svm_value == pytest.approx(svm.objective, rel=2e-6)
    again = solve_aligned(Ks, terms, G, products, eta, starts=[found], tol=1e-6)
    assert again.objective == pytest.approx(found.objective, rel=1e-5)


@each_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("first", [1e-6, 1e-3, 1.0])
def test_certified_etas_are_those_that_certify_one_by_one(loss, C, first):
    Ks, terms = problem(loss, C)
    ones = np.ones(Ks.shape[1])
    G, _ = frobenius_gram(Ks, ones)
    products = target_products(Ks, terms.target, ones)
    found = solve_aligned(Ks, terms, G, products, first)
    etas = [first * 1.5**k for k in range(1, 60)]
    count = certified_etas(found, G, products, etas, 1e-3)
    one_by_one = [
        recertified(found, Penalty(-eta * products, eta * G, 0.0 * products, 0.0), 1e-3)
        for eta in etas
    ]
    assert all(one_by_one[:count])
    assert count == len(etas) or one_by_one[count] is None


def test_nearest_weights_satisfy_their_optimality_conditions():
    Ks, terms = problem("hinge", 1.0)
    ones = np.ones(Ks.shape[1])
    G, _ = frobenius_gram(Ks, ones)
    products = target_products(Ks, terms.target, ones)
    weights = nearest_weights(G, products)
    slope = G @ weights - products
    assert weights.min() >= 0.0
    assert slope.min() >= -1e-8 * products.max()
    assert abs(float(slope @ weights)) <= 1e-8 * float(products @ weights)


def test_centred_weights_have_length_one_or_vanish():
    Ks, terms = problem("hinge", 1.0)
    ones = np.ones(Ks.shape[1])
    G, _ = frobenius_gram(Ks, ones)
    found = centered_alignment_weights(Ks, G, terms.target, ones)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    assert not np.any(centered_alignment_weights(Ks, G, ones, ones))
