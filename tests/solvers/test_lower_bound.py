import itertools

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.penalties import Concave, DualPoint, Linear, Simplex
from kernelhood.solvers import loop as lower_bound
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import LowerBound, solve
from kernelhood.solvers.problem import Problem
from tests.operators.examples import kernels_of, written_out
from tests.solvers.problems import (
    LOSSES,
    block_of,
    loss_of,
    points,
    simplex,
    solve_task,
    stack,
    trace_price,
)

PENALTIES = {
    "trace": lambda Ks: trace_price(Ks, 0.05),
    "trace and squares": lambda Ks: trace_price(Ks, 0.02, 1e-4),
    "simplex": lambda Ks: simplex(len(Ks)),
}


def gain(loss, v):
    return loss.target @ v - loss.epsilon * np.abs(v).sum()


def vector(loss, rng):
    """Return any vector in the box that sums to zero over every group."""
    v = np.empty(len(loss.target))
    for rows in map(slice, loss.group_starts[:-1], loss.group_starts[1:]):
        lower, upper = loss.lower[rows], loss.upper[rows]
        sides = [rng.uniform(size=len(lower)) * side for side in (upper, lower)]
        own = sides[0] / sides[0].sum() - sides[1] / sides[1].sum()
        v[rows] = own * rng.uniform() * np.min(np.where(own > 0.0, upper, lower) / own)
    return v


def state(problem, v):
    return problem.at(problem.penalty.start(), v)


@pytest.fixture(params=LOSSES)
def example(request):
    X, sign = points(40)
    Ks = np.ascontiguousarray(stack(X)[[0, 2, 4]])
    loss, rng = loss_of(request.param, X, sign, 1.0), np.random.default_rng(0)
    return Ks, loss, [vector(loss, rng) for _ in range(6)]


@pytest.mark.parametrize("price", PENALTIES)
def test_the_best_average_of_two_is_found(price, example):
    Ks, loss, vectors = example
    penalty, helped = PENALTIES[price](Ks), []
    problem = Problem([block_of(Ks, loss)], penalty)
    for one, other in itertools.combinations(vectors, 2):
        bound = LowerBound(problem)
        for new in (one, other):
            bound.add(state(problem, new), average=True)
        values = []
        for share in np.linspace(0.0, 1.0, 201):
            v = (1.0 - share) * one + share * other
            q = 0.5 * np.einsum("mij,i,j->m", Ks, v, v)
            values.append(penalty.lower_bound(DualPoint(gain(loss, v), q)))
        assert bound.value >= max(values) - 1e-6 * abs(max(values))
        assert bound.value == pytest.approx(max(values), rel=0.01)
        helped.append(max(values) > max(values[0], values[-1]))
    assert any(helped)  # or averages would not matter


@pytest.mark.parametrize("price", PENALTIES)
def test_averages_stay_below_the_optimum_and_never_fall(price, example):
    Ks, loss, vectors = example
    penalty = PENALTIES[price](Ks)
    problem = Problem([block_of(Ks, loss)], penalty)
    best = solve_task(Ks, loss, penalty, tol=1e-8).objective
    bound, before = LowerBound(problem), -np.inf
    for new in vectors * 3:
        bound.add(state(problem, new), average=True)
        assert before <= bound.value <= best * (1.0 + 1e-9)
        before = bound.value


def test_vectors_alone_count_too_and_are_not_averaged(example):
    Ks, loss, (one, other, *_) = example
    problem = Problem([block_of(Ks, loss)], trace_price(Ks, 0.05))
    bound = LowerBound(problem)
    for new in (one, other):
        bound.add(state(problem, new), average=False)
    alone = [problem.penalty.lower_bound(state(problem, new).dual) for new in (one, other)]
    assert bound.value == max(alone)


def test_a_concave_penalty_has_no_bound(example):
    Ks, loss, (one, *_) = example
    problem = Problem([block_of(Ks, loss)], Concave(np.ones(3), 1.0, np.eye(3), 1.0))
    bound = LowerBound(problem)
    bound.add(state(problem, one), average=True)
    assert bound.value == -np.inf


def tasks(kind, relation="shared and specific"):
    kernels, sign = kernels_of("all tasks", relation)
    X, _ = points(kernels.n_samples)
    loss = loss_of(kind, X, sign, 1.0)._replace(group_starts=kernels.cells.starts)
    price = np.einsum("wii->w", written_out(kernels))
    return kernels, loss, price


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("offender", [0, 1, 2])
def test_only_the_part_of_the_task_that_offends_is_shrunk(kind, offender, monkeypatch):
    monkeypatch.setattr(lower_bound, "_WORTH_IT", 0.0)
    kernels, loss, price = tasks(kind)
    v = vector(loss, np.random.default_rng(1))
    q = Problem([Block(kernels, loss)], Linear(price)).at(np.ones(12), v).points[0].q
    price = 1.2 * q + 1e-3 * price
    own = slice(3 * (1 + offender), 3 * (2 + offender))
    price[own] = 0.5 * q[own]
    problem = Problem([Block(kernels, loss)], Linear(price))
    bound = LowerBound(problem)
    here = state(problem, v)
    bound.add(here, average=False)
    whole = problem.penalty.lower_bound(here.dual)
    part = v.copy()
    part[slice(*kernels.cells.starts[offender : offender + 2])] *= np.sqrt(0.5)
    q = 0.5 * np.einsum("i,wij,j->w", part, written_out(kernels), part)
    expected = gain(loss, part) * np.sqrt(min(1.0, float(np.min(price / np.maximum(q, 1e-300)))))
    assert bound.value == pytest.approx(max(whole, expected))
    assert whole == pytest.approx(np.sqrt(0.5) * gain(loss, v))
    best = solve(problem, tol=1e-7).objective
    assert bound.value <= best * (1.0 + 1e-9)


