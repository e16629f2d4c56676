import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood.losses import (
    BoxLoss,
    EpsilonInsensitive,
    Loss,
    Quantile,
    RidgeLoss,
    Squared,
    as_loss,
    joined,
    ridge_gain,
    ridge_values,
)

VALUES = st.floats(-5.0, 5.0)


def grouped(seed=0):
    rng = np.random.default_rng(seed)
    parts = [Squared().at(rng.normal(size=n), rng.uniform(0.5, 3.0, n)) for n in (4, 7)]
    return joined(parts, np.array([0, 4, 11])), rng


def test_the_best_intercepts_and_the_primal_value_are_those_of_the_formula():
    loss, rng = grouped()
    v, Kv = rng.normal(size=(2, 11))
    intercepts, value, gain, bend = ridge_values(v, Kv, loss)

    def primal(b):
        rest = loss.target - Kv - np.repeat(b, [4, 7])
        return 0.5 * v @ Kv + 0.5 * np.sum(loss.cost * rest**2)

    assert value == pytest.approx(primal(intercepts))
    for step in 1e-3 * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]):
        assert primal(intercepts + step) > value
    assert bend == pytest.approx(0.5 * np.sum(v**2 / loss.cost))
    assert gain == pytest.approx(loss.target @ v - bend)
    assert (gain, bend) == ridge_gain(v, loss)


def test_a_vector_is_made_feasible_by_what_its_groups_sum_to():
    loss, rng = grouped()
    v = loss.feasible(rng.normal(size=11))
    np.testing.assert_allclose(loss.sums(v), 0.0, atol=1e-14)
    np.testing.assert_allclose(loss.feasible(v), v, atol=1e-14)


def test_some_samples_counted_several_times():
    loss, _ = grouped()
    kept = np.arange(11) % 2 == 0
    part = loss.part(kept, 2.0)
    assert part.group_starts.tolist() == [0, 6]
    np.testing.assert_array_equal(part.target, loss.target[kept])
    np.testing.assert_array_equal(part.cost, 2.0 * loss.cost[kept])
    assert np.all(part.lower == -np.inf)
    assert np.all(part.upper == np.inf)


@given(seed=st.integers(0, 1000), level=st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_any_vector_is_made_feasible_in_any_box(seed, level):
    rng = np.random.default_rng(seed)
    parts = [Quantile(level).box(np.zeros(n), rng.uniform(0.5, 2.0, n)) for n in (1, 5, 8)]
    loss = joined(parts, np.array([0, 1, 6, 14]))
    v = loss.feasible(3.0 * rng.normal(size=14))
    assert np.all(v >= loss.lower)
    assert np.all(v <= loss.upper)
    np.testing.assert_allclose(np.add.reduceat(v, [0, 1, 6]), 0.0, atol=1e-12)


@given(f=VALUES, target=VALUES, cost=st.floats(0.1, 10.0), level=st.floats(0.01, 0.99))
@settings(max_examples=50, deadline=None)
def test_the_box_of_the_pinball_gives_back_the_pinball(f, target, cost, level):
    loss = Quantile(level).box(np.array([target]), np.array([cost]))
    rest = target - f
    expected = cost * max(level * rest, (level - 1.0) * rest)
    assert max(loss.lower[0] * rest, loss.upper[0] * rest) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        Quantile(level)


def test_names_stand_for_losses_with_their_own_parameter():
    assert as_loss("epsilon_insensitive", 0.2) == EpsilonInsensitive(0.2)
    assert as_loss(Quantile(0.9), 0.2) == Quantile(0.9)
    assert as_loss("squared", 0.2) == Squared()
    assert len({Quantile(0.3), Quantile(0.4), Squared(), EpsilonInsensitive(0.3)}) == 4


def test_a_loss_has_a_box_or_a_ridge():
    class Nothing(Loss):
        key = "nothing"

    samples = np.zeros(2), np.ones(2)
    assert isinstance(Quantile(0.5).at(*samples), BoxLoss)
    assert isinstance(Squared().at(*samples), RidgeLoss)
    with pytest.raises(NotImplementedError, match="Nothing defines neither a box nor a ridge"):
        Nothing().at(*samples)
    with pytest.raises(NotImplementedError, match="Squared"):
        Squared().box(*samples)
