import cvxpy as cp
import numpy as np
import pytest

from kernelhood.penalties import DualPoint, Simplex
from tests.references import optimum


def conjugate(penalty, q):
    """Return the largest (q - price)'w - 1/2 sum ridge w^2, by a conic solver."""
    w = cp.Variable(len(q), nonneg=True)
    value = (q - penalty.price) @ w - 0.5 * cp.sum_squares(cp.multiply(np.sqrt(penalty.ridge), w))
    budget = [penalty.row @ w == penalty.budget]
    return optimum(cp.Problem(cp.Maximize(value), budget))


@pytest.mark.parametrize("ridged", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_subtracts_the_conjugate(ridged, seed):
    rng = np.random.default_rng(seed)
    row, ridge = rng.uniform(0.5, 2.0, 5), np.zeros(5)
    if ridged:
        row[-1], ridge[-1] = 0.0, rng.uniform(0.5, 2.0)
    penalty = Simplex(row, 1.5, rng.uniform(0.1, 1.0, 5), ridge)
    q = rng.uniform(0.0, 2.0, 5)
    expected = 3.0 - conjugate(penalty, q)
    assert penalty.lower_bound(DualPoint(3.0, q)) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_a_budget_on_some_weights_with_a_price_on_the_others():
    row = np.array([1.0, 1.0, 0.0])
    penalty = Simplex(row, 1.0, None, 2.0 * (1.0 - row))
    dual = DualPoint(10.0, np.array([0.5, 0.7, 3.0]))
    assert penalty.lower_bound(dual) == pytest.approx(10.0 - 0.7 - 9.0 / 4.0)


def test_the_bound_splits_where_only_free_kernels_have_a_quadratic_price():
    penalty = Simplex(np.array([1.0, 2.0, 0.0]), 5.0, None, np.array([0.0, 0.0, 4.0]))
    dual = DualPoint(20.0, np.array([1.0, 3.0, 2.0]))
    assert penalty.lower_bound(dual) == pytest.approx(20.0 - 5.0 * 1.5 - 2.0**2 / (2.0 * 4.0))


def test_nearest_weights_leave_those_outside_the_budget():
    penalty = Simplex(np.array([1.0, 2.0, 0.0]), 5.0, None, np.array([0.0, 0.0, 4.0]))
    np.testing.assert_allclose(penalty.nearest(np.array([1.0, 2.0, 7.0])), [1.0, 2.0, 7.0])
    np.testing.assert_allclose(penalty.nearest(np.array([2.0, 4.0, 7.0])), [1.0, 2.0, 7.0])
    np.testing.assert_allclose(penalty.nearest(np.array([0.0, 0.0, 7.0])), [2.5, 1.25, 7.0])


def test_units_are_shares_of_the_budget():
    penalty = Simplex(np.array([1.0, 2.0, 0.0]), 5.0, None, np.array([0.0, 0.0, 4.0]))
    kept, unit = penalty.units(np.array([3.0, 3.0, 4.0]), 2.0)
    assert kept.all()
    np.testing.assert_allclose(unit, [5.0, 2.5, 0.5])


@pytest.mark.parametrize("n", [4, 100])
def test_the_step_minimises_the_model_on_the_budget(n):
    rng = np.random.default_rng(0)
    penalty = Simplex(rng.uniform(0.5, 2.0, n), 3.0, rng.uniform(-0.2, 0.2, n))
    x, q = penalty.start(), rng.uniform(0.5, 2.0, n)
    A = rng.normal(size=(n, 3))
    found = penalty.step(x, q, A @ A.T, 0.0, 10.0, 1.0)
    assert found.ray == 0.0
    w = cp.Variable(n, nonneg=True)
    move = w - x
    cost = 0.5 * cp.sum_squares(A.T @ move) + (penalty.price - q) @ move
    model = cp.Problem(cp.Minimize(cost), [penalty.row @ w == 3.0])
    least = optimum(model)
    w.value = found.weights
    assert float(cost.value) == pytest.approx(least, rel=1e-6)


def test_weights_that_gain_more_than_the_average_allow_less_of_a_vector():
    """Shares of the budget are 1 and 3, what they gain is 5 and 1: 2 on average."""
    penalty = Simplex(np.array([1.0, 1.0, 2.0]), 4.0, np.array([1.0, 1.0, 0.0]))
    weights, q = np.array([1.0, 3.0, 0.0]), np.array([6.0, 2.0, 16.0])
    allowed = np.sqrt([3.0 / 6.0, 1.0, 4.0 / 16.0])
    np.testing.assert_allclose(penalty.allowed_scale(weights, q), allowed)
