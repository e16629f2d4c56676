import numpy as np
import pytest

from kernelhood.penalties import Concave
from kernelhood.solvers.concave_path import solved_rewards
from tests.solvers.problems import LOSSES, gram, loss_of, points, solve_fixed, stack
from tests.solvers.test_concave_path import alone, fixed_trace, follow


def problem(kind, C=2.0):
    X, sign = points(40)
    Ks, loss = stack(X), loss_of(kind, X, sign, C)
    return Ks, loss, fixed_trace(Ks), gram(Ks)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("C", [2.0, 1e4])
def test_bounds_lie_below_the_values_also_of_solved_corners(kind, C):
    Ks, loss, row, G = problem(kind, C)
    corners = alone(Ks, loss, row, G)
    some = [*range(10), 11, 30, 54]  # every kernel alone, and some pairs
    exact = np.array([solve_fixed(Ks, loss, corners.weights[c], tol=1e-8).svm_value for c in some])
    corners.learn(follow(Ks, loss, row, G, 0.01))
    assert np.all(corners.bounds[some] <= exact * (1.0 + 1e-6))
    assert corners.bounds.max() > 0.0
    before = corners.bounds.copy()
    found = corners.solve(4)
    np.testing.assert_array_equal(np.flatnonzero(found.weights), [4])
    assert corners.bounds[4] >= before[4]
    assert np.all(corners.bounds >= before)
    assert np.all(corners.bounds[some] <= exact * (1.0 + 1e-6))
    corners.learn(solve_fixed(Ks, loss, found.weights, tol=1e-8))
    assert corners.bounds[4] == pytest.approx(exact[4], rel=1e-6)


def test_candidates_are_kernels_alone_and_the_middles_of_pairs():
    Ks, loss, row, G = problem("hinge")
    corners = alone(Ks, loss, row, G)
    assert corners.weights.shape == (55, 10)
    np.testing.assert_allclose(corners.weights @ row, Ks.shape[1])
    assert np.count_nonzero(corners.weights, axis=1).tolist() == [1] * 10 + [2] * 45
    K = np.tensordot(corners.weights[-1], Ks, axes=1)
    assert corners.norms[-1] == pytest.approx(np.sum(K * K))


def test_the_lowest_corner_of_a_large_reward_has_the_largest_norm():
    Ks, loss, row, G = problem("hinge")
    corners = alone(Ks, loss, row, G)
    which, bound = corners.lowest(np.array([0.0, 1e9]))
    assert which[1] == np.argmax(corners.norms)
    assert bound[1] == pytest.approx(-0.5e9 * corners.norms.max())


def test_corners_that_cannot_be_lower_are_not_solved():
    Ks, loss, row, G = problem("hinge")
    corners = alone(Ks, loss, row, G)
    follow(Ks, loss, row, G, 1e-9, corners=corners)
    assert not corners.solved
    follow(Ks, loss, row, G, 1.0, corners=corners)
    assert len(corners.solved) < len(corners.weights)


def test_a_kernel_without_trace_is_no_corner():
    Ks, loss, _, _ = problem("hinge")
    Ks[3] = 0.0
    row, G = fixed_trace(Ks), gram(Ks)
    corners = alone(Ks, loss, row, G)
    assert corners.weights.shape == (9 + 36, 10)
    assert not corners.weights[:, 3].any()
    assert follow(Ks, loss, row, G, 1.0, corners=corners).gap <= 1e-3
    assert all(one.weights[3] == 0.0 for one in corners.solved.values())
    found = follow(Ks, loss, row, G, 1.0)
    assert (
        solved_rewards(found, Concave(row, float(Ks.shape[1]), G, 0.0), np.array([1.0]), 1e-3) == 1
    )


def test_two_kernels_lead_to_a_lower_point_than_single_ones(monkeypatch):
    Ks, loss, row, G = problem("epsilon-insensitive", 8.0)
    found = follow(Ks, loss, row, G, 0.1, tol=1e-6)
    monkeypatch.setattr("kernelhood.solvers.concave_path.SHARES", ())
    corners = follow(Ks, loss, row, G, 0.1, tol=1e-6)
    assert found.gap <= 1e-6
    assert found.objective < 0.5 * corners.objective
