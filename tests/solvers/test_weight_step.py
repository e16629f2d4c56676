import numpy as np
import pytest

from kernelhood.losses import DualTerms
from kernelhood.solvers import weight_step
from kernelhood.solvers.combined import combined_kernel
from kernelhood.solvers.penalty import Penalty
from kernelhood.solvers.svm_dual import solve_svm_dual
from kernelhood.solvers.weight_step import (
    line_minimum,
    newton_weights,
    ray_step,
    secant_hessian,
    straightened,
    value_hessian,
)
from tests.solvers.problems import LOSSES, dual_terms, points, simplex, stack, trace_price


def curvatures(Ks, weights, terms):
    n = Ks.shape[1]
    kernel = combined_kernel(Ks, weights, 1e-8)
    v = solve_svm_dual(kernel, terms, np.zeros(n), np.zeros(n), 1e-13)[0]
    return 0.5 * np.einsum("i,mij,j->m", v, Ks, v), v


@pytest.mark.parametrize("loss", LOSSES)
def test_the_hessian_is_the_derivative_of_the_gradient(loss):
    X, sign = points(30)
    Ks, terms = stack(X)[[0, 2, 3]], dual_terms(loss, X, sign, 1.0)
    weights = np.array([0.3, 1.0, 0.4])
    _, v = curvatures(Ks, weights, terms)
    found = value_hessian(Ks, combined_kernel(Ks, weights, 1e-8), v, Ks @ v, terms)
    numeric = np.empty((3, 3))
    for m in range(3):
        step = 1e-5 * np.eye(3)[m]
        up, down = (curvatures(Ks, weights + sign_ * step, terms)[0] for sign_ in (1, -1))
        numeric[m] = -(up - down) / 2e-5
    np.testing.assert_allclose(found, numeric, rtol=2e-3, atol=2e-3 * np.abs(found).max())


def test_without_free_support_vectors_there_is_no_curvature():
    X, sign = points(20)
    Ks, terms = stack(X), dual_terms("hinge", X, sign, 1.0)
    v = np.where(sign > 0, terms.upper, 0.0)
    assert not value_hessian(Ks, combined_kernel(Ks, np.ones(10)), v, Ks @ v, terms).any()


def test_the_ray_balances_the_power_law():
    q, weights = np.array([8.0, 4.0]), np.array([1.0, 2.0])
    hessian = np.outer(q, q) * 2.0 / (weights @ q)
    penalty = Penalty(np.array([1.0, 1.5]), np.zeros((2, 2)), np.zeros(2), 0.0)
    factor, power = ray_step(weights, q, hessian, penalty, 10.0)
    assert power == pytest.approx(2.0)
    assert factor == pytest.approx(np.sqrt((weights @ q) / (weights @ penalty.linear)))
    assert ray_step(weights, q, hessian, penalty, 0.1)[0] == pytest.approx(np.exp(0.1))


def test_a_budget_or_zero_weights_leave_no_ray():
    q = np.ones(2)
    assert ray_step(np.full(2, 0.5), q, np.eye(2), simplex(2), 10.0) == (1.0, 0.0)
    free = Penalty(np.ones(2), np.zeros((2, 2)), np.zeros(2), 0.0)
    assert ray_step(np.zeros(2), q, np.eye(2), free, 10.0) == (1.0, 0.0)


def test_far_up_the_ray_the_curvatures_fall_with_the_square():
    q, weights = np.array([8.0, 4.0]), np.array([1.0, 2.0])
    hessian = np.outer(q, q) / (weights @ q)
    penalty = Penalty(1e-4 * np.array([1.0, 1.5]), np.zeros((2, 2)), np.zeros(2), 0.0)
    factor, power = ray_step(weights, q, hessian, penalty, 20.0)
    assert 1.5 < power < 2.0
    np.testing.assert_allclose(weights @ q * factor**-power, penalty.linear @ weights)


def test_growth_is_limited_where_the_model_is_flat():
    X, _ = points(20)
    penalty = trace_price(stack(X)[:2], 1e-6)
    new = newton_weights(np.ones(2), np.ones(2), np.zeros((2, 2)), penalty, 1e-12, 0.2)
    assert np.all(new > 1.0)
    assert new.sum() <= 3.0 * 2.2


