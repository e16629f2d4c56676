"""Solutions carried to another C."""

from __future__ import annotations

import numpy as np
import pytest

from kernelhood.losses import Hinge, dual_gain
from kernelhood.operators import one_task
from kernelhood.solvers.problem import carried_start, closest_start, cut_down, stretched, valued
from tests.primal import best_intercepts, total_loss
from tests.solvers.problems import (
    LOSSES,
    block_of,
    feasible,
    loss_of,
    points,
    simplex,
    solve_fixed,
    solve_task,
    stack,
)

each_loss = pytest.mark.parametrize("kind", LOSSES)


def problem(kind, *costs, n=40):
    X, sign = points(n)
    return stack(X), *(loss_of(kind, X, sign, C) for C in costs)


def equal_weights(Ks):
    return np.full(len(Ks), 1.0 / len(Ks))


@each_loss
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("ratio", [0.25, 1.0, 2.0, 16.0])
def test_the_dual_vector_is_feasible_in_the_other_box(kind, C, ratio):
    Ks, before, after = problem(kind, C, ratio * C)
    solution = solve_fixed(Ks, before, equal_weights(Ks))
    v, found = solution.v, carried_start(one_task(Ks), after, solution, before)
    assert feasible(found.v, after)
    at_bounds = ((v == before.upper) | (v == before.lower)) & (v != 0.0)
    assert at_bounds.any() == (C <= 1.0 or kind == "hinge")
    if ratio >= 1.0:
        np.testing.assert_allclose(found.v[at_bounds], ratio * v[at_bounds])
    else:
        assert np.all(np.abs(found.v) <= np.abs(v))


@each_loss
def test_what_fits_into_a_narrower_box_stays(kind):
    Ks, before, after = problem(kind, 1e6, 5e5)
    Ks = Ks + 0.1 * np.eye(Ks.shape[1])
    solution = solve_fixed(Ks, before, equal_weights(Ks))
    found = carried_start(one_task(Ks), after, solution, before)
    np.testing.assert_allclose(found.v, solution.v, rtol=1e-9)


@each_loss
def test_free_entries_stay_but_for_the_sum(kind):
    Ks, before = problem(kind, 5.0)
    v = solve_fixed(Ks, before, equal_weights(Ks)).v
    free = (v > before.lower) & (v < before.upper) & (v != 0.0)
    assert 0 < np.count_nonzero(free) < np.count_nonzero(v)
    found = stretched(v, before, 2.0)
    kept = free & (v * v[free].sum() < 0.0)
    assert kept.any()
    np.testing.assert_array_equal(found[kept], v[kept])
    assert np.all(np.abs(found[free]) <= 2.0 * np.abs(v[free]))


@each_loss
def test_a_start_has_its_true_values(kind):
    Ks, before, after = problem(kind, 1.0, 2.0)
    found = carried_start(one_task(Ks), after, solve_fixed(Ks, before, equal_weights(Ks)), before)
    true = valued([block_of(Ks, after)], equal_weights(Ks), found.v)
    assert found.svm_value == true.svm_value
    np.testing.assert_array_equal(found.q, true.q)


def test_kernels_beyond_the_weights_get_none():
    Ks, before, after = problem("hinge", 1.0, 2.0)
    solution = solve_fixed(Ks[:3], before, np.ones(3))
    found = carried_start(one_task(Ks), after, solution, before)
    np.testing.assert_array_equal(found.weights[3:], 0.0)
    assert np.all(found.q[3:] > 0.0)


def test_another_shape_of_the_box_gives_no_start():
    Ks, before = problem("hinge", 1.0)
    sign = np.sign(before.target)
    other = Hinge().box(sign, np.where(sign > 0.0, 3.0, 1.0))
    solution = solve_fixed(Ks, before, equal_weights(Ks))
    assert carried_start(one_task(Ks), other, solution, before) is None


@each_loss
def test_where_no_entry_is_at_a_bound_nothing_has_to_be_solved(kind):
    Ks, before, after = problem(kind, 1e6, 2e6)
    Ks = Ks + 0.1 * np.eye(Ks.shape[1])
    solution = solve_task(Ks, before, simplex(len(Ks)), tol=1e-6)
    found = carried_start(one_task(Ks), after, solution, before)
    np.testing.assert_allclose(found.v, solution.v, rtol=1e-14)
    assert solve_task(Ks, after, simplex(len(Ks)), start=found).n_iter == 0


@each_loss
def test_a_carried_start_reaches_the_optimum_with_fewer_svms(kind):
    Ks, before, after = problem(kind, 4.0, 8.0)
    price = simplex(len(Ks))
    start = carried_start(one_task(Ks), after, solve_task(Ks, before, price, tol=1e-6), before)
    cold, warm = (solve_task(Ks, after, price, start=one, tol=1e-6) for one in (None, start))
    assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    assert warm.n_iter < cold.n_iter


def test_the_closest_start_has_the_smallest_gap_and_keeps_the_budget():
    Ks, loss = problem("hinge", 4.0)
    price = simplex(len(Ks))
    best = solve_task(Ks, loss, price)
    worse = solve_fixed(Ks, loss, equal_weights(Ks))
    outside = solve_fixed(Ks, loss, 2.0 * best.weights)
    assert closest_start([worse, outside, best], price) is best
    assert closest_start([outside, worse], price) is worse
    assert closest_start([outside], price) is None


@each_loss
def test_any_weights_and_vector_have_their_true_values(kind):
    Ks, loss = problem(kind, 2.0)
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=len(Ks))
    v = 0.3 * solve_fixed(Ks, loss, equal_weights(Ks)).v
    found = valued([block_of(Ks, loss)], weights, v)
    Kv = np.tensordot(weights, Ks, axes=1) @ v
    true = 0.5 * v @ Kv + total_loss(Kv, best_intercepts(Kv, loss), loss)
    assert found.svm_value == pytest.approx(true)
    assert found.objective == pytest.approx(true)
    assert found.gain == pytest.approx(dual_gain(v, loss))
    np.testing.assert_allclose(found.q, 0.5 * np.einsum("i,mij,j->m", v, Ks, v))
    np.testing.assert_array_equal(found.weights, weights)
    np.testing.assert_allclose(found.v, v)
    nothing = valued([block_of(Ks, loss)], weights)
    assert not nothing.v.any()
    assert not nothing.q.any()
    assert nothing.gain == 0.0


@each_loss
def test_what_is_cut_down_is_feasible_in_every_group(kind):
    Ks, loss = problem(kind, 2.0)
    loss = loss._replace(group_starts=np.array([0, 15, 40]))
    block = block_of(Ks, loss)
    wild = np.random.default_rng(0).normal(scale=3.0, size=80)
    found = cut_down(wild, [block, block])
    for part, own in zip(np.split(found, 2), np.split(wild, 2), strict=True):
        assert (part >= loss.lower - 1e-12).all()
        assert (part <= loss.upper + 1e-12).all()
        np.testing.assert_allclose(np.add.reduceat(part, [0, 15]), 0.0, atol=1e-12)
        assert (np.abs(part) <= np.abs(own) + 1e-12).all()
        assert part.any()
