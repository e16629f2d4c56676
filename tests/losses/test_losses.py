import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood.losses import EpsilonInsensitive, Hinge

VALUES = st.floats(-5.0, 5.0)


def conjugate_form(loss, f):
    """Return max over the box of v (target - f) - epsilon |v|, for every sample."""
    ends = np.stack([loss.lower, np.zeros_like(f), loss.upper])
    return np.max(ends * (loss.target - f) - loss.epsilon * np.abs(ends), axis=0)


@given(f=VALUES, sign=st.sampled_from([-1.0, 1.0]), cost=st.floats(0.1, 10.0))
@settings(max_examples=50, deadline=None)
def test_the_box_of_the_hinge_gives_back_the_hinge(f, sign, cost):
    loss = Hinge().box(np.array([sign]), np.array([cost]))
    expected = cost * max(0.0, 1.0 - sign * f)
    assert conjugate_form(loss, np.array([f]))[0] == pytest.approx(expected, abs=1e-12)


@given(f=VALUES, target=VALUES, cost=st.floats(0.1, 10.0), epsilon=st.floats(0.0, 2.0))
@settings(max_examples=50, deadline=None)
def test_the_box_of_the_tube_gives_back_the_tube(f, target, cost, epsilon):
    loss = EpsilonInsensitive(epsilon).box(np.array([target]), np.array([cost]))
    expected = cost * max(0.0, abs(target - f) - epsilon)
    assert conjugate_form(loss, np.array([f]))[0] == pytest.approx(expected, abs=1e-12)


def test_the_sides_of_the_tube_are_arrays_of_their_own():
    cost = np.ones(2)
    loss = EpsilonInsensitive(0.1).box(np.zeros(2), cost)
    cost[0] = 5.0
    assert loss.upper[0] == 1.0


def test_the_hinge_closes_one_side_of_every_box():
    loss = Hinge().box(np.array([1.0, -1.0, 1.0]), np.array([2.0, 3.0, 0.5]))
    assert loss.lower.tolist() == [0.0, -3.0, 0.0]
    assert loss.upper.tolist() == [2.0, 0.0, 0.5]
    assert loss.group_starts.tolist() == [0, 3]


def test_losses_are_equal_by_their_parameters():
    assert Hinge() == Hinge()
    assert EpsilonInsensitive(0.1) == EpsilonInsensitive(0.1)
    assert len({Hinge(), EpsilonInsensitive(0.1), EpsilonInsensitive(0.2)}) == 3
