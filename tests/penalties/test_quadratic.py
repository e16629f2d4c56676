import cvxpy as cp
import numpy as np
import pytest

from kernelhood.penalties import DualPoint, Quadratic
from tests.penalties.examples import frobenius
from tests.references import optimum


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_subtracts_the_conjugate(seed):
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(5, 5))
    penalty = Quadratic(rng.uniform(0.1, 1.0, 5), A @ A.T)
    q = rng.uniform(0.0, 2.0, 5)
    w = cp.Variable(5, nonneg=True)
    value = (q - penalty.price) @ w - 0.5 * cp.sum_squares(A.T @ w)
    conjugate = optimum(cp.Problem(cp.Maximize(value)))
    expected = 3.0 - conjugate
    assert penalty.lower_bound(DualPoint(3.0, q)) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_the_bound_of_one_weight():
    penalty = Quadratic(np.array([1.0]), np.array([[4.0]]))
    assert penalty.lower_bound(DualPoint(10.0, np.array([5.0]))) == pytest.approx(10.0 - 2.0)
    assert penalty.lower_bound(DualPoint(10.0, np.array([0.5]))) == 10.0


@pytest.mark.parametrize("n", [65, 90])
def test_the_bound_of_many_weights_is_valid_and_tight(n):
    """More than 64 weights are maximised by an interior point."""
    rng = np.random.default_rng(n)
    for rank in (3, n):
        penalty = Quadratic(rng.uniform(0.1, 1.0, n), frobenius(1, rank=rank, n=n))
        q = rng.uniform(0.0, 2.0, n)
        w = cp.Variable(n, nonneg=True)
        values, vectors = np.linalg.eigh(penalty.Q)
        half = vectors * np.sqrt(np.maximum(values, 0.0))
        value = (q - penalty.price) @ w - 0.5 * cp.sum_squares(half.T @ w)
        conjugate = optimum(cp.Problem(cp.Maximize(value)))
        bound = penalty.lower_bound(DualPoint(3.0, q))
        assert bound == pytest.approx(3.0 - conjugate, rel=1e-5, abs=1e-5)
        maximiser = np.maximum(w.value, 0.0)
        assert bound <= 3.0 - q @ maximiser + penalty.value(maximiser) + 1e-9


def test_the_step_solves_a_problem_that_is_its_own_model():
    H, Q = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 0.2], [0.2, 3.0]])
    penalty, weights, q = Quadratic(np.ones(2), Q), np.ones(2), np.array([2.5, 4.5])
    found = penalty.step(weights, q, H, 0.0, 0.0, 1.0).weights
    slope = penalty.slope(found) - q + H @ (found - weights)
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)
