import numpy as np
import pytest

from kernelhood.penalties import DualPoint, LpBall
from kernelhood.penalties.simplex import p_norm


@pytest.mark.parametrize("p", [1.3, 3.0])
def test_the_step_solves_its_equations_where_forms_are_constant(p):
    ball, q = LpBall(p, np.ones(4)), np.array([1.0, 2.0, 0.5, 1e-3])
    x = ball.start()
    for _ in range(30):
        x = ball.step(x, q, np.zeros((4, 4)), 0.0, 0.0, 1.0).weights
    expected = q ** (1.0 / (p - 1.0))
    np.testing.assert_allclose(x, expected / p_norm(expected, p), rtol=1e-8)
    assert q @ x == pytest.approx(-ball.lower_bound(DualPoint(0.0, q)))


@pytest.mark.parametrize("p", [1.3, 3.0])
def test_full_damping_takes_the_closed_form(p):
    """With the majoriser's curvature alone, theta ~ (theta^2 q)^(1 / (p + 1))."""
    ball, q = LpBall(p, np.ones(4)), np.array([1.0, 2.0, 0.5, 0.1])
    x = ball.nearest(np.array([1.0, 0.3, 2.0, 0.7]))
    found = ball.step(x, q, np.zeros((4, 4)), 1.0, 0.0, 1.0).weights
    expected = (x**2 * q) ** (1.0 / (p + 1.0))
    np.testing.assert_allclose(found, expected / p_norm(expected, p), rtol=1e-8)


def test_weights_outside_become_some_on_the_sphere():
    ball = LpBall(2.0, np.ones(3))
    found = ball.nearest(np.array([1.0, 0.0, 0.0]))
    assert found.min() > 0.0
    assert p_norm(found, 2.0) == pytest.approx(1.0)
    np.testing.assert_array_equal(ball.nearest(np.zeros(3)), ball.start())


def test_norms_do_not_overflow():
    assert p_norm(np.array([1e200, 1e200]), 2.0) == pytest.approx(np.sqrt(2.0) * 1e200)
    assert p_norm(np.array([1e-200, 1e-200]), 2.0) == pytest.approx(np.sqrt(2.0) * 1e-200)
    assert p_norm(np.zeros(3), 2.0) == 0.0


def test_the_scale_is_the_largest_value_of_each_weight():
    ball = LpBall(3.0, np.array([2.0, 5.0]))
    assert ball.contains(np.array([2.0, 0.0]))
    assert ball.contains(np.array([0.0, 5.0]))
    assert not ball.contains(np.array([2.0, 5.0]))
