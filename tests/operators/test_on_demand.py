"""Kernels that are evaluated when needed against the same kernels held in memory."""

import numpy as np
import pytest

from kernelhood import Gaussian, KernelBank, Linear, Normalized
from kernelhood.kernels.bank import PointKernels
from kernelhood.losses import EpsilonInsensitive
from kernelhood.operators import DenseKernels, OnDemandKernels, on_demand, one_cell
from kernelhood.operators.base import combined_matrix
from kernelhood.penalties import Linear as Price
from kernelhood.solvers import loop as lower_bound
from kernelhood.solvers import svm
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import LowerBound, solve
from kernelhood.solvers.problem import Problem
from tests.operators.examples import KINDS, LAYOUTS, kernels_of, products_of, written_out
from tests.solvers.problems import LOSSES, loss_of, points


class Slices:
    """An evaluator that reads its values from matrices, and counts them."""

    def __init__(self, Ks):
        self.Ks, self.entries = Ks, 0

    def __len__(self):
        return len(self.Ks)

    @property
    def diagonals(self):
        return np.einsum("mii->mi", self.Ks)

    def stack(self, rows, columns):
        self.entries += len(rows) * len(columns)
        return self.Ks[:, rows][:, :, columns]

    def combinations(self, rows, columns, weights, out=None):
        weights = np.broadcast_to(weights, (*weights.shape[:2], len(rows)))
        found = np.einsum("smi,mij->sij", weights, self.stack(rows, columns))
        return found if out is None else np.add(out, found, out=out)

    def products(self, rows, columns, change, groups=None):
        Ks = self.stack(rows, columns)
        if groups is None:
            return change @ Ks
        own = groups == np.arange(groups[-1] + 1)[:, None]
        return np.einsum("gi,mij->gmj", own * change, Ks)


def lazy_of(held, **settings):
    return OnDemandKernels(
        held.cells, held.matrices, held.separate, evaluator=Slices(held.Ks), **settings
    )


def keep_rows(monkeypatch, kernels, n_rows):
    """Return the same kernels with room for a few rows only."""
    monkeypatch.setattr(on_demand, "_FEWEST_ROWS", n_rows)
    few = OnDemandKernels(
        kernels.cells,
        kernels.matrices,
        kernels.separate,
        evaluator=kernels.evaluator,
        megabytes=0.0,
        dtype=kernels.dtype,
    )
    assert len(few.row_buffer()) == n_rows
    return few


def some_weights(kernels, rng):
    weights = rng.uniform(size=kernels.n_weights)
    weights[rng.choice(kernels.n_weights, 2, replace=False)] = 0.0
    return weights


