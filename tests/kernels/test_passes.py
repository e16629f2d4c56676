import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelhood.kernels.compiled import exponentials, room_for_powers


def exponentials_of(x):
    values = np.array(x, dtype=np.float64)
    exponentials(values, *room_for_powers(len(values)))
    return values


def test_exponentials_are_those_of_numpy():
    x = -np.concatenate([np.linspace(0.0, 707.0, 20001), np.logspace(-320.0, 2.8, 20001)])
    np.testing.assert_allclose(exponentials_of(x), np.exp(x), rtol=5e-16, atol=0.0)


def test_exponentials_of_multiples_of_half_the_logarithm_of_two():
    x = -0.5 * np.log(2.0) * np.arange(2000.0)
    np.testing.assert_allclose(exponentials_of(x), np.exp(x), rtol=5e-16, atol=1e-307)


def test_the_exponential_of_zero_is_one():
    np.testing.assert_array_equal(exponentials_of([0.0, -0.0]), [1.0, 1.0])


@given(st.lists(st.floats(-1e308, -700.0), min_size=1, max_size=9))
def test_exponentials_that_vanish_stay_finite_and_small(x):
    found = exponentials_of(x)
    assert np.all((found > 0.0) & (found < 1e-303))
