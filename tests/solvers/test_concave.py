import numpy as np
import pytest
from scipy.optimize import minimize

from kernelhood.solvers.concave import solve_concave, solved_rewards
from kernelhood.solvers.corners import Corners
from kernelhood.solvers.fixed import solve_fixed, start_at
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.penalty import Penalty
from kernelhood.solvers.warm_start import carried_start
from tests.solvers.problems import LOSSES, dual_terms, points, stack


def fixed_trace(Ks):
    d = np.einsum("mii->m", Ks)
    return Penalty(np.zeros_like(d), np.zeros((len(d), len(d))), d, float(Ks.shape[1]))


def gram(Ks):
    return np.einsum("mij,lij->ml", Ks, Ks)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("reward", [1e-6, 1e-3, 0.1, 100.0])
def test_the_solution_is_stationary_on_the_simplex(loss, reward):
    X, sign = points(50)
    Ks, terms = stack(X), dual_terms(loss, X, sign, 2.0)
    penalty, G = fixed_trace(Ks), gram(Ks)
    found = solve_concave(Ks, terms, penalty, G, reward)
    assert found.gap <= 1e-3
    assert penalty.row @ found.weights == pytest.approx(50.0)
    slope = -0.5 * np.einsum("i,mij,j->m", found.v, Ks, found.v) - reward * G @ found.weights
    descent = slope @ found.weights - np.min(slope / penalty.row) * 50.0
    assert descent <= 3e-3 * max(abs(found.objective), 1.0)


def test_the_objective_falls_at_every_step():
    X, sign = points(60)
    Ks, terms = stack(X), dual_terms("epsilon-insensitive", X, sign, 5.0)
    found = solve_concave(Ks, terms, fixed_trace(Ks), gram(Ks), 0.02, tol=1e-6)
    assert np.all(np.diff(found.trace[:, 0]) <= 1e-6 * np.abs(found.trace[:-1, 0]))
    assert found.n_iter > len(found.trace)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_solution_with_a_larger_c_spares_the_path_from_zero(loss):
    X, sign = points(60)
    Ks = stack(X)
    before, after = (dual_terms(loss, X, sign, C) for C in (64.0, 32.0))
    penalty, G = fixed_trace(Ks), gram(Ks)
    larger = solve_concave(Ks, before, penalty, G, 0.01)
    carried = carried_start(Ks, after, larger, before)
    cold = solve_concave(Ks, after, penalty, G, 0.01)
    warm = solve_concave(Ks, after, penalty, G, 0.01, carried=carried)
    assert warm.gap <= 1e-3
    assert warm.n_iter < 0.5 * cold.n_iter
    assert warm.objective <= cold.objective + 2e-3 * max(abs(cold.objective), cold.svm_value)


def two_sides(n=50):
    """Return a hinge problem in which either kernel alone is stationary for a large reward."""
    X, sign = points(n)
    sides = np.random.default_rng(0).permutation(sign)
    Ks = np.array([share * np.outer(s, s) for share, s in ((0.9, np.ones(n)), (0.6, sides))])
    Ks[:, range(n), range(n)] = 1.0
    return Ks, dual_terms("hinge", X, sign, 2.0)


@pytest.mark.parametrize("role", ["start", "carried"])
def test_a_stationary_start_is_left_for_a_lower_corner(role):
    Ks, terms = two_sides()
    penalty, G = fixed_trace(Ks), gram(Ks)
    worse = start_at(Ks, terms, np.array([0.0, 1.0]))
    stuck = solve_mkl(Ks, terms, penalty._replace(quadratic=-1e3 * G), start=worse)
    np.testing.assert_array_equal(stuck.weights, [0.0, 1.0])
    found = solve_concave(Ks, terms, penalty, G, 1e3, **{role: worse})
    np.testing.assert_allclose(found.weights, [1.0, 0.0])
    assert found.objective < stuck.objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [2.0, 1e4])
@pytest.mark.parametrize("reward", [1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 30.0])
def test_no_point_of_the_simplex_is_lower(loss, C, reward):
    X, sign = points(30)
    Ks, terms = np.ascontiguousarray(stack(X)[[0, 3, 6]]), dual_terms(loss, X, sign, C)
    penalty, G = fixed_trace(Ks), gram(Ks)
    found = solve_concave(Ks, terms, penalty, G, reward)
    shares = [(a, b, 10 - a - b) for a in range(11) for b in range(11 - a)]
    for share in shares:
        weights = 0.1 * np.array(share) * penalty.budget / penalty.row
        value = solve_fixed(Ks, terms, weights, tol=1e-6).svm_value
        other = value - 0.5 * reward * float(weights @ G @ weights)
        assert found.objective <= other + 2e-3 * max(abs(found.objective), found.svm_value)


def test_rewards_ahead_end_where_a_corner_is_lower():
    Ks, terms = two_sides()
    penalty, G = fixed_trace(Ks), gram(Ks)
    worse = start_at(Ks, terms, np.array([0.0, 1.0]))
    bent = penalty._replace(quadratic=-1e3 * G)
    stuck = solve_mkl(Ks, terms, bent, start=worse)
    rewards, corners = np.array([1e3, 2e3, 4e3]), Corners(Ks, terms, penalty, G)
    assert solved_rewards(stuck, G, penalty.row, rewards, 1e-3) == 3
    assert solved_rewards(stuck, G, penalty.row, rewards, 1e-3, corners) == 0


def test_no_reward_is_plain_mkl_and_a_large_one_concentrates():
    X, sign = points(50)
    Ks, terms = stack(X), dual_terms("hinge", X, sign, 2.0)
    penalty, G = fixed_trace(Ks), gram(Ks)
    plain = solve_mkl(Ks, terms, penalty)
    none = solve_concave(Ks, terms, penalty, G, 1e-12)
    assert none.objective == pytest.approx(plain.objective, rel=2e-3)
    most = solve_concave(Ks, terms, penalty, G, 1e3)
    widest = int(np.argmax(np.diag(G)))
    assert np.flatnonzero(most.weights).tolist() == [widest]


def test_a_general_solver_finds_nothing_lower_nearby():
    X, sign = points(30)
    Ks, terms = stack(X)[[0, 2, 4]], dual_terms("hinge", X, sign, 2.0)
    penalty, G, reward = fixed_trace(Ks), gram(Ks), 0.01
    found = solve_concave(Ks, terms, penalty, G, reward, tol=1e-7)

    def value(two):
        theta = np.append(two, 1.0 - two.sum())
        svm = solve_mkl(np.tensordot(theta, Ks, axes=1)[None], terms, _one(30.0), tol=1e-9)
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


def _one(n):
    return Penalty(np.zeros(1), np.zeros((1, 1)), np.array([n]), n)
