"""One loop for every penalty: what it has to bear, whatever the weights cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

import kernelhood as kh
from kernelhood.losses import EpsilonInsensitive, Hinge
from kernelhood.operators import one_task
from kernelhood.penalties import Concave, Fixed, Linear, LpBall, Quadratic, SharedSimplices, Simplex
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, valued
from tests.primal import best_intercepts, total_loss
from tests.solvers.problems import LOSSES, feasible, gram, loss_of, points, stack


def traces(Ks):
    return np.einsum("mii->m", Ks)


def one_task_shared(Ks, loss):
    first = np.arange(len(Ks))
    block = Block(one_task(Ks), loss, (first, first + len(Ks)))
    return Problem([block], SharedSimplices(1, 0.4, np.ones(len(Ks))))


def alone(penalty):
    return lambda Ks, loss: Problem([Block(one_task(Ks), loss)], penalty(Ks))


def ridged(Ks):
    row = np.append(np.ones(len(Ks) - 1), 0.0)
    return Simplex(row, 1.0, None, 2.0 * (1.0 - row))


CONVEX = {
    "prices": alone(lambda Ks: Linear(0.02 * traces(Ks))),
    "prices and squares": alone(lambda Ks: Quadratic(0.01 * traces(Ks), 1e-4 * gram(Ks))),
    "squares": alone(lambda Ks: Quadratic(np.zeros(len(Ks)), 1e-4 * gram(Ks))),
    "a fixed trace": alone(lambda Ks: Simplex(traces(Ks), float(Ks.shape[1]))),
    "a budget": alone(lambda Ks: Simplex(np.ones(len(Ks)), 1.0)),
    "a budget beside a ridge": alone(ridged),
    "a ball": alone(lambda Ks: LpBall(1.5, np.ones(len(Ks)))),
    "simplices": one_task_shared,
    "given weights": alone(lambda Ks: Fixed(np.full(len(Ks), 0.2))),
}
PROBLEMS = CONVEX | {
    "a reward": alone(lambda Ks: Concave(traces(Ks), float(Ks.shape[1]), gram(Ks), 1e-3)),
}
each_problem = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)
each_convex = pytest.mark.parametrize("make", CONVEX.values(), ids=CONVEX)
each_loss = pytest.mark.parametrize("kind", LOSSES)


def example(kind, C=2.0, n=40, seed=0):
    X, sign = points(n, seed=seed)
    return stack(X), loss_of(kind, X, sign, C)


def size_of(found):
    return max(abs(found.objective), found.svm_value)


@each_problem
@each_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_gap_is_reached_and_true(make, kind, C):
    Ks, loss = example(kind, C)
    problem = make(Ks, loss)
    found = solve(problem, tol=1e-5)
    assert 0.0 <= found.gap <= 1e-5
    assert feasible(found.v, loss)
    assert problem.user_penalty.contains(found.weights)
    own = found.weights if problem.blocks[0].parts is None else found.weights.reshape(2, -1).sum(0)
    Kv = np.tensordot(own, Ks, axes=1) @ found.v
    value = 0.5 * found.v @ Kv + total_loss(Kv, best_intercepts(Kv, loss), loss)
    assert found.svm_value == pytest.approx(value, rel=1e-8)
    penalty = problem.user_penalty.value(found.weights)
    assert found.objective == pytest.approx(value + penalty, rel=1e-8, abs=1e-8 * size_of(found))


@each_problem
@given(seed=st.integers(0, 1000), kind=st.sampled_from(LOSSES), exponent=st.integers(-8, 8))
@settings(deadline=None, max_examples=10)
def test_the_objective_never_rises_and_no_gap_is_negative(make, seed, kind, exponent):
    Ks, loss = example(kind, 2.0**exponent, n=30, seed=seed)
    found = solve(make(Ks, loss), tol=1e-6)
    assert found.gap <= 1e-6
    assert np.all(found.trace[:, 1] >= 0.0)
    assert np.all(np.diff(found.trace[:, 0]) <= 0.0)
    assert found.trace[-1, 0] == found.objective
    assert len(found.trace) == found.n_iter


@each_convex
@each_loss
@pytest.mark.parametrize("seed", range(3))
def test_any_start_leads_to_the_same_optimum(make, kind, seed):
    Ks, loss = example(kind)
    rng, problem = np.random.default_rng(seed), make(Ks, loss)
    cold = solve(problem, tol=1e-7)
    n = len(cold.weights)
    weights = 10.0 ** rng.uniform(-4.0, 3.0) * rng.uniform(size=n) * (rng.uniform(size=n) < 0.5)
    v = rng.uniform() * cold.v
    block = Block(one_task(np.tile(Ks, (n // len(Ks), 1, 1))), loss)
    start = valued([block], weights, v)
    warm = solve(problem, start=start, tol=1e-7)
    assert warm.gap <= 1e-7
    assert abs(warm.objective - cold.objective) <= 3e-7 * size_of(cold)


@each_convex
@each_loss
def test_a_solution_is_its_own_start(make, kind):
    problem = make(*example(kind))
    found = solve(problem, tol=1e-5)
    again = solve(problem, start=found, tol=2e-5)
    assert again.n_iter == 0
    assert again.objective == pytest.approx(found.objective, rel=1e-9)


@each_problem
@each_loss
def test_kernels_that_are_zero_take_no_part(make, kind):
    Ks, loss = example(kind)
    with_zeros = Ks.copy()
    with_zeros[[1, 4, 7]] = 0.0
    problem = make(with_zeros, loss)
    found = solve(problem, tol=1e-6)
    assert found.gap <= 1e-6
    if not isinstance(problem.penalty, (Fixed, SharedSimplices)):
        assert found.weights[[1, 4, 7]].max() <= 1e-9 * isinstance(problem.penalty, LpBall)
    few = np.ascontiguousarray(Ks[[0, 2, 3, 5, 6, 8, 9]])
    expected = solve(make(few, loss), tol=1e-6)
    assert abs(found.objective - expected.objective) <= 5e-6 * size_of(expected)


@each_problem
@each_loss
def test_where_all_kernels_are_zero_a_constant_is_left(make, kind):
    Ks, loss = example(kind)
    if make is PROBLEMS["a fixed trace"] or make is PROBLEMS["a reward"]:
        pytest.skip("a trace of zero cannot be fixed to another number")
    found = solve(make(np.zeros_like(Ks), loss))
    constant = total_loss(np.zeros(40), best_intercepts(np.zeros(40), loss), loss)
    assert found.gap <= 1e-3
    assert found.svm_value == pytest.approx(constant)


INVARIANT = ["prices", "prices and squares", "squares", "a fixed trace"]


@pytest.mark.parametrize("name", INVARIANT)
@each_loss
@pytest.mark.parametrize("seed", range(3))
def test_kernels_of_any_size_have_the_same_optimum(name, kind, seed):
    """Prices of traces do not change with the units of the kernels."""
    Ks, loss = example(kind)
    sizes = 10.0 ** np.random.default_rng(seed).uniform(-6.0, 6.0, len(Ks))
    expected = solve(PROBLEMS[name](Ks, loss), tol=1e-6)
    found = solve(PROBLEMS[name](Ks * sizes[:, None, None], loss), tol=1e-6)
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(expected.objective, rel=3e-6)


@each_problem
@each_loss
@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_all_kernels_in_another_unit(make, kind, size):
    Ks, loss = example(kind)
    assert solve(make(size * Ks, loss), tol=1e-5).gap <= 1e-5


# A weight that only tends to zero, and the norm of the reward, leave their rounding: each entry
# of the ten kernels' 10 x 10 products is a sum of 40 x 40 terms, taken in any order, and their
# errors are relative to the objective.
ROUNDED = ("squares", "a budget beside a ridge", "a reward")
ROUNDING = 40 * 40 * np.finfo(float).eps


@pytest.mark.parametrize("name", PROBLEMS)
def test_where_nothing_has_to_be_learned_the_objective_is_zero(name):
    Ks, loss = example("epsilon-insensitive")
    problem = PROBLEMS[name](Ks, loss._replace(epsilon=100.0))
    found = solve(problem)
    assert found.svm_value == 0.0
    assert not found.v.any()
    assert found.gap <= (ROUNDING if name in ROUNDED else 0.0)
    if name not in ROUNDED:
        assert found.objective == 0.0


@pytest.mark.parametrize("name", PROBLEMS)
def test_constant_targets_need_nothing(name):
    Ks, _ = example("hinge")
    loss = EpsilonInsensitive(0.0).box(np.full(40, 7.0), np.ones(40))
    found = solve(PROBLEMS[name](Ks, loss))
    assert found.svm_value == 0.0
    assert found.gap <= (ROUNDING if name in ROUNDED else 0.0)
    assert found.intercepts.tolist() == [7.0]


@each_loss
@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
def test_targets_and_costs_of_any_size(kind, size):
    """Where costs grow by s, prices have to grow by s^2; where targets do, prices stay."""
    Ks, loss = example(kind)
    d = 0.02 * traces(Ks)
    expected = solve(Problem([Block(one_task(Ks), loss)], Linear(d)), tol=1e-6)
    dear = loss._replace(lower=size * loss.lower, upper=size * loss.upper)
    found = solve(Problem([Block(one_task(Ks), dear)], Linear(size**2 * d)), tol=1e-6)
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(size * expected.objective, rel=3e-6)
    large = loss._replace(target=size * loss.target, epsilon=size * loss.epsilon)
    found = solve(Problem([Block(one_task(Ks), large)], Linear(d)), tol=1e-6)
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(size * expected.objective, rel=3e-6)


@each_convex
@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
def test_targets_of_any_size_reach_the_gap(make, size):
    Ks, loss = example("epsilon-insensitive")
    large = loss._replace(target=size * (loss.target + 3.0), epsilon=size * loss.epsilon)
    found = solve(make(Ks, large), tol=1e-5)
    assert found.gap <= 1e-5


def wine():
    """Return kernels of raw features: their sizes differ by ten orders of magnitude."""
    X, y = load_wine(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    kernels = [kh.Linear(), kh.Polynomial(2), *map(kh.Gaussian, (30.0, 100.0, 300.0))]
    loss = Hinge().box(2.0 * y - 1.0, np.full(len(y), 10.0))
    return kh.KernelBank(kernels)(X), loss


WINE = {
    "prices": alone(lambda Ks: Linear(0.01 * traces(Ks))),
    "prices and squares": alone(lambda Ks: Quadratic(2.0 * traces(Ks), 1e-3 * gram(Ks))),
    "squares": alone(lambda Ks: Quadratic(np.zeros(len(Ks)), 1e-3 * gram(Ks))),
    "a budget": PROBLEMS["a budget"],
    "a fixed trace": PROBLEMS["a fixed trace"],
    "a ball": PROBLEMS["a ball"],
}


@pytest.mark.parametrize("make", WINE.values(), ids=WINE)
def test_a_certificate_of_badly_scaled_kernels_is_true(make):
    """A part of a bank is the bank with some weights at zero: it is never better."""
    Ks, loss = wine()
    whole = solve(make(Ks, loss))
    assert whole.gap <= 1e-3
    lowest = whole.objective - whole.gap * size_of(whole)
    for first, last in ((0, 1), (1, 2), (2, 3), (3, 5), (2, 5), (1, 5), (0, 4)):
        part = solve(make(np.ascontiguousarray(Ks[first:last]), loss))
        assert part.objective >= lowest - 1e-9 * size_of(whole)


@pytest.mark.parametrize("eta", [1e-3, 1e-6])
def test_the_distance_to_targets_has_a_true_certificate(eta):
    """KTA: prices are negative, and of the size of the squares."""
    Ks, loss = wine()
    y = loss.target

    def problem(Ks):
        price = -eta * np.einsum("i,mij,j->m", y, Ks, y)
        return Problem([Block(one_task(Ks), loss)], Quadratic(price, eta * gram(Ks)))

    whole = solve(problem(Ks))
    assert whole.gap <= 1e-3
    for m in range(5):
        part = solve(problem(np.ascontiguousarray(Ks[m : m + 1])))
        lowest = whole.objective - whole.gap * size_of(whole)
        assert part.objective >= lowest - 1e-9 * size_of(whole)


@pytest.mark.parametrize("name", ["prices", "prices and squares", "squares", "a fixed trace"])
@each_loss
def test_many_kernels_have_the_same_optimum_as_those_they_repeat(name, kind):
    """More than 64 weights have a method of their own, and candidates."""
    Ks, loss = example(kind)
    sizes = np.linspace(1.0, 2.0, 80)
    many = np.ascontiguousarray(np.tile(Ks, (8, 1, 1)) * sizes[:, None, None])
    found = solve(PROBLEMS[name](many, loss), tol=1e-5)
    expected = solve(PROBLEMS[name](Ks, loss), tol=1e-5)
    assert found.gap <= 1e-5
    assert found.objective == pytest.approx(expected.objective, rel=2e-5)
