import numpy as np
import pytest

from kernelhood.penalties import Concave, DualPoint, Simplex
from tests.penalties.examples import ROW, N, allowed, frobenius

PENALTY = Concave(ROW, 3.0, frobenius(), 0.5)


def test_one_dual_vector_bounds_nothing():
    assert PENALTY.lower_bound(DualPoint(10.0, np.zeros(N))) == -np.inf
    assert not PENALTY.convex


def test_the_tangent_touches_from_above():
    rng = np.random.default_rng(0)
    here = allowed(PENALTY, rng)
    tangent = PENALTY.tangent(here)
    assert type(tangent) is Simplex
    np.testing.assert_array_equal(tangent.slope(here), PENALTY.slope(here))
    level = PENALTY.value(here) - tangent.value(here)
    for _ in range(50):
        other = allowed(PENALTY, rng)
        assert PENALTY.value(other) <= level + tangent.value(other) + 1e-9


def test_the_gap_is_zero_where_the_best_kernel_has_the_whole_budget():
    weights = 3.0 / ROW[1] * np.eye(N)[1]
    q = np.zeros(N)
    q[1] = 50.0
    svm_value, gain = 7.0, 7.0 + float(q @ weights)
    assert PENALTY.gap(weights, svm_value, DualPoint(gain, q)) == pytest.approx(0.0, abs=1e-9)
    q[2] = 500.0
    assert PENALTY.gap(weights, svm_value, DualPoint(gain, q)) > 1.0


def test_without_a_reward_it_is_a_simplex():
    rng = np.random.default_rng(1)
    none, plain = Concave(ROW, 3.0, frobenius(), 0.0), Simplex(ROW, 3.0)
    A, q, x = rng.normal(size=(N, N)), rng.uniform(size=N), plain.start()
    one, other = (p.step(x, q, A @ A.T, 0.1, 0.0, 1.0).weights for p in (none, plain))
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert none.gap(x, 2.0, DualPoint(1.0, q)) == plain.gap(x, 2.0, DualPoint(1.0, q))


def test_the_step_takes_the_whole_curvature():
    """Where the SVM's curvature outweighs the reward, the model is convex and met exactly."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(N, N))
    H = A @ A.T + 0.6 * frobenius()
    x, q = PENALTY.start(), rng.uniform(size=N)
    found = PENALTY.step(x, q, H, 0.0, 0.0, 1.0).weights
    slope = PENALTY.slope(x) - q + (H - 0.5 * frobenius()) @ (found - x)
    used = found > 0.0
    level = np.mean((slope / ROW)[used])
    np.testing.assert_allclose((slope / ROW)[used], level, rtol=1e-5, atol=1e-5)
    assert np.all((slope / ROW)[~used] >= level - 1e-5)
