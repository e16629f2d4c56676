import numpy as np
import pytest

from kernelhood.solvers.concave import solve_concave, solved_rewards
from kernelhood.solvers.corners import Corners
from kernelhood.solvers.fixed import solve_fixed
from tests.solvers.problems import LOSSES, dual_terms, points, stack
from tests.solvers.test_concave import fixed_trace, gram


def problem(loss, C=2.0):
    X, sign = points(40)
    Ks, terms = stack(X), dual_terms(loss, X, sign, C)
    return Ks, terms, fixed_trace(Ks), gram(Ks)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [2.0, 1e4])
def test_bounds_lie_below_the_values_also_of_solved_corners(loss, C):
    Ks, terms, penalty, G = problem(loss, C)
    corners = Corners(Ks, terms, penalty, G)
    exact = np.array(
        [
            solve_fixed(Ks, terms, np.eye(10)[m] * corners.weights[m], tol=1e-8).svm_value
            for m in range(10)
        ]
    )
    corners.learn(solve_concave(Ks, terms, penalty, G, 0.01))
    assert np.all(corners.bounds <= exact * (1.0 + 1e-6))
    assert corners.bounds.max() > 0.0
    before = corners.bounds.copy()
    found = corners.solve(4)
    np.testing.assert_array_equal(np.flatnonzero(found.weights), [4])
    assert corners.bounds[4] >= before[4]
    assert np.all(corners.bounds >= before)
    assert np.all(corners.bounds <= exact * (1.0 + 1e-6))
    corners.learn(solve_fixed(Ks, terms, found.weights, tol=1e-8))
    assert corners.bounds[4] == pytest.approx(exact[4], rel=1e-6)


def test_the_lowest_corner_of_a_large_reward_has_the_largest_norm():
    Ks, terms, penalty, G = problem("hinge")
    corners = Corners(Ks, terms, penalty, G)
    which, bound = corners.lowest(np.array([0.0, 1e9]))
    assert which[1] == np.argmax(corners.norms)
    assert bound[1] == pytest.approx(-0.5e9 * corners.norms.max())


def test_corners_that_cannot_be_lower_are_not_solved():
    Ks, terms, penalty, G = problem("hinge")
    corners = Corners(Ks, terms, penalty, G)
    solve_concave(Ks, terms, penalty, G, 1e-9, corners=corners)
    assert not corners.solved
    solve_concave(Ks, terms, penalty, G, 1.0, corners=corners)
    assert len(corners.solved) < 10


def test_a_kernel_without_trace_is_no_corner():
    Ks, terms, _, _ = problem("hinge")
    Ks[3] = 0.0
    penalty, G = fixed_trace(Ks), gram(Ks)
    corners = Corners(Ks, terms, penalty, G)
    which, _ = corners.lowest(np.array([0.0, 1.0, 1e6]))
    assert 3 not in which
    assert solve_concave(Ks, terms, penalty, G, 1.0, corners=corners).gap <= 1e-3
    assert 3 not in corners.solved
    found = solve_concave(Ks, terms, penalty, G, 1.0)
    assert solved_rewards(found, G, penalty.row, np.array([1.0]), 1e-3) == 1
