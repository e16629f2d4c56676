"""SVMs over a ball and over simplices with a shared part, by the same loop as everything else."""

from __future__ import annotations

import numpy as np
import pytest

from kernelhood.operators import one_task
from kernelhood.penalties import LpBall, SharedSimplices
from kernelhood.penalties.simplex import p_norm
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, carried_start, start_at, stretched
from tests.solvers.problems import LOSSES, loss_of, points, simplex, solve_task, stack

each_loss = pytest.mark.parametrize("kind", LOSSES)
N = 10


def tasks(kind, C, sizes=(30, 45)):
    data = [points(n, seed=seed) for seed, n in enumerate(sizes)]
    Ks = [stack(X) for X, _ in data]
    return Ks, [loss_of(kind, X, sign, C) for X, sign in data]


def ball_of(p):
    return LpBall(p, np.ones(N))


def shared(Ks, losses, budget):
    """Return the problem in which mu and lambda_t are the parts of every task's weights."""
    first = np.arange(N)
    blocks = [
        Block(one_task(own), loss, (first, first + (1 + t) * N))
        for t, (own, loss) in enumerate(zip(Ks, losses, strict=True))
    ]
    return Problem(blocks, SharedSimplices(len(Ks), budget, np.ones(N)))


@each_loss
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("p", [1.05, 4.0 / 3.0, 2.0, 10.0])
def test_a_ball_needs_few_svms(kind, C, p):
    (Ks,), (loss,) = tasks(kind, C, sizes=(40,))
    found = solve_task(Ks, loss, ball_of(p), tol=1e-6)
    assert 0.0 <= found.gap <= 1e-6
    assert found.n_iter <= 20
    assert p_norm(found.weights, p) == pytest.approx(1.0)


@each_loss
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("budget", [0.0, 0.4, 1.0])
def test_shared_simplices_need_few_rounds(kind, C, budget):
    found = solve(shared(*tasks(kind, C), budget), tol=1e-6)
    assert 0.0 <= found.gap <= 1e-6
    assert found.n_iter <= 20
    x = found.weights.reshape(3, N)
    np.testing.assert_allclose(x.sum(axis=1), [budget, 1.0 - budget, 1.0 - budget])
    assert found.objective == found.trace[-1, 0]
    assert found.objective == pytest.approx(found.svm_value)


@each_loss
def test_without_a_shared_part_every_task_has_a_simplex(kind):
    Ks, losses = tasks(kind, 10.0)
    together = solve(shared(Ks, losses, 0.0), tol=1e-7)
    apart = [solve_task(*one, simplex(N), tol=1e-7) for one in zip(Ks, losses, strict=True)]
    expected = sum(one.objective for one in apart)
    assert together.objective == pytest.approx(expected, rel=2e-7)


@each_loss
def test_with_all_shared_the_tasks_have_one_simplex(kind):
    Ks, losses = tasks(kind, 10.0)
    together = solve(shared(Ks, losses, 1.0), tol=1e-7)
    blocks = [Block(one_task(own), loss) for own, loss in zip(Ks, losses, strict=True)]
    expected = solve(Problem(blocks, simplex(N)), tol=1e-7)
    assert together.objective == pytest.approx(expected.objective, rel=2e-7)


@each_loss
def test_the_objective_never_rises(kind):
    Ks, losses = tasks(kind, 10.0)
    trace = solve(shared(Ks, losses, 0.5), tol=1e-8).trace
    assert np.all(np.diff(trace[:, 0]) <= 0.0)
    trace = solve_task(Ks[0], losses[0], ball_of(1.5), tol=1e-8).trace
    assert np.all(np.diff(trace[:, 0]) <= 0.0)


@each_loss
@pytest.mark.parametrize("budget", [0.0, 0.4, 1.0])
def test_a_solution_is_its_own_start(kind, budget):
    problem = shared(*tasks(kind, 10.0), budget)
    found = solve(problem, tol=1e-6)
    again = solve(problem, start=found, tol=2e-6)
    assert len(again.trace) == 1
    np.testing.assert_allclose(again.v, found.v)
    np.testing.assert_allclose(again.weights, found.weights, atol=1e-12)
    x = again.weights.reshape(3, N)
    np.testing.assert_allclose(x.sum(axis=1), [budget, 1.0 - budget, 1.0 - budget])


@each_loss
@pytest.mark.parametrize("p", [1.5, 4.0])
def test_starts_on_the_ball_from_another_box_reach_the_same_optimum(kind, p):
    ((Ks,), (before,)), (_, (after,)) = (tasks(kind, C, sizes=(40,)) for C in (4.0, 8.0))
    first = solve_task(Ks, before, ball_of(p), tol=1e-6)
    carried = carried_start(one_task(Ks), after, first, before)
    cold = solve_task(Ks, after, ball_of(p), tol=1e-6)
    warm = solve_task(Ks, after, ball_of(p), start=carried, tol=1e-6)
    assert warm.gap <= 1e-6
    assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    assert warm.trace[0, 1] < 0.5 * cold.trace[0, 1]


@each_loss
def test_starts_on_simplices_from_another_box_reach_the_same_optimum(kind):
    (Ks, before), (_, after) = (tasks(kind, C) for C in (4.0, 8.0))
    first, problem = solve(shared(Ks, before, 0.3), tol=1e-6), shared(Ks, after, 0.3)
    parts = zip(problem.by_block(first.v), before, strict=True)
    v = np.concatenate([stretched(own, loss, 2.0) for own, loss in parts])
    carried = start_at(problem, first.weights, v)
    cold, warm = (solve(problem, start=start, tol=1e-6) for start in (None, carried))
    assert warm.gap <= 1e-6
    assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    assert warm.trace[0, 1] < 0.5 * cold.trace[0, 1]


def test_max_iter_ends_the_loop():
    found = solve(shared(*tasks("hinge", 100.0), 0.5), tol=1e-9, max_iter=2)
    assert found.n_iter == 2
    assert found.gap > 1e-9