def test_newton_finds_the_minimum_of_a_quadratic():
    H = np.array([[2.0, 0.5], [0.5, 1.0]])
    penalty = Penalty(np.array([1.0, 1.0]), np.zeros((2, 2)), np.zeros(2), 0.0)
    weights, q = np.ones(2), np.array([1.5, 0.8])
    new = newton_weights(weights, q, H, penalty, 0.0, 1.0)
    np.testing.assert_allclose(H @ (new - weights), q - penalty.linear, atol=1e-9)


def test_the_secant_hessian_explains_the_step():
    H, step = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.3, -0.1])
    true = np.array([[3.0, 0.2], [0.2, 0.7]])
    new = secant_hessian(H, step, true @ step)
    np.testing.assert_allclose(new @ step, true @ step)
    np.testing.assert_allclose(new, new.T)
    assert np.all(np.linalg.eigvalsh(new) > 0.0)
    np.testing.assert_array_equal(secant_hessian(H, step, -step), H)
    np.testing.assert_array_equal(secant_hessian(H, np.zeros(2), step), H)


def test_straightened_curvatures_make_the_step_exact_under_the_inverse_square_law():
    price, weights = np.array([1.0, 2.0]), np.array([1.5, 0.8])
    penalty = Penalty(price, np.zeros((2, 2)), np.zeros(2), 0.0)
    q = np.array([2.0, 3.0]) / weights**2
    H = np.diag(2.0 * q / weights)
    new = newton_weights(weights, straightened(penalty, weights, q), H, penalty, 0.0, 1.0)
    np.testing.assert_allclose(new, np.sqrt(np.array([2.0, 3.0]) / price))
    balanced = straightened(penalty, weights, price)
    np.testing.assert_allclose(balanced, price)


def test_curvatures_far_from_their_prices_or_under_a_budget_stay():
    weights, q = np.array([1.0, 1.0]), np.array([9.0, 1.0])
    penalty = Penalty(np.ones(2), np.zeros((2, 2)), np.zeros(2), 0.0)
    np.testing.assert_array_equal(straightened(penalty, weights, q), q)
    np.testing.assert_array_equal(straightened(penalty, weights, 1.0 / q), 1.0 / q)
    np.testing.assert_array_equal(straightened(simplex(2), weights / 2, q), q)


@pytest.mark.parametrize("spread", [0.5, 30.0])
def test_the_hessian_of_a_large_problem_is_right_in_either_precision(spread, monkeypatch):
    X, _ = points(40)
    D = np.sum((X[:, None] - X) ** 2, axis=2)
    Ks = np.array([np.exp(-D / (2 * spread**2)), X @ X.T + np.eye(40)])
    terms = DualTerms(np.zeros(40), -np.ones(40), np.ones(40), 0.0, np.array([0, 40]))
    v = np.linspace(-0.9, 0.8, 40)
    kernel = combined_kernel(Ks, np.array([1.0, 1e-3]), 1e-7)
    double = value_hessian(Ks, kernel, v, Ks @ v, terms)
    monkeypatch.setattr(weight_step, "_LARGE", 2)
    np.testing.assert_allclose(value_hessian(Ks, kernel, v, Ks @ v, terms), double, rtol=1e-3)


def test_the_line_minimum_of_a_parabola_is_exact():
    def f(t):
        return (t - 0.4) ** 2

    assert line_minimum(f(0.0), -0.8, f(1.0), 1.2) == pytest.approx(0.4)
    assert line_minimum(0.0, -0.001, 0.999, 1.999) == pytest.approx(0.05)


def test_rounding_below_zero_is_bridged_and_an_indefinite_kernel_is_named():
    rng = np.random.default_rng(0)
    low = rng.normal(size=(12, 3))
    K = low @ low.T
    rounded = K - 1e-12 * np.trace(K) * np.eye(12)
    wanted = low @ rng.normal(size=(3, 2))
    found = weight_step._solve(rounded, wanted)
    np.testing.assert_allclose(K @ found, wanted, rtol=1e-6, atol=1e-8)
    with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
        weight_step._solve(K - 0.1 * np.eye(12), wanted)
