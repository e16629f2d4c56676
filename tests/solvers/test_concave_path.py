import numpy as np
import pytest
from scipy.optimize import minimize

from kernelhood.operators import one_task
from kernelhood.penalties import Concave, Simplex
from kernelhood.solvers.concave_path import SingleKernels, solve_concave, solved_rewards
from kernelhood.solvers.problem import carried_start, valued
from tests.solvers.problems import (
    LOSSES,
    block_of,
    gram,
    loss_of,
    points,
    solve_fixed,
    solve_task,
    stack,
)


def fixed_trace(Ks):
    """Return the coefficients of a fixed trace; its budget is the number of samples."""
    return np.einsum("mii->m", Ks)


def follow(Ks, loss, row, G, reward, **settings):
    penalty = Concave(row, float(Ks.shape[1]), G, reward)
    return solve_concave([block_of(Ks, loss)], penalty, **settings)


def alone(Ks, loss, row, G):
    return SingleKernels([block_of(Ks, loss)], row, float(Ks.shape[1]), G)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("reward", [1e-6, 1e-3, 0.1, 100.0])
def test_the_solution_is_stationary_on_the_simplex(kind, reward):
    X, sign = points(50)
    Ks, loss = stack(X), loss_of(kind, X, sign, 2.0)
    row, G = fixed_trace(Ks), gram(Ks)
    found = follow(Ks, loss, row, G, reward)
    assert found.gap <= 1e-3
    assert row @ found.weights == pytest.approx(50.0)
    # The gap is that of the tangent problem, which is convex: solve it to more digits.
    tangent = Simplex(row, 50.0, -reward * G @ found.weights)
    best = solve_task(Ks, loss, tangent, tol=1e-8)
    assert best.gap <= 1e-8
    missing = found.svm_value + tangent.value(found.weights) - best.objective
    rounding = 2e-8 * abs(best.objective)
    assert missing <= 1e-3 * max(abs(found.objective), found.svm_value) + rounding


def test_the_objective_falls_at_every_step():
    X, sign = points(60)
    Ks, loss = stack(X), loss_of("epsilon-insensitive", X, sign, 5.0)
    found = follow(Ks, loss, fixed_trace(Ks), gram(Ks), 0.02, tol=1e-6)
    assert np.all(np.diff(found.trace[:, 0]) <= 1e-6 * np.abs(found.trace[:-1, 0]))
    assert found.n_iter > len(found.trace)


@pytest.mark.parametrize("kind", LOSSES)
def test_a_solution_with_a_larger_c_spares_the_path_from_zero(kind):
    X, sign = points(60)
    Ks = stack(X)
    before, after = (loss_of(kind, X, sign, C) for C in (64.0, 32.0))
    row, G = fixed_trace(Ks), gram(Ks)
    larger = follow(Ks, before, row, G, 0.01)
    carried = carried_start(one_task(Ks), after, larger, before)
    cold = follow(Ks, after, row, G, 0.01)
    warm = follow(Ks, after, row, G, 0.01, carried=carried)
    assert warm.gap <= 1e-3
    assert warm.n_iter < 0.5 * cold.n_iter
    assert warm.objective <= cold.objective + 2e-3 * max(abs(cold.objective), cold.svm_value)


def two_sides(n=50):
    """Return a hinge problem in which either kernel alone is stationary for a large reward."""
    X, sign = points(n)
    sides = np.random.default_rng(0).permutation(sign)
    Ks = np.array([share * np.outer(s, s) for share, s in ((0.9, np.ones(n)), (0.6, sides))])
    Ks[:, range(n), range(n)] = 1.0
    return Ks, loss_of("hinge", X, sign, 2.0)


