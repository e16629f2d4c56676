import numpy as np
import pytest

from kernelhood.penalties import DualPoint, Linear
from kernelhood.penalties.base import damped_minimiser


def test_the_dual_vector_is_shrunk_until_no_form_is_above_its_price():
    penalty = Linear(np.array([1.0, 4.0]))
    assert penalty.lower_bound(DualPoint(10.0, np.array([0.5, 3.0]))) == 10.0
    assert penalty.lower_bound(DualPoint(10.0, np.array([4.0, 8.0]))) == pytest.approx(5.0)
    np.testing.assert_allclose(
        penalty.allowed_scale(np.ones(2), np.array([4.0, 8.0])), [0.5, np.sqrt(0.5)]
    )


def test_straightened_forms_make_the_step_exact_under_the_inverse_square_law():
    price, weights = np.array([1.0, 2.0]), np.array([1.5, 0.8])
    penalty = Linear(price)
    q = np.array([2.0, 3.0]) / weights**2
    H = np.diag(2.0 * q / weights)
    slope = price - penalty._straightened(weights, q)
    new = damped_minimiser(H, slope, weights, q, 0.0, 1.0)
    np.testing.assert_allclose(new, np.sqrt(np.array([2.0, 3.0]) / price))
    np.testing.assert_allclose(penalty._straightened(weights, price), price)


def test_forms_far_from_their_prices_stay():
    weights, q = np.array([1.0, 1.0]), np.array([9.0, 1.0])
    penalty = Linear(np.ones(2))
    np.testing.assert_array_equal(penalty._straightened(weights, q), q)
    np.testing.assert_array_equal(penalty._straightened(weights, 1.0 / q), 1.0 / q)


def test_the_step_goes_along_the_ray_and_then_to_the_balance():
    """Where all forms fall with the square, one step ends where each meets its price."""
    price, weights = np.array([1.0, 2.0]), 1e-3 * np.array([1.5, 0.8])
    q = np.array([2.0, 3.0]) / weights**2
    H = np.diag(2.0 * q / weights)
    found = Linear(price).step(weights, q, H, 0.0, 20.0, 1.0)
    np.testing.assert_allclose(found.weights, np.sqrt(np.array([2.0, 3.0]) / price), rtol=0.05)
    assert found.ray > 6.0
    assert found.shrink == pytest.approx(np.exp(-found.ray), rel=1e-3)


def test_large_weights_are_halved_at_most_beyond_the_majoriser():
    penalty = Linear(np.array([1.0, 4.0, 1.0, 1.0]))
    weights, q = np.array([2.0, 3.0, 0.01, 1.0]), np.array([0.25, 1.0, 0.5, 9.0])
    np.testing.assert_allclose(penalty.least(weights, q), [0.5, 0.75, 0.0, 0.5])
