"""SVMs over sets of weights: the steps of each set, and the loop around them."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from kernelhood.solvers.lp_ball import LpBall, p_norm
from kernelhood.solvers.shared_simplices import SharedSimplices
from kernelhood.solvers.task_svm import TaskSvm
from kernelhood.solvers.warm_start import carried_start
from kernelhood.solvers.weight_set import solve_over_set
from tests.solvers.problems import LOSSES, dual_terms, points, stack

each_loss = pytest.mark.parametrize("loss", LOSSES)


def problem(loss, C, sizes=(30, 45)):
    data = [points(n, seed=seed) for seed, n in enumerate(sizes)]
    Ks = [stack(X) for X, _ in data]
    return Ks, [dual_terms(loss, X, sign, C) for X, sign in data]


@each_loss
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("p", [1.05, 4.0 / 3.0, 2.0, 10.0])
def test_lp_ball_needs_few_svms(loss, C, p):
    Ks, terms = problem(loss, C, sizes=(40,))
    x, (found,) = solve_over_set(Ks, terms, LpBall(len(Ks[0]), p), tol=1e-6)
    assert -1e-12 <= found.gap <= 1e-6
    assert found.n_iter <= 20
    assert p_norm(found.weights, p) == pytest.approx(1.0)
    np.testing.assert_array_equal(x[0], found.weights)


@each_loss
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("budget", [0.0, 0.4, 1.0])
def test_shared_simplices_need_few_rounds(loss, C, budget):
    Ks, terms = problem(loss, C)
    x, found = solve_over_set(Ks, terms, SharedSimplices(2, len(Ks[0]), budget), tol=1e-6)
    assert all(-1e-12 <= one.gap <= 1e-6 for one in found)
    assert found[0].n_iter <= 20
    np.testing.assert_allclose(x.sum(axis=1), [budget, 1.0 - budget, 1.0 - budget])
    assert sum(one.objective for one in found) == pytest.approx(found[0].trace[-1, 0])


@each_loss
def test_the_objective_never_rises(loss):
    Ks, terms = problem(loss, 10.0)
    for weight_set in (SharedSimplices(2, len(Ks[0]), 0.5),):
        trace = solve_over_set(Ks, terms, weight_set, tol=1e-8)[1][0].trace
        assert np.all(np.diff(trace[:, 0]) <= 0.0)
    trace = solve_over_set(Ks[:1], terms[:1], LpBall(len(Ks[0]), 1.5), tol=1e-8)[1][0].trace
    assert np.all(np.diff(trace[:, 0]) <= 0.0)


@each_loss
@pytest.mark.parametrize("budget", [0.0, 0.4, 1.0])
def test_a_solution_is_its_own_start(loss, budget):
    Ks, terms = problem(loss, 10.0)
    weight_set = SharedSimplices(2, len(Ks[0]), budget)
    _, found = solve_over_set(Ks, terms, weight_set, tol=1e-6)
    x, again = solve_over_set(Ks, terms, weight_set, starts=found, tol=2e-6)
    assert len(again[0].trace) == 1
    np.testing.assert_allclose(again[1].v, found[1].v)
    np.testing.assert_allclose(weight_set.weights(x), [one.weights for one in found], atol=1e-12)
    np.testing.assert_allclose(x.sum(axis=1), [budget, 1.0 - budget, 1.0 - budget])


@each_loss
@pytest.mark.parametrize(
    "weight_set", [SharedSimplices(1, 10, 0.3), LpBall(10, 1.5), LpBall(10, 4.0)]
)
def test_starts_from_another_box_reach_the_same_optimum(loss, weight_set):
    (Ks, before), (_, after) = (problem(loss, C, sizes=(40,)) for C in (4.0, 8.0))
    _, first = solve_over_set(Ks, before, weight_set, tol=1e-6)
    carried = [carried_start(Ks[0], after[0], first[0], before[0])]
    _, cold = solve_over_set(Ks, after, weight_set, tol=1e-6)
    _, warm = solve_over_set(Ks, after, weight_set, starts=carried, tol=1e-6)
    assert warm[0].gap <= 1e-6
    assert warm[0].objective == pytest.approx(cold[0].objective, rel=2e-6)
    assert warm[0].trace[0, 1] < 0.5 * cold[0].trace[0, 1]


def test_weights_outside_a_set_become_some_inside():
    weights = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    x = SharedSimplices(2, 3, 0.4).coordinates(weights)
    assert x.min() >= 0.0
    np.testing.assert_allclose(x.sum(axis=1), [0.4, 0.6, 0.6])
    on_sphere = LpBall(3, 2.0).coordinates(weights[:1])
    assert on_sphere.min() > 0.0
    assert p_norm(on_sphere[0], 2.0) == pytest.approx(1.0)


def test_max_iter_ends_the_loop():
    Ks, terms = problem("hinge", 100.0)
    found = solve_over_set(Ks, terms, SharedSimplices(2, len(Ks[0]), 0.5), tol=1e-9, max_iter=2)[1]
    assert found[0].n_iter == 2
    assert found[0].gap > 1e-9


def test_gradient_and_hessian_are_derivatives_of_the_value():
    Ks, terms = problem("hinge", 3.0, sizes=(40,))
    svm, theta = TaskSvm.of(Ks[0], terms[0]), np.full(10, 0.1)

    def solved(weights):
        return svm.solve(weights, svm.at(weights), 1e-13)

    here, direction, h = solved(theta), np.linspace(1.0, 2.0, 10), 1e-6
    ahead, behind = solved(theta + h * direction), solved(theta - h * direction)
    slope = (ahead.value - behind.value) / (2.0 * h)
    assert slope == pytest.approx(-here.curvatures @ direction, rel=1e-5)
    bend = -(ahead.curvatures - behind.curvatures) / (2.0 * h)
    np.testing.assert_allclose(svm.hessian(here) @ direction, bend, rtol=1e-3)


@pytest.mark.parametrize("p", [1.3, 3.0])
def test_the_step_on_the_ball_solves_its_equations_where_curvatures_are_constant(p):
    ball, q = LpBall(4, p), np.array([[1.0, 2.0, 0.5, 1e-3]])
    x = ball.start()
    for _ in range(30):
        x = ball.step(x, q, np.zeros((1, 4, 4)), 0.0)
    expected = q ** (1.0 / (p - 1.0))
    np.testing.assert_allclose(x, expected / p_norm(expected, p), rtol=1e-8)
    assert float(np.vdot(q, x)) == pytest.approx(ball.support(q))


@pytest.mark.parametrize("budget", [0.0, 0.3, 1.0])
def test_the_step_on_simplices_minimises_the_model(budget):
    rng = np.random.default_rng(1)
    weight_set, q = SharedSimplices(3, 5, budget), rng.uniform(0.5, 2.0, (3, 5))
    roots = rng.normal(size=(3, 2, 5))
    x = weight_set.start()
    found = weight_set.step(x, q, np.einsum("trm,trk->tmk", roots, roots), 0.0)
    y = cp.Variable((4, 5), nonneg=True)
    moves = [y[0] + y[t + 1] - x[0] - x[t + 1] for t in range(3)]
    cost = sum(0.5 * cp.sum_squares(roots[t] @ move) - q[t] @ move for t, move in enumerate(moves))
    budgets = np.array([budget, *[1.0 - budget] * 3])
    model = cp.Problem(cp.Minimize(cost), [cp.sum(y, axis=1) == budgets])
    model.solve(solver=cp.CLARABEL)
    y.value = found
    assert float(cost.value) == pytest.approx(model.value, rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(found.sum(axis=1), budgets, atol=1e-12)
    assert found.min() >= 0.0


def test_supports_are_attained_and_never_exceeded():
    rng = np.random.default_rng(2)
    q = rng.uniform(size=(3, 4))
    weight_set = SharedSimplices(3, 4, 0.4)
    x = rng.dirichlet(np.ones(4), size=(200, 4)) * np.array([0.4, 0.6, 0.6, 0.6])[:, None]
    totals = [float(np.vdot(q, weight_set.weights(one))) for one in x]
    assert max(totals) <= weight_set.support(q)
    best = np.zeros((4, 4))
    best[0, q.sum(axis=0).argmax()] = 0.4
    best[np.arange(1, 4), q.argmax(axis=1)] = 0.6
    assert float(np.vdot(q, weight_set.weights(best))) == pytest.approx(weight_set.support(q))
