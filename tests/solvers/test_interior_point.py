import numpy as np
import pytest

from kernelhood.losses import Hinge
from kernelhood.losses.box import best_intercepts, dual_gain, svm_gap
from kernelhood.solvers.interior_point import solve_interior_point
from tests.solvers.problems import LOSSES, feasible, loss_of, points, stack


def gap_of(K, loss, v):
    return svm_gap(v, K @ v, best_intercepts(K @ v, loss), loss)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("kernel", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4, 1e6])
def test_the_gap_is_reached_however_ill_conditioned(kind, kernel, scale):
    X, sign = points(60)
    K, loss = scale * stack(X)[kernel], loss_of(kind, X, sign, 1.0)
    tol = 1e-5 * len(X)
    v = solve_interior_point(K, loss, tol)
    assert feasible(v, loss)
    assert gap_of(K, loss, v) <= tol


def test_entries_at_a_bound_are_exactly_there():
    X, sign = points(60)
    loss = Hinge().box(sign, np.full(60, 3.0))
    v = solve_interior_point(stack(X).mean(axis=0), loss, 1e-6)
    bound = loss.lower + loss.upper
    assert np.sum(v == 0.0) > 5
    assert np.sum(v == bound) > 5


def test_it_stops_at_rounding_level_when_asked_for_too_much():
    X, sign = points(40)
    K, loss = 1e4 * stack(X)[0], loss_of("epsilon-insensitive", X, sign, 1.0)
    v = solve_interior_point(K, loss, 1e-18)
    assert feasible(v, loss)
    assert gap_of(K, loss, v) <= 1e-4 * dual_gain(v, loss)


def test_a_matrix_that_is_not_positive_leaves_a_feasible_point():
    loss = Hinge().box(np.array([1.0, -1.0, 1.0]), np.ones(3))
    v = solve_interior_point(-1e3 * np.eye(3), loss, 1e-6)
    assert np.all(v >= loss.lower)
    assert np.all(v <= loss.upper)
