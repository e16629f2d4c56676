"""SVMs on a part of their samples at a time."""

import numpy as np
import pytest

from kernelhood import Gaussian, KernelBank, Linear, Normalized
from kernelhood.kernels.bank import PointKernels
from kernelhood.losses import best_gap
from kernelhood.operators import OnDemandKernels, cells_of
from kernelhood.solvers import svm
from kernelhood.solvers.svm import part_of, solve_by_parts
from tests.solvers.problems import LOSSES, feasible, loss_of, points

each_loss = pytest.mark.parametrize("kind", LOSSES)
BANK = KernelBank([Normalized(Linear()), Normalized(Gaussian(2.0))])


def example(kind, sizes=(50, 70, 60)):
    """Return kernels of three tasks that are evaluated when needed, weights and a loss."""
    n = sum(sizes)
    X, sign = points(n)
    cells = cells_of(np.arange(n), np.array(sizes), np.arange(len(sizes)))
    operator = OnDemandKernels(
        cells, np.ones((1, len(sizes), len(sizes))), True, evaluator=PointKernels(BANK, X)
    )
    loss = loss_of(kind, X, sign, 1.0)._replace(group_starts=cells.starts)
    return operator, np.linspace(0.1, 1.0, operator.n_weights), loss


def solved(operator, weights, loss, v=None, gap=1e-5, **settings):
    start, products = np.zeros(operator.n_samples), operator.no_products()
    if v is not None:
        start = v
        operator.add_products(v, products)
    room = operator.row_buffer()
    return solve_by_parts(operator, weights, 1e-6, loss, start, products, gap, room, **settings)


@each_loss
def test_parts_reach_the_gap_of_the_whole(kind):
    operator, weights, loss = example(kind)
    v, products, _ = solved(operator, weights, loss)
    assert feasible(v, loss)
    again = operator.no_products()
    operator.add_products(v, again)
    np.testing.assert_allclose(products, again, atol=1e-9)
    assert best_gap(v, operator.apply(weights, products) + 1e-6 * v, loss) <= 1e-5


@each_loss
def test_a_warm_start_needs_a_part_of_the_samples(kind, monkeypatch):
    operator, weights, loss = example(kind)
    v, _, _ = solved(operator, weights, loss)
    whole = []
    real = svm.solve_svm
    monkeypatch.setattr(svm, "solve_svm", lambda *args: whole.append(args[-1]) or real(*args))
    other, _, part = solved(operator, 1.01 * weights, loss, v)
    assert whole
    assert not any(whole)
    free = np.flatnonzero((other != 0.0) & (other > loss.lower) & (other < loss.upper))
    assert np.isin(free, part.samples).all()
    assert len(part.samples) < 0.9 * operator.n_samples


def test_a_solution_is_left_as_it_is():
    operator, weights, loss = example("hinge")
    v, _, _ = solved(operator, weights, loss)
    same, _, part = solved(operator, weights, loss, v, gap=1e-4)
    assert same is v
    assert part is None


@each_loss
def test_a_part_that_was_too_small_is_mended(kind, monkeypatch):
    operator, weights, loss = example(kind)
    real, first = svm._taking_part, []

    def too_few(*args):
        found = real(*args)
        return found[::3] if not first and not first.append(1) else found

    monkeypatch.setattr(svm, "_taking_part", too_few)
    v, products, _ = solved(operator, weights, loss)
    assert first
    assert best_gap(v, operator.apply(weights, products) + 1e-6 * v, loss) <= 1e-5


def test_without_progress_all_samples_take_part(monkeypatch):
    operator, weights, loss = example("hinge")
    monkeypatch.setattr(svm, "_taking_part", lambda *args: np.arange(4))
    v, products, part = solved(operator, weights, loss)
    assert len(part.samples) == operator.n_samples
    assert best_gap(v, operator.apply(weights, products) + 1e-6 * v, loss) <= 1e-5


def test_a_group_of_one_class_takes_no_part():
    operator, weights, loss = example("hinge")
    own = slice(*loss.group_starts[:2])
    upper, lower = loss.upper.copy(), loss.lower.copy()
    upper[own], lower[own] = 1.0, 0.0
    open_side = loss._replace(upper=upper, lower=lower)
    v, products, part = solved(operator, weights, open_side)
    assert not v[own].any()
    assert part.samples.min() >= loss.group_starts[1]
    assert best_gap(v, operator.apply(weights, products) + 1e-6 * v, open_side) <= 1e-5


def test_a_part_has_the_kernel_between_its_samples():
    operator, weights, loss = example("hinge")
    some = np.flatnonzero(np.arange(operator.n_samples) % 3 > 0)
    some = some[(some < 50) | (some >= 120)]
    room = operator.row_buffer()
    part = part_of(operator, weights, 0.1, loss, some, room)
    everything = operator.combined(weights, 0.1, np.empty_like(room))
    expected = operator.block(everything, some)
    np.testing.assert_allclose(part.operator.block(part.kernel, np.arange(len(some))), expected)
    part.operator.fill(part.kernel, np.arange(len(some)))
    np.testing.assert_allclose(part.kernel.rows[part.kernel.slot], expected)
    np.testing.assert_array_equal(part.loss.group_starts, [0, np.sum(some < 50), len(some)])
    np.testing.assert_array_equal(part.loss.target, loss.target[some])
