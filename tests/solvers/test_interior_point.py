import numpy as np
import pytest

from kernelhood.losses import hinge
from kernelhood.solvers.interior_point import solve_interior_point
from kernelhood.solvers.svm_value import best_intercepts, linear_term, svm_gap
from tests.solvers.problems import LOSSES, dual_terms, feasible, points, stack


def gap_of(K, terms, v):
    return svm_gap(v, K @ v, best_intercepts(K @ v, terms), terms)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4, 1e6])
def test_the_gap_is_reached_however_ill_conditioned(loss, kernel, scale):
    X, sign = points(60)
    K, terms = scale * stack(X)[kernel], dual_terms(loss, X, sign, 1.0)
    tol = 1e-5 * len(X)
    v = solve_interior_point(K, terms, tol)
    assert feasible(v, terms)
    assert gap_of(K, terms, v) <= tol


def test_entries_at_a_bound_are_exactly_there():
    X, sign = points(60)
    terms = hinge(sign, np.full(60, 3.0))
    v = solve_interior_point(stack(X).mean(axis=0), terms, 1e-6)
    bound = terms.lower + terms.upper
    assert np.sum(v == 0.0) > 5
    assert np.sum(v == bound) > 5


def test_it_stops_at_rounding_level_when_asked_for_too_much():
    X, sign = points(40)
    K, terms = 1e4 * stack(X)[0], dual_terms("epsilon-insensitive", X, sign, 1.0)
    v = solve_interior_point(K, terms, 1e-18)
    assert feasible(v, terms)
    assert gap_of(K, terms, v) <= 1e-4 * linear_term(v, terms)


def test_a_matrix_that_is_not_positive_leaves_a_feasible_point():
    terms = hinge(np.array([1.0, -1.0, 1.0]), np.ones(3))
    v = solve_interior_point(-1e3 * np.eye(3), terms, 1e-6)
    assert np.all(v >= terms.lower)
    assert np.all(v <= terms.upper)
