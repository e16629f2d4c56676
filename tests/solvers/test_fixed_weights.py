"""Weights that are given: nothing is left but the SVM."""

import numpy as np
import pytest

from kernelhood.solvers.problem import valued
from tests.references import svm
from tests.solvers.problems import (
    LOSSES,
    block_of,
    feasible,
    loss_of,
    points,
    solve_fixed,
    stack,
)

each_loss = pytest.mark.parametrize("kind", LOSSES)


def problem(kind, C, n=40):
    X, sign = points(n)
    return stack(X), loss_of(kind, X, sign, C)


@each_loss
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
def test_the_gap_is_reached_from_any_start(kind, C):
    Ks, loss = problem(kind, C)
    weights = np.linspace(0.0, 1.0, len(Ks))
    cold = solve_fixed(Ks, loss, weights, tol=1e-9)
    half = valued([block_of(Ks, loss)], weights, 0.5 * cold.v)
    warm = solve_fixed(Ks, loss, weights, start=half, tol=1e-9)
    assert max(cold.gap, warm.gap) <= 1e-9
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
    assert feasible(cold.v, loss)
    assert cold.svm_value == cold.objective
    np.testing.assert_array_equal(cold.weights == 0.0, weights == 0.0)
    np.testing.assert_allclose(cold.weights, weights)


@each_loss
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_is_the_svm_of_libsvm(kind, C):
    Ks, loss = problem(kind, C)
    weights = np.linspace(0.1, 1.0, len(Ks))
    K = np.tensordot(weights, Ks, axes=1)
    epsilon = None if kind == "hinge" else loss.epsilon
    expected = svm(K, loss.target, C=C, epsilon=epsilon).value
    found = solve_fixed(Ks, loss, weights, tol=1e-8)
    assert found.objective == pytest.approx(expected, rel=1e-6)


@each_loss
def test_weights_of_another_start_are_not_kept(kind):
    Ks, loss = problem(kind, 1.0)
    other = solve_fixed(Ks, loss, np.ones(len(Ks)))
    weights = np.linspace(0.1, 1.0, len(Ks))
    found = solve_fixed(Ks, loss, weights, start=other)
    np.testing.assert_allclose(found.weights, weights)
    assert found.n_iter > 0


@each_loss
def test_no_kernel_at_all_is_a_constant(kind):
    Ks, loss = problem(kind, 1.0)
    found = solve_fixed(Ks, loss, np.zeros(len(Ks)))
    start = valued([block_of(Ks, loss)], np.zeros(len(Ks)))
    assert found.gap <= 1e-3
    assert found.objective == pytest.approx(start.objective, rel=1e-3)


@each_loss
def test_the_svms_gap_is_its_own(kind):
    Ks, loss = problem(kind, 1.0)
    found = solve_fixed(Ks, loss, np.ones(len(Ks)), tol=1e-6)
    assert found.svm_gap == pytest.approx(found.gap, abs=1e-9)