@pytest.mark.parametrize("role", ["start", "carried"])
def test_a_stationary_start_is_left_for_a_lower_corner(role):
    Ks, loss = two_sides()
    row, G = fixed_trace(Ks), gram(Ks)
    worse = valued([block_of(Ks, loss)], np.array([0.0, 1.0]))
    stuck = solve_task(Ks, loss, Concave(row, float(Ks.shape[1]), G, 1e3), start=worse)
    assert stuck.weights.tolist() == [0.0, pytest.approx(1.0)]
    found = follow(Ks, loss, row, G, 1e3, **{role: worse})
    np.testing.assert_allclose(found.weights, [1.0, 0.0])
    assert found.objective < stuck.objective


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("C", [2.0, 1e4])
@pytest.mark.parametrize("reward", [1e-3, 0.03, 0.3, 30.0])
def test_no_point_of_the_simplex_is_lower(kind, C, reward):
    X, sign = points(30)
    Ks, loss = np.ascontiguousarray(stack(X)[[0, 3, 6]]), loss_of(kind, X, sign, C)
    row, G = fixed_trace(Ks), gram(Ks)
    found = follow(Ks, loss, row, G, reward)
    shares = [(a, b, 10 - a - b) for a in range(11) for b in range(11 - a)]
    for share in shares:
        weights = 0.1 * np.array(share) * Ks.shape[1] / row
        value = solve_fixed(Ks, loss, weights, tol=1e-6).svm_value
        other = value - 0.5 * reward * float(weights @ G @ weights)
        assert found.objective <= other + 2e-3 * max(abs(found.objective), found.svm_value)


def test_rewards_ahead_end_where_a_corner_is_lower():
    Ks, loss = two_sides()
    row, G = fixed_trace(Ks), gram(Ks)
    worse = valued([block_of(Ks, loss)], np.array([0.0, 1.0]))
    bent = Concave(row, float(Ks.shape[1]), G, 1e3)
    stuck = solve_task(Ks, loss, bent, start=worse)
    rewards, corners = np.array([1e3, 2e3, 4e3]), alone(Ks, loss, row, G)
    assert solved_rewards(stuck, Concave(row, float(Ks.shape[1]), G, 0.0), rewards, 1e-3) == 3
    assert (
        solved_rewards(stuck, Concave(row, float(Ks.shape[1]), G, 0.0), rewards, 1e-3, corners) == 0
    )


def test_no_reward_is_plain_mkl_and_a_large_one_concentrates():
    X, sign = points(50)
    Ks, loss = stack(X), loss_of("hinge", X, sign, 2.0)
    row, G = fixed_trace(Ks), gram(Ks)
    plain = solve_task(Ks, loss, Simplex(row, float(Ks.shape[1])))
    none = follow(Ks, loss, row, G, 1e-12)
    assert none.objective == pytest.approx(plain.objective, rel=2e-3)
    most = follow(Ks, loss, row, G, 1e3)
    widest = int(np.argmax(np.diag(G)))
    assert np.flatnonzero(most.weights).tolist() == [widest]


def test_a_general_solver_finds_nothing_lower_nearby():
    X, sign = points(30)
    Ks, loss = np.ascontiguousarray(stack(X)[[0, 2, 4]]), loss_of("hinge", X, sign, 2.0)
    row, G, reward = fixed_trace(Ks), gram(Ks), 0.01
    found = follow(Ks, loss, row, G, reward, tol=1e-7)

    def value(two):
        theta = np.append(two, 1.0 - two.sum())
        svm = solve_task(
            np.tensordot(theta, Ks, axes=1)[None], loss, Simplex(np.array([30.0]), 30.0), tol=1e-9
        )
        return svm.objective - 0.5 * reward * theta @ G @ theta

    assert value(found.weights[:2]) == pytest.approx(found.objective, rel=1e-5)
    result = minimize(
        value,
        found.weights[:2],
        method="SLSQP",
        bounds=[(0, 1)] * 2,
        constraints={"type": "ineq", "fun": lambda two: 1.0 - two.sum()},
    )
    assert found.objective <= result.fun + 1e-4 * abs(result.fun)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_svms_are_solved_however_large_the_reward(kind, tol):
    """Any dual vector is within 0.1 % of an objective of which the SVM is a millionth."""
    X, sign = points(50)
    Ks, loss = stack(X), loss_of(kind, X, sign, 100.0)
    row, G = fixed_trace(Ks), gram(Ks)
    cold = follow(Ks, loss, row, G, 1e8, tol=tol)
    poor = valued([block_of(Ks, loss)], cold.weights)  # its dual vector is zero
    for found in (cold, follow(Ks, loss, row, G, 1e8, tol=tol, start=poor)):
        assert abs(found.objective) > 1e6 * found.svm_value
        exact = solve_fixed(Ks, loss, found.weights, tol=1e-9)
        assert found.svm_gap <= tol
        assert found.svm_value == pytest.approx(exact.svm_value, rel=2.0 * tol)
