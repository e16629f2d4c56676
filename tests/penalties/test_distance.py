"""Distances from a matrix: what rounding hides must not make a bound."""

from fractions import Fraction

import numpy as np
import pytest

from kernelhood.penalties.priced import Distance, nearest_weights
from tests.penalties.examples import N, ladder


def exactly(centre, G, move):
    """Return centre'Gu + 1/2 u'Gu without rounding."""
    u = [Fraction(float(x)) for x in move]
    Gu = [sum(Fraction(float(g)) * x for g, x in zip(row, u, strict=True)) for row in G]
    own = [Fraction(float(c)) for c in centre]
    return sum((c + x / 2) * g for c, x, g in zip(own, u, Gu, strict=True))


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6, 1e9, 1e12])
def test_a_move_costs_no_less_than_it_does_without_rounding(size):
    G, centre = ladder(), np.eye(N)[2]
    penalty = Distance(0.01, G, centre, np.zeros(N))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        flat = np.linalg.eigh(G)[1][:, :2] @ rng.normal(size=2)  # its kernels nearly cancel
        move = size * flat + rng.uniform(size=N)
        wanted = G @ move - 1.0
        assert penalty._cost(move, wanted) >= exactly(centre, G, move)


def test_a_small_move_keeps_its_digits():
    G, centre = ladder(), np.linspace(0.5, 1.0, N)
    penalty = Distance(1.0, G, centre, np.zeros(N))
    move = 1e-9 * np.arange(1.0, N + 1.0)
    found = penalty._cost(move, G @ move)
    assert found == pytest.approx(float(exactly(centre, G, move)), rel=1e-10)


def test_nearest_weights_do_not_depend_on_the_units_of_the_kernels():
    rng = np.random.default_rng(0)
    kernels = rng.normal(size=(4, 30))
    G, products = kernels @ kernels.T, kernels @ rng.normal(size=30)
    scale = np.array([1e-8, 1.0, 1e8, 1e-3])
    centre, slack = nearest_weights(G, products)
    scaled, rest = nearest_weights(G * np.outer(scale, scale), scale * products)
    assert centre.any()
    np.testing.assert_allclose(scaled * scale, centre, rtol=1e-9)
    np.testing.assert_allclose(rest / scale, slack, rtol=1e-9, atol=1e-12)
