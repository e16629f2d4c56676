"""Solutions carried to another C."""

from __future__ import annotations

import numpy as np
import pytest

from kernelhood.losses import hinge
from kernelhood.solvers.fixed import solve_fixed, start_at
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.warm_start import carried_start, closest_start, stretched
from tests.solvers.problems import LOSSES, dual_terms, feasible, points, simplex, stack

each_loss = pytest.mark.parametrize("loss", LOSSES)


def problem(loss, *penalties, n=40):
    X, sign = points(n)
    return stack(X), *(dual_terms(loss, X, sign, C) for C in penalties)


def equal_weights(Ks):
    return np.full(len(Ks), 1.0 / len(Ks))


@each_loss
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("ratio", [0.25, 1.0, 2.0, 16.0])
def test_the_dual_vector_is_feasible_in_the_other_box(loss, C, ratio):
    Ks, before, after = problem(loss, C, ratio * C)
    solution = solve_fixed(Ks, before, equal_weights(Ks))
    v, found = solution.v, carried_start(Ks, after, solution, before)
    assert feasible(found.v, after)
    at_bounds = ((v == before.upper) | (v == before.lower)) & (v != 0.0)
    assert at_bounds.any() == (C <= 1.0 or loss == "hinge")
    if ratio >= 1.0:
        np.testing.assert_allclose(found.v[at_bounds], ratio * v[at_bounds])
    else:
        assert np.all(np.abs(found.v) <= np.abs(v))


@each_loss
def test_what_fits_into_a_narrower_box_stays(loss):
    Ks, before, after = problem(loss, 1e6, 5e5)
    Ks = Ks + 0.1 * np.eye(Ks.shape[1])
    solution = solve_fixed(Ks, before, equal_weights(Ks))
    found = carried_start(Ks, after, solution, before)
    np.testing.assert_allclose(found.v, solution.v, rtol=1e-9)


@each_loss
def test_free_entries_stay_but_for_the_sum(loss):
    Ks, before = problem(loss, 5.0)
    v = solve_fixed(Ks, before, equal_weights(Ks)).v
    free = (v > before.lower) & (v < before.upper) & (v != 0.0)
    assert 0 < np.count_nonzero(free) < np.count_nonzero(v)
    found = stretched(v, before, 2.0)
    kept = free & (v * v[free].sum() < 0.0)
    assert kept.any()
    np.testing.assert_array_equal(found[kept], v[kept])
    assert np.all(np.abs(found[free]) <= 2.0 * np.abs(v[free]))


@each_loss
def test_a_start_has_its_true_values(loss):
    Ks, before, after = problem(loss, 1.0, 2.0)
    found = carried_start(Ks, after, solve_fixed(Ks, before, equal_weights(Ks)), before)
    true = start_at(Ks, after, equal_weights(Ks), found.v)
    assert found.svm_value == true.svm_value
    np.testing.assert_array_equal(found.curvatures, true.curvatures)


def test_kernels_beyond_the_weights_get_none():
    Ks, before, after = problem("hinge", 1.0, 2.0)
    solution = solve_fixed(Ks[:3], before, np.ones(3))
    found = carried_start(Ks, after, solution, before)
    np.testing.assert_array_equal(found.weights[3:], 0.0)
    assert np.all(found.curvatures[3:] > 0.0)


def test_another_shape_of_the_box_gives_no_start():
    Ks, before = problem("hinge", 1.0)
    sign = np.sign(before.target)
    other = hinge(sign, np.where(sign > 0.0, 3.0, 1.0))
    solution = solve_fixed(Ks, before, equal_weights(Ks))
    assert carried_start(Ks, other, solution, before) is None


@each_loss
def test_where_no_entry_is_at_a_bound_nothing_has_to_be_solved(loss):
    Ks, before, after = problem(loss, 1e6, 2e6)
    Ks = Ks + 0.1 * np.eye(Ks.shape[1])
    solution = solve_mkl(Ks, before, simplex(len(Ks)), tol=1e-6)
    found = carried_start(Ks, after, solution, before)
    np.testing.assert_allclose(found.v, solution.v, rtol=1e-14)
    assert solve_mkl(Ks, after, simplex(len(Ks)), start=found).n_iter == 0


@each_loss
def test_a_carried_start_reaches_the_optimum_with_fewer_svms(loss):
    Ks, before, after = problem(loss, 4.0, 8.0)
    price = simplex(len(Ks))
    start = carried_start(Ks, after, solve_mkl(Ks, before, price, tol=1e-6), before)
    cold, warm = (solve_mkl(Ks, after, price, start=one, tol=1e-6) for one in (None, start))
    assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    assert warm.n_iter < cold.n_iter


def test_the_closest_start_has_the_smallest_gap_and_keeps_the_budget():
    Ks, terms = problem("hinge", 4.0)
    price = simplex(len(Ks))
    best = solve_mkl(Ks, terms, price)
    worse = solve_fixed(Ks, terms, equal_weights(Ks))
    outside = solve_fixed(Ks, terms, 2.0 * best.weights)
    assert closest_start([worse, outside, best], price) is best
    assert closest_start([outside, worse], price) is worse
    assert closest_start([outside], price) is None
