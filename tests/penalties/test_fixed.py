import numpy as np
import pytest

from kernelhood.penalties import DualPoint, Fixed


def test_there_is_nowhere_to_go():
    weights = np.array([0.0, 2.0, 1e-9])
    penalty = Fixed(weights)
    assert penalty.start() is weights
    assert penalty.nearest(np.ones(3)) is weights
    assert penalty.step(weights, np.ones(3), np.eye(3), 0.0, 10.0, 1.0).weights is weights
    assert penalty.contains(weights * (1.0 + 1e-12))
    assert not penalty.contains(np.array([1e-12, 2.0, 1e-9]))


def test_the_bound_is_the_dual_value_of_the_svm():
    penalty = Fixed(np.array([0.0, 2.0]))
    assert penalty.lower_bound(DualPoint(10.0, np.array([5.0, 3.0]))) == pytest.approx(4.0)
