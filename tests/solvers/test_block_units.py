import numpy as np
import pytest

from kernelhood.losses import EpsilonInsensitive, Hinge, joined
from kernelhood.solvers.block import in_units


def test_the_solver_sees_a_box_and_targets_of_order_one():
    y = 1e6 + 1e3 * np.linspace(-1.0, 1.0, 20)
    loss = EpsilonInsensitive(50.0).box(y, np.full(20, 1e-4))
    scaled, units = in_units(loss)
    assert scaled.upper.max() == 1.0
    assert scaled.lower.min() == -1.0
    assert scaled.target.mean() == pytest.approx(0.0, abs=1e-9)
    assert scaled.target.std() == pytest.approx(1.0)
    np.testing.assert_allclose(scaled.target * units.target + units.centres, y)
    assert scaled.epsilon * units.target == pytest.approx(50.0)
    assert units.weight == pytest.approx(units.target / units.box)
    assert units.value == pytest.approx(units.target * units.box)


def test_every_group_has_its_own_centre():
    parts = [
        EpsilonInsensitive(0.1).box(y, np.ones(3)) for y in (np.arange(3.0), 100.0 + np.arange(3.0))
    ]
    scaled, units = in_units(joined(parts, np.array([0, 3, 6])))
    assert units.centres.tolist() == [1.0, 101.0]
    np.testing.assert_allclose(scaled.target[:3], scaled.target[3:])


@pytest.mark.parametrize("level", [0.0, 3.0, 1e9])
def test_constant_targets_keep_their_unit(level):
    loss = EpsilonInsensitive(0.1).box(np.full(5, level) * (1.0 + 1e-16), np.ones(5))
    _, units = in_units(loss)
    assert units.target == 1.0


def test_signs_are_centred_too():
    scaled, units = in_units(Hinge().box(np.array([1.0, 1.0, -1.0]), np.full(3, 5.0)))
    assert units.box == 5.0
    assert scaled.target.sum() == pytest.approx(0.0, abs=1e-12)