@pytest.mark.parametrize("kind", LOSSES)
def test_shrinking_a_part_is_better_where_the_others_gain(kind, monkeypatch):
    """Only the last task is above its prices: shrinking all gives the others' gain away."""
    monkeypatch.setattr(lower_bound, "_WORTH_IT", 0.0)
    kernels, loss, price = tasks(kind, "specific")
    block, better = Block(kernels, loss), 0
    for seed in range(20):
        v = vector(loss, np.random.default_rng(seed))
        q = 0.5 * np.einsum("i,wij,j->w", v, written_out(kernels), v)
        price = 2.0 * q
        price[6:] = 0.25 * q[6:]
        problem = Problem([block], Linear(price))
        bound = LowerBound(problem)
        bound.add(state(problem, v), average=False)
        gains = [
            gain(loss._replace(target=np.where(kernels.cells.cell == t, loss.target, 0.0)), v)
            for t in range(3)
        ]
        if loss.epsilon == 0.0:
            assert bound.value == pytest.approx(
                max(0.5 * sum(gains), sum(gains[:2]) + 0.5 * gains[2])
            )
        whole = problem.penalty.lower_bound(state(problem, v).dual)
        assert bound.value >= whole
        better += bound.value > whole
        assert bound.value <= solve(problem, tol=1e-6).objective * (1.0 + 1e-9)
    assert better


def test_where_little_can_be_won_no_part_is_shrunk(monkeypatch):
    kernels, loss, price = tasks("hinge", "specific")
    problem = Problem([Block(kernels, loss)], Linear(1e-2 * price))
    here = state(problem, vector(loss, np.random.default_rng(0)))
    monkeypatch.setattr(LowerBound, "_trimmed", lambda *_: pytest.fail("not worth it"))
    far = here._replace(objective=1e9)
    bound = LowerBound(problem)
    bound.add(far, average=False)
    assert bound.value == problem.penalty.lower_bound(here.dual)


def test_where_a_better_bound_would_end_nothing_no_part_is_shrunk(monkeypatch):
    monkeypatch.setattr(lower_bound, "_WORTH_IT", -np.inf)
    kernels, loss, price = tasks("hinge", "specific")
    problem = Problem([Block(kernels, loss)], Linear(1e-2 * price))
    here = state(problem, vector(loss, np.random.default_rng(0)))
    bound, looked = LowerBound(problem), []

    def trimmed(self, number, point, by_task):
        looked.append(number)
        return point

    monkeypatch.setattr(LowerBound, "_trimmed", trimmed)
    bound_of = problem.penalty.lower_bound
    bound._trimmed_bound(here, bound_of, 0.0, enough=here.objective)
    assert not looked
    bound._trimmed_bound(here, bound_of, 0.0)
    assert looked == [0]


@pytest.mark.parametrize("kind", LOSSES)
def test_a_common_intercept_leaves_no_part_to_shrink(kind):
    kernels, loss, price = tasks(kind)
    common = loss._replace(group_starts=np.array([0, kernels.n_samples]))
    problem = Problem([Block(kernels, common)], Linear(1e-3 * price))
    v = vector(common, np.random.default_rng(0))
    bound = LowerBound(problem)
    bound.add(state(problem, v), average=False)
    assert bound.value == problem.penalty.lower_bound(state(problem, v).dual)


def test_where_no_vector_alone_bounds_the_value_averages_do(monkeypatch):
    alone, bounds = [], set()
    add = LowerBound.add

    def noted(self, new, *, average):
        alone.append(self.problem.penalty.lower_bound(new.dual))
        bounds.add(self)
        add(self, new, average=average)

    monkeypatch.setattr(LowerBound, "add", noted)
    data = kh.datasets.make_multitask(
        20, 20, kind="regression", noise=0.1, relatedness=0.7, random_state=1
    )
    model = kh.MTONMKLRegressor(formulation="corrected", relation="functions", beta=1.0, tol=1e-5)
    model.fit(data.X, data.y, task=data.task)
    assert model.dual_gap_ <= 1e-5
    assert len(bounds) == 1
    assert bounds.pop().value > max(alone)