@pytest.mark.parametrize("repeated", [False, True], ids=["plain", "repeated"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_gives_what_matrices_in_memory_give(layout, kind, repeated):
    held, _ = kernels_of(layout, kind, repeated=repeated)
    lazy, rng = lazy_of(held), np.random.default_rng(2)
    weights = some_weights(held, rng)
    assert lazy.n_weights == held.n_weights
    mine = lazy.combined(weights, 0.2, lazy.row_buffer())
    theirs = held.combined(weights, 0.2, held.row_buffer())
    np.testing.assert_allclose(mine.diagonal, theirs.diagonal)
    some = np.array([0, 3, 11])
    lazy.fill(mine, some)
    assert np.flatnonzero(mine.slot >= 0).tolist() == some.tolist()
    expected = combined_matrix(theirs)
    np.testing.assert_allclose(mine.rows[mine.slot[some]], expected[some], atol=1e-12)
    where = np.array([0, 2, 3, 8, 11, 16])
    block = lazy.block(mine, where)
    np.testing.assert_allclose(block, expected[np.ix_(where, where)], atol=1e-12)
    lazy.fill(mine, np.flatnonzero(mine.slot < 0))
    np.testing.assert_allclose(mine.rows[mine.slot], expected, atol=1e-12)
    v = rng.normal(size=held.n_samples)
    v[::4] = 0.0
    np.testing.assert_allclose(products_of(lazy, v), products_of(held, v), atol=1e-12)
    for one, other in zip(lazy.traces, held.traces, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("repeated", [False, True], ids=["plain", "repeated"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("together", [1, 7, 16])
def test_cells_may_come_one_by_one_or_together(kind, together, repeated, monkeypatch):
    """Rows, blocks and products against the matrices of all weights, written out in full."""
    monkeypatch.setattr(on_demand, "_TOGETHER", together)
    monkeypatch.setattr(on_demand, "_AT_ONCE", 100 * together)
    held, _ = kernels_of("all tasks", kind, repeated=repeated)
    lazy, rng, matrices = lazy_of(held), np.random.default_rng(4), written_out(held)
    weights = some_weights(held, rng)
    K = np.tensordot(weights, matrices, axes=1)
    kernel = lazy.combined(weights, 0.0, lazy.row_buffer())
    some = np.array([1, 2, 9, 14, 15, 24])
    lazy.fill(kernel, some)
    np.testing.assert_allclose(kernel.rows[kernel.slot[some]], K[some], atol=1e-12)
    where = np.array([0, 2, 8, 9, 16, 20, 24])
    block = lazy.block(kernel, where)
    np.testing.assert_allclose(block, K[np.ix_(where, where)], atol=1e-12)
    v = rng.normal(size=held.n_samples)
    v[10:16] = 0.0
    products = products_of(lazy, v)
    np.testing.assert_allclose(lazy.apply(weights, products), K @ v, atol=1e-12)
    np.testing.assert_allclose(
        lazy.columns(products, where), (matrices @ v)[:, where].T, atol=1e-12
    )


def test_kernels_are_evaluated_once_for_all_matrices():
    held, _ = kernels_of("all tasks", "all kinds")
    lazy, n = lazy_of(held), held.n_samples
    v = np.where(np.arange(n) % 2, 1.0, 0.0)
    products_of(lazy, v)
    assert lazy.evaluator.entries == np.count_nonzero(v) * n
    lazy.evaluator.entries = 0
    kernel = lazy.combined(np.ones(lazy.n_weights), 0.0, lazy.row_buffer())
    lazy.fill(kernel, np.arange(n))
    assert n * n < lazy.evaluator.entries <= 2 * n * n


def test_no_change_evaluates_nothing():
    held, _ = kernels_of("all tasks", "all kinds")
    lazy = lazy_of(held)
    assert not products_of(lazy, np.zeros(held.n_samples)).any()
    assert lazy.evaluator.entries == 0


def test_the_points_of_a_bank_are_evaluated_like_its_matrices():
    held, _ = kernels_of("all tasks", "all kinds")
    X, _ = points(held.n_samples)
    bank = KernelBank([Normalized(Linear()), Gaussian(2.0)])
    places = held.cells, held.matrices, held.separate
    held = DenseKernels(*places, Ks=bank(X))
    lazy = OnDemandKernels(*places, evaluator=PointKernels(bank, X))
    weights = np.linspace(0.1, 1.0, held.n_weights)
    mine = lazy.combined(weights, 0.2, lazy.row_buffer())
    lazy.fill(mine, np.arange(held.n_samples))
    theirs = held.combined(weights, 0.2, held.row_buffer())
    np.testing.assert_allclose(mine.rows[mine.slot], combined_matrix(theirs), atol=1e-10)
    v = np.linspace(-1.0, 2.0, held.n_samples)
    np.testing.assert_allclose(products_of(lazy, v), products_of(held, v), atol=1e-10)


def test_the_oldest_rows_make_room(monkeypatch):
    held, _ = kernels_of("all tasks", "all kinds")
    lazy = keep_rows(monkeypatch, lazy_of(held), 4)
    weights = np.linspace(0.1, 1.0, held.n_weights)
    expected = combined_matrix(held.combined(weights, 0.2, held.row_buffer()))
    kernel = lazy.combined(weights, 0.2, lazy.row_buffer())
    for samples, kept in (
        ([5, 9, 20], [5, 9, 20]),
        ([1, 7], [1, 7, 9, 20]),
        ([2, 3, 4], [2, 3, 4, 7]),
        ([8, 10, 12, 14], [8, 10, 12, 14]),
    ):
        lazy.fill(kernel, np.array(samples))
        assert np.flatnonzero(kernel.slot >= 0).tolist() == kept
        np.testing.assert_allclose(kernel.rows[kernel.slot[kept]], expected[kept], atol=1e-12)
    where = np.array([0, 8, 12, 24])
    block = lazy.block(kernel, where)
    np.testing.assert_allclose(block, expected[np.ix_(where, where)], atol=1e-12)


def joint_problem(kind, relation="shared and specific"):
    kernels, sign = kernels_of("all tasks", relation)
    X, _ = points(kernels.n_samples)
    loss = loss_of(kind, X, sign, 2.0)._replace(group_starts=kernels.cells.starts)
    return kernels, loss, Price(np.ones(kernels.n_weights))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("relation", ["shared and specific", "all kinds"])
def test_it_reaches_the_same_optimum(kind, dtype, relation):
    kernels, loss, penalty = joint_problem(kind, relation)
    held = solve(Problem([Block(kernels, loss)], penalty), tol=1e-6)
    lazy = solve(Problem([Block(lazy_of(kernels, dtype=dtype), loss)], penalty), tol=1e-6)
    assert lazy.gap <= 1e-6
    assert lazy.objective == pytest.approx(held.objective, rel=1e-5)


@pytest.mark.parametrize("n_rows", [4, 8, 16])
@pytest.mark.parametrize("kind", LOSSES)
def test_few_rows_reach_the_same_optimum(kind, n_rows, monkeypatch):
    monkeypatch.setattr(svm, "_ROWS_AT_ONCE", n_rows // 4)
    kernels, loss, penalty = joint_problem(kind)
    held = solve(Problem([Block(kernels, loss)], penalty), tol=1e-6)
    few = keep_rows(monkeypatch, lazy_of(kernels), n_rows)
    found = solve(Problem([Block(few, loss)], penalty), tol=1e-6)
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(held.objective, rel=1e-5)


def test_more_samples_than_rows_that_are_kept(monkeypatch):
    """At least 1024 rows are kept; here more of them are needed."""
    turns, real = [], OnDemandKernels._fill
    monkeypatch.setattr(
        OnDemandKernels, "_fill", lambda *args: real(*args) or turns.append(int(args[1].turn[0]))
    )
    n = 1800
    X, _ = points(n)
    bank = KernelBank([Normalized(Linear()), Normalized(Gaussian(2.0)), Normalized(Gaussian(4.0))])
    loss = EpsilonInsensitive(0.3).box(X[:, 0] + np.sin(X[:, 1]), np.ones(n))
    penalty = Price(np.full(3, 0.05 * n))
    lazy = OnDemandKernels(one_cell(n), evaluator=PointKernels(bank, X), megabytes=1.0)
    assert lazy.row_buffer().shape == (1024, n)
    found = solve(Problem([Block(lazy, loss)], penalty))
    assert max(turns) > 1024
    held = solve(Problem([Block(DenseKernels(one_cell(n), Ks=bank(X)), loss)], penalty))
    assert max(found.gap, held.gap) <= 1e-3
    assert found.objective == pytest.approx(held.objective, rel=2e-3)


def test_the_room_for_rows_is_bounded():
    kernels, _, _ = joint_problem("hinge")
    n = kernels.n_samples
    assert lazy_of(kernels).row_buffer().shape == (n, n)
    many = OnDemandKernels(one_cell(5000), evaluator=Slices(np.ones((1, 1, 1))), megabytes=50.0)
    assert many.row_buffer().shape == (int(50 * 2**20 / (5000 * 8)), 5000)
    single = OnDemandKernels(
        one_cell(5000), evaluator=Slices(np.ones((1, 1, 1))), megabytes=50.0, dtype=np.float32
    )
    assert single.row_buffer().shape == (int(50 * 2**20 / (5000 * 4)), 5000)


def test_where_pair_steps_stall_the_interior_point_gets_all_rows(monkeypatch):
    kernels, loss, penalty = joint_problem("hinge")
    monkeypatch.setattr(svm, "_FEWEST_STEPS", 1)
    monkeypatch.setattr(svm, "_PAIR_STEPS_PER_SAMPLE", 1)
    called, real = [], svm.solve_interior_point
    monkeypatch.setattr(
        svm,
        "solve_interior_point",
        lambda *args, **settings: called.append(1) or real(*args, **settings),
    )
    found = solve(Problem([Block(lazy_of(kernels), loss)], penalty), tol=1e-6)
    assert called
    assert found.gap <= 1e-6


def test_rows_that_take_no_part_are_never_evaluated(monkeypatch):
    """Only the support vectors of a regression with a wide tube take part."""
    monkeypatch.setattr(svm, "_ROWS_AT_ONCE", 1)
    kernels, loss, _ = joint_problem("epsilon-insensitive")
    lazy = lazy_of(kernels)
    kernel = lazy.combined(np.full(lazy.n_weights, 0.1), 0.0, lazy.row_buffer())
    n = kernels.n_samples
    wide = loss._replace(epsilon=1.5)
    svm.solve_svm(kernel, wide, np.zeros(n), np.zeros(n), 1e-4, lazy.fill)
    assert 0 < np.count_nonzero(kernel.slot >= 0) < n // 2


@pytest.mark.parametrize("kind", LOSSES)
def test_parts_of_tasks_are_shrunk_as_with_matrices_in_memory(kind, monkeypatch):
    monkeypatch.setattr(lower_bound, "_WORTH_IT", 0.0)
    held, sign = kernels_of("all tasks", "shared and specific")
    X, _ = points(held.n_samples)
    loss = loss_of(kind, X, sign, 1.0)._replace(group_starts=held.cells.starts)
    v = loss.target * np.random.default_rng(0).uniform(size=held.n_samples)
    v[::3] = 0.0  # no support vectors
    v = loss.feasible(v)
    price = np.einsum("i,wij,j->w", v, written_out(held), v)
    price[-held.n_kernels :] *= 0.25  # the last task is above its own prices
    lazy, bounds = lazy_of(held), []
    for kernels in (held, lazy):
        problem = Problem([Block(kernels, loss)], Price(price))
        here, bound = problem.at(problem.start(), v), LowerBound(problem)
        lazy.evaluator.entries = 0
        bound.add(here, average=False)
        bounds.append(bound.value)
    assert bounds[0] > problem.penalty.lower_bound(here.dual)  # or there is nothing to compare
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-9)
    assert 0 < lazy.evaluator.entries <= 2 * np.count_nonzero(v) ** 2


def test_far_from_the_optimum_no_part_of_many_samples_is_shrunk(monkeypatch):
    monkeypatch.setattr(LowerBound, "_trimmed", lambda *_: pytest.fail("not worth it"))
    monkeypatch.setattr(Problem, "is_large", True)
    held, sign = kernels_of("all tasks", "shared and specific")
    X, _ = points(held.n_samples)
    loss = loss_of("hinge", X, sign, 1.0)._replace(group_starts=held.cells.starts)
    price = np.einsum("wii->w", written_out(held))
    problem = Problem([Block(held, loss)], Price(1e-3 * price))
    LowerBound(problem).add(problem.at(problem.start()), average=False)
