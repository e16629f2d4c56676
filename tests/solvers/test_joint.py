"""Problem (P) under relations between tasks against a conic solver and against single tasks."""

import numpy as np
import pytest

from kernelhood.operators import DenseKernels, cells_of, one_task
from kernelhood.penalties import Linear, Quadratic
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from tests.operators.examples import kernels_of, products_of, written_out
from tests.references import conic_optimum
from tests.solvers.problems import LOSSES, gram, loss_of, points, solve_task

each_loss = pytest.mark.parametrize("kind", LOSSES)


def prices(matrices, specific_cost, n_shared, a, f):
    factor = np.where(np.arange(len(matrices)) < n_shared, 1.0, specific_cost)
    d = np.einsum("wii->w", matrices) * factor
    return (Quadratic(a * d, f * gram(matrices)) if f else Linear(a * d)), factor


def joint(relation, kind, *, intercept="task"):
    kernels, sign = kernels_of("all tasks", relation)
    loss = loss_of(kind, points(kernels.n_samples)[0], sign, 2.0)
    if intercept == "task":
        loss = loss._replace(group_starts=kernels.cells.starts)
    return kernels, loss, written_out(kernels)


@pytest.mark.parametrize("f", [0.0, 0.002])
@each_loss
@pytest.mark.parametrize("intercept", ["task", "common"])
@pytest.mark.parametrize("relation", ["shared and specific", "any matrix", "block of two tasks"])
def test_the_joint_problem_equals_a_conic_solver(relation, intercept, kind, f):
    kernels, loss, matrices = joint(relation, kind, intercept=intercept)
    if f and np.any(gram(matrices) < 0.0):
        pytest.skip("a negative product has no quadratic price")
    group = kernels.cells.cell if intercept == "task" else np.zeros(kernels.n_samples, dtype=int)
    penalty, factor = prices(matrices, 1.5, 3, 0.05, f)
    found = solve(Problem([Block(kernels, loss)], penalty), tol=1e-6)
    expected = conic_optimum(
        matrices,
        loss.target,
        C=2.0,
        a=0.05,
        f=f,
        epsilon=None if kind == "hinge" else loss.epsilon,
        group=group,
        cost_factor=factor,
    )
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(expected, rel=1e-4)
    assert found.intercepts.shape == (group.max() + 1,)
    sums = np.add.reduceat(found.v, loss.group_starts[:-1])
    np.testing.assert_allclose(sums, 0.0, atol=1e-9)


def part_of(loss, rows):
    size = rows.stop - rows.start
    return loss._replace(
        target=loss.target[rows],
        lower=loss.lower[rows],
        upper=loss.upper[rows],
        group_starts=np.array([0, size]),
    )


@each_loss
def test_without_shared_kernels_the_tasks_are_on_their_own(kind):
    kernels, loss, matrices = joint("specific", kind)
    penalty, _ = prices(matrices, 1.0, 0, 0.05, 0.001)
    together = solve(Problem([Block(kernels, loss)], penalty), tol=1e-8)
    values = kernels.apply(together.weights, products_of(kernels, together.v))
    apart = 0.0
    for t in range(3):
        rows = slice(*kernels.cells.starts[t : t + 2])
        Ks = np.ascontiguousarray(kernels.Ks[:, rows, rows])
        one = prices(Ks, 1.0, 0, 0.05, 0.001)[0]
        found = solve_task(Ks, part_of(loss, rows), one, tol=1e-8)
        apart += found.objective
        alone = np.tensordot(found.weights, Ks, axes=1) @ found.v
        np.testing.assert_allclose(values[rows], alone, atol=2e-3)
    assert together.objective == pytest.approx(apart, rel=1e-7)


@each_loss
@pytest.mark.parametrize("f", [0.0, 0.001])
@pytest.mark.parametrize("first", [0, 2])
def test_several_svms_with_weights_in_common_are_one_with_blocks(kind, f, first):
    """Pairs of classes: samples that no kernel joins, but the same weights."""
    X, sign = points(30)
    kernels, _, _ = joint("shared", kind)
    Ks = np.ascontiguousarray(kernels.Ks[:, :20, :20])
    point = np.concatenate([np.arange(first, first + 18), np.arange(8, 20)])
    loss = loss_of(kind, X, sign, 2.0)
    whole = Ks[:, point][:, :, point]
    whole[:, :18, 18:] = whole[:, 18:, :18] = 0.0
    penalty, _ = prices(whole, 1.0, 0, 0.05, f)
    grouped = loss._replace(group_starts=np.array([0, 18, 30]))
    together = solve_task(whole, grouped, penalty, tol=1e-7)
    blocks = []
    for rows in (slice(0, 18), slice(18, 30)):
        cells = cells_of(point[rows], np.array([rows.stop - rows.start]), np.zeros(1, dtype=int))
        blocks.append(Block(one_task(Ks, cells), part_of(loss, rows)))
    found = solve(Problem(blocks, penalty), tol=1e-7)
    assert found.gap <= 1e-7
    assert found.objective == pytest.approx(together.objective, rel=1e-6)
    assert found.intercepts.shape == (2,)
    q = 0.5 * np.einsum("i,mij,j->m", found.v, whole, found.v)
    np.testing.assert_allclose(found.q, q, rtol=1e-6)


@each_loss
@pytest.mark.parametrize("start", [0, 1])
def test_svms_of_different_tasks_with_weights_in_common(kind, start):
    """A pair of classes that only some tasks have; the others keep their own weights."""
    kernels, _, _ = joint("shared and specific", kind)
    Ks, matrices = kernels.Ks, kernels.matrices
    first = cells_of(np.arange(start, start + 15), np.array([9, 6]), np.array([0, 1]))
    second = cells_of(np.arange(5, 25), np.array([4, 6, 10]), np.array([0, 1, 2]))
    X, sign = points(35)
    whole, blocks = loss_of(kind, X, sign, 2.0), []
    full = np.zeros((12, 35, 35))
    for cells, rows in ((first, slice(0, 15)), (second, slice(15, 35))):
        operator = DenseKernels(cells, matrices, True, Ks=Ks)
        own = part_of(whole, rows)._replace(group_starts=cells.starts)
        blocks.append(Block(operator, own))
        full[:, rows, rows] = written_out(operator)
    penalty, _ = prices(full, 1.5, 3, 0.05, 0.0)
    found = solve(Problem(blocks, penalty), tol=1e-6)
    groups = np.concatenate([first.starts, 15 + second.starts[1:]])
    together = solve_task(full, whole._replace(group_starts=groups), penalty, tol=1e-6)
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(together.objective, rel=1e-5)


@each_loss
def test_threads_change_nothing(kind):
    kernels, loss, matrices = joint("specific", kind)
    penalty = Linear(np.full(3, 2.0))
    blocks = []
    for t in range(3):
        rows = slice(*kernels.cells.starts[t : t + 2])
        Ks = np.ascontiguousarray(kernels.Ks[:, rows, rows])
        blocks.append(Block(one_task(Ks), part_of(loss, rows)))
    one, two = (solve(Problem(blocks, penalty, n_jobs), tol=1e-6) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.v, two.v)
    assert len(matrices) == 9