def specific_simplex(kind):
    """Return tasks with kernels of their own on a budget, and a vector far from the optimum."""
    kernels, loss, row = tasks(kind)
    return kernels, loss, Simplex(row / row.mean(), 3.0)


@pytest.mark.parametrize("kind", LOSSES)
def test_with_a_budget_only_the_parts_of_tasks_above_the_average_are_shrunk(kind, monkeypatch):
    monkeypatch.setattr(lower_bound, "_WORTH_IT", 0.0)
    kernels, loss, penalty = specific_simplex(kind)
    problem = Problem([Block(kernels, loss)], penalty)
    best, better = solve(problem, tol=1e-7).objective, 0
    for seed in range(20):
        here, bound = state(problem, vector(loss, np.random.default_rng(seed))), LowerBound(problem)
        whole = problem.penalty.lower_bound(here.dual)
        bound.add(here, average=False)
        assert whole <= bound.value <= best * (1.0 + 1e-9)
        better += bound.value > whole
    assert better


@pytest.mark.parametrize("kind", LOSSES)
def test_the_tangent_of_a_reward_is_bounded_by_shrunk_parts_too(kind, monkeypatch):
    """Whatever part is shrunk, the bound stays below the optimum of the tangent problem."""
    monkeypatch.setattr(lower_bound, "_WORTH_IT", 0.0)
    kernels, loss, budget = specific_simplex(kind)
    flat = written_out(kernels).reshape(len(budget.row), -1)
    penalty = Concave(budget.row, budget.budget, flat @ flat.T, 1e-3)
    problem, better = Problem([Block(kernels, loss)], penalty), 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        weights = penalty.nearest(rng.uniform(size=len(budget.row)))
        point = problem.at(problem.x_of(weights), vector(loss, rng))
        plain = problem.penalty.gap(point.x, point.svm_value, point.dual)
        size = max(abs(point.objective), point.svm_value)
        missing = LowerBound(problem).missing(point, 0.999 * plain / size)
        touching = Problem([Block(kernels, loss)], penalty.tangent(weights))
        lowest = solve(touching, tol=1e-7).objective
        here = point.svm_value + penalty.tangent(weights).value(weights)
        assert here - lowest <= missing * (1.0 + 1e-6)
        assert missing <= plain
        better += missing < plain
    assert better


def test_a_tangent_that_is_close_enough_is_left_alone(monkeypatch):
    kernels, loss, budget = specific_simplex("hinge")
    penalty = Concave(budget.row, budget.budget, np.eye(len(budget.row)), 1e-3)
    problem = Problem([Block(kernels, loss)], penalty)
    point = state(problem, vector(loss, np.random.default_rng(0)))
    monkeypatch.setattr(LowerBound, "_trimmed", lambda *_: pytest.fail("not needed"))
    plain = problem.penalty.gap(point.x, point.svm_value, point.dual)
    assert LowerBound(problem).missing(point, 1e6) == pytest.approx(plain)


def test_the_tangent_of_a_reward_is_bounded_by_every_vector_so_far():
    kernels, loss, budget = specific_simplex("hinge")
    penalty = Concave(budget.row, budget.budget, np.eye(len(budget.row)), 1e-3)
    problem = Problem([Block(kernels, loss)], penalty)
    point, bound = problem.at(problem.start()), LowerBound(problem)
    bound.add(point, average=False)
    before, rng = bound.missing(point, 1e6), np.random.default_rng(0)
    gaps = []
    for _ in range(3):
        other = problem.at(problem.start(), 1e-3 * vector(loss, rng))
        bound.add(other, average=False)
        gaps.append(problem.penalty.gap(point.x, point.svm_value, other.dual))
        assert bound.missing(point, 1e6) == pytest.approx(min(gaps), rel=1e-12)
    assert min(gaps) < before


def test_the_tangent_of_a_reward_is_bounded_by_averages_too():
    kernels, loss, budget = specific_simplex("hinge")
    penalty = Concave(budget.row, budget.budget, np.eye(len(budget.row)), 1e-3)
    problem, rng, better = Problem([Block(kernels, loss)], penalty), np.random.default_rng(0), 0
    lowest = solve(Problem([Block(kernels, loss)], penalty.tangent(penalty.start())), tol=1e-7)
    for _ in range(5):
        vectors = [problem.at(problem.x_of(penalty.start()), vector(loss, rng)) for _ in range(2)]
        point, bound = vectors[0], LowerBound(problem)
        bound.add(point, average=True)
        bound.missing(point, 1e6)
        bound.add(vectors[1], average=True)
        alone = [problem.penalty.gap(point.x, point.svm_value, one.dual) for one in vectors]
        missing = bound.missing(point, 1e6)
        here = point.svm_value + penalty.tangent(penalty.start()).value(penalty.start())
        assert here - lowest.objective <= missing * (1.0 + 1e-6)
        assert missing <= min(alone) * (1.0 + 1e-9)
        better += missing < 0.999 * min(alone)
    assert better
