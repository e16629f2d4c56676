import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood.losses import epsilon_insensitive, hinge

VALUES = st.floats(-5.0, 5.0)


def conjugate_form(terms, f):
    """Return max over the box of v (target - f) - epsilon |v|, for every sample."""
    ends = np.stack([terms.lower, np.zeros_like(f), terms.upper])
    return np.max(ends * (terms.target - f) - terms.epsilon * np.abs(ends), axis=0)


@given(f=VALUES, sign=st.sampled_from([-1.0, 1.0]), penalty=st.floats(0.1, 10.0))
@settings(max_examples=50, deadline=None)
def test_the_box_of_the_hinge_gives_back_the_hinge(f, sign, penalty):
    terms = hinge(np.array([sign]), np.array([penalty]))
    expected = penalty * max(0.0, 1.0 - sign * f)
    assert conjugate_form(terms, np.array([f]))[0] == pytest.approx(expected, abs=1e-12)


@given(f=VALUES, target=VALUES, penalty=st.floats(0.1, 10.0), epsilon=st.floats(0.0, 2.0))
@settings(max_examples=50, deadline=None)
def test_the_box_of_the_tube_gives_back_the_tube(f, target, penalty, epsilon):
    terms = epsilon_insensitive(np.array([target]), np.array([penalty]), epsilon)
    expected = penalty * max(0.0, abs(target - f) - epsilon)
    assert conjugate_form(terms, np.array([f]))[0] == pytest.approx(expected, abs=1e-12)


def test_the_sides_of_the_tube_are_arrays_of_their_own():
    penalty = np.ones(2)
    terms = epsilon_insensitive(np.zeros(2), penalty, 0.1)
    penalty[0] = 5.0
    assert terms.upper[0] == 1.0
