import numpy as np
import pytest

from kernelhood.penalties.base import Ray, bends, damped_minimiser, free_start, ray_step
from tests.solvers.problems import points, stack


def test_the_ray_balances_the_power_law():
    q, weights, price = np.array([8.0, 4.0]), np.array([1.0, 2.0]), np.array([1.0, 1.5])
    hessian = np.outer(q, q) * 2.0 / (weights @ q)
    ray = ray_step(weights, q, hessian, float(price @ weights), 0.0, 10.0)
    assert ray.power == pytest.approx(2.0)
    assert ray.factor == pytest.approx(np.sqrt((weights @ q) / (weights @ price)))
    assert ray.log == pytest.approx(np.log(ray.factor))
    short = ray_step(weights, q, hessian, float(price @ weights), 0.0, 0.1)
    assert short.factor == pytest.approx(np.exp(0.1))


def test_zero_weights_no_reach_and_no_price_leave_no_ray():
    q, weights = np.ones(2), np.full(2, 0.5)
    assert ray_step(np.zeros(2), q, np.eye(2), 1.0, 0.0, 10.0) == (1.0, 0.0)
    assert ray_step(weights, q, np.eye(2), 1.0, 0.0, 0.0) == (1.0, 0.0)
    assert ray_step(weights, q, np.eye(2), -1.0, 1.0, 10.0) == (1.0, 0.0)


def test_far_up_the_ray_the_forms_fall_with_the_square():
    q, weights = np.array([8.0, 4.0]), np.array([1.0, 2.0])
    hessian = np.outer(q, q) / (weights @ q)
    price = float(1e-4 * np.array([1.0, 1.5]) @ weights)
    ray = ray_step(weights, q, hessian, price, 0.0, 20.0)
    assert 1.5 < ray.power < 2.0
    np.testing.assert_allclose(weights @ q * ray.factor**-ray.power, price)


def test_a_growing_price_ends_the_ray_earlier():
    q, weights = np.array([8.0, 4.0]), np.array([1.0, 2.0])
    hessian = np.outer(q, q) * 2.0 / (weights @ q)
    ray = ray_step(weights, q, hessian, 1.0, 0.5, 10.0)
    balance = weights @ q * ray.factor**-ray.power
    np.testing.assert_allclose(balance, 1.0 + 0.5 * ray.factor, rtol=1e-6)


def test_the_dual_vector_shrinks_where_most_of_it_is_free():
    assert Ray(4.0, 2.0).shrink == pytest.approx(0.25)
    assert Ray(4.0, 1.0).shrink == 1.0
    assert Ray(0.25, 2.0).shrink == 1.0


def test_growth_is_limited_where_the_model_is_flat():
    X, _ = points(20)
    price, ones = 1e-6 * np.einsum("mii->m", stack(X)[:2]), np.ones(2)
    new = damped_minimiser(np.zeros((2, 2)), price - ones, ones, ones, 1e-12, 0.2)
    assert np.all(new > 1.0)
    assert new.sum() <= 3.0 * 2.2


def test_newton_finds_the_minimum_of_a_quadratic():
    H = np.array([[2.0, 0.5], [0.5, 1.0]])
    weights, q = np.ones(2), np.array([1.5, 0.8])
    new = damped_minimiser(H, 1.0 - q, weights, q, 0.0, 1.0)
    np.testing.assert_allclose(H @ (new - weights), q - 1.0, atol=1e-9)


def test_damping_shortens_the_step_and_never_turns_it():
    H = np.array([[2.0, 0.5], [0.5, 1.0]])
    weights, q = np.ones(2), np.array([1.5, 1.8])
    lengths = []
    for damping in (0.0, 0.1, 1.0, 10.0):
        change = damped_minimiser(H, 1.0 - q, weights, q, damping, 1.0) - weights
        assert change @ (q - 1.0) > 0.0
        lengths.append(np.abs(change).sum())
    assert lengths == sorted(lengths, reverse=True)


def test_the_majoriser_bends_as_twice_the_form_over_the_weight():
    found = bends(np.array([1.0, 0.0, 2.0]), np.array([3.0, 1.0, -1.0]), 0.5)
    np.testing.assert_allclose(found, [6.0 / 1.5, 2.0 / 0.5, 0.0])


def test_the_start_is_equal_weights():
    np.testing.assert_allclose(free_start(4), np.full(4, 0.25))
    assert len(free_start(0)) == 0
