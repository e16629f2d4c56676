import cvxpy as cp
import numpy as np
import pytest

from kernelhood.solvers.penalty import Penalty, dual_bound, penalty_slope, penalty_value


def random_penalty(rng, n, *, quadratic, row):
    A = rng.normal(size=(n, n)) if quadratic else np.zeros((n, n))
    coefficients = {"none": np.zeros(n), "all": rng.uniform(0.5, 2.0, n)}.get(row)
    if coefficients is None:
        coefficients = np.where(np.arange(n) < n - 1, 1.0, 0.0)
    return Penalty(rng.uniform(0.1, 1.0, n), A @ A.T, coefficients, 1.5)


def conjugate(penalty, q):
    """max of (q - linear)'w - 1/2 w'Qw over the weights, by a conic solver."""
    w = cp.Variable(len(q), nonneg=True)
    value = (q - penalty.linear) @ w - 0.5 * cp.quad_form(w, cp.psd_wrap(penalty.quadratic))
    budget = [penalty.row @ w == penalty.budget] if np.any(penalty.row) else []
    return cp.Problem(cp.Maximize(value), budget).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize(("quadratic", "row"), [(True, "none"), (True, "all"), (False, "all")])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_subtracts_the_conjugate(quadratic, row, seed):
    rng = np.random.default_rng(seed)
    penalty = random_penalty(rng, 5, quadratic=quadratic, row=row)
    q = rng.uniform(0.0, 2.0, 5)
    expected = 3.0 - conjugate(penalty, q)
    assert dual_bound(penalty, 3.0, q) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_a_budget_on_some_weights_with_a_price_on_the_others():
    quadratic = np.diag([0.0, 0.0, 2.0])
    penalty = Penalty(np.zeros(3), quadratic, np.array([1.0, 1.0, 0.0]), 1.0)
    q = np.array([0.5, 0.7, 3.0])
    assert dual_bound(penalty, 10.0, q) == pytest.approx(10.0 - 0.7 - 9.0 / 4.0)


def test_without_quadratic_and_budget_the_dual_vector_is_shrunk():
    penalty = Penalty(np.array([1.0, 4.0]), np.zeros((2, 2)), np.zeros(2), 0.0)
    assert dual_bound(penalty, 10.0, np.array([0.5, 3.0])) == 10.0
    assert dual_bound(penalty, 10.0, np.array([4.0, 8.0])) == pytest.approx(5.0)


def test_value_and_slope():
    rng = np.random.default_rng(0)
    penalty, w = random_penalty(rng, 4, quadratic=True, row="none"), rng.uniform(size=4)
    step = 1e-6 * np.eye(4)
    numeric = [(penalty_value(penalty, w + e) - penalty_value(penalty, w - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(penalty_slope(penalty, w), numeric, rtol=1e-6)
