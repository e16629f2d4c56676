import numpy as np
import pytest

from kernelhood.losses import Hinge, dual_gain
from kernelhood.solvers import interior_point
from kernelhood.solvers.interior_point import DenseSystem, near, sides_of, solve_interior_point
from tests.primal import best_intercepts, svm_gap
from tests.solvers.problems import LOSSES, feasible, loss_of, points, stack


def solved(K, loss, tol, **settings):
    system = DenseSystem(K, loss.group_starts)
    v, Kv = solve_interior_point(system, loss, tol, **settings)
    np.testing.assert_allclose(Kv, K @ v, atol=1e-12 * np.abs(K).max())
    return v


def gap_of(K, loss, v):
    return svm_gap(v, K @ v, best_intercepts(K @ v, loss), loss)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("kernel", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4, 1e6])
def test_the_gap_is_reached_however_ill_conditioned(kind, kernel, scale):
    X, sign = points(60)
    K, loss = scale * stack(X)[kernel], loss_of(kind, X, sign, 1.0)
    tol = 1e-5 * len(X)
    v = solved(K, loss, tol)
    assert feasible(v, loss)
    assert gap_of(K, loss, v) <= tol


def test_entries_at_a_bound_are_exactly_there():
    X, sign = points(60)
    loss = Hinge().box(sign, np.full(60, 3.0))
    v = solved(stack(X).mean(axis=0), loss, 1e-6)
    bound = loss.lower + loss.upper
    assert np.sum(v == 0.0) > 5
    assert np.sum(v == bound) > 5


def test_it_stops_at_rounding_level_when_asked_for_too_much():
    X, sign = points(40)
    K, loss = 1e4 * stack(X)[0], loss_of("epsilon-insensitive", X, sign, 1.0)
    v = solved(K, loss, 1e-18)
    assert feasible(v, loss)
    assert gap_of(K, loss, v) <= 1e-4 * dual_gain(v, loss)


def test_a_matrix_that_is_not_positive_leaves_a_feasible_point():
    loss = Hinge().box(np.array([1.0, -1.0, 1.0]), np.ones(3))
    v = solved(-1e3 * np.eye(3), loss, 1e-6)
    assert np.all(v >= loss.lower)
    assert np.all(v <= loss.upper)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("kernel", [0, 2, 5, 9])
def test_near_a_solution_few_steps_are_left(kind, kernel, monkeypatch):
    """The solution of a kernel that differs by a tenth is a start; nothing is a longer way."""
    X, sign = points(80)
    K, loss = 10.0 * stack(X)[kernel], loss_of(kind, X, sign, 1.0)
    tol, counts = 1e-6 * len(X), []
    before = solved(1.1 * K, loss, tol)
    step = interior_point._newton_step
    for start in (None, (before, K @ before)):
        taken = []
        monkeypatch.setattr(
            interior_point, "_newton_step", lambda *a, n=taken: n.append(1) or step(*a)
        )
        v = solved(K, loss, tol, start=start)
        assert feasible(v, loss)
        assert gap_of(K, loss, v) <= tol
        counts.append(len(taken))
    assert counts[1] < counts[0]


@pytest.mark.parametrize("kind", LOSSES)
def test_a_start_that_leads_nowhere_is_given_up(kind, monkeypatch):
    X, sign = points(40)
    K, loss = stack(X)[2], loss_of(kind, X, sign, 1.0)
    ways, follow = [], interior_point._follow

    def stuck(system, loss, sides, point, *limits):
        ways.append(point)
        return follow(system, loss, sides, point, *limits) if len(ways) > 1 else (point, np.inf)

    monkeypatch.setattr(interior_point, "_follow", stuck)
    start = solved(2.0 * K, loss, 1e-2)
    ways.clear()
    v = solved(K, loss, 1e-4, start=(start, K @ start))
    assert gap_of(K, loss, v) <= 1e-4
    assert len(ways) == 2
    assert not np.allclose(ways[0].x, ways[1].x)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_point_near_a_vector_is_inside_the_box_and_satisfies_its_slopes(kind, scale):
    X, sign = points(60)
    K, loss = scale * stack(X)[2], loss_of(kind, X, sign, 1.0)
    v = solved(K, loss, 1e-3)
    sides = sides_of(loss)
    point = near(sides, loss, v, K @ v)
    for part in (point.x, point.s, point.z, point.w):
        assert part.min() > 0.0
    np.testing.assert_allclose(point.x + point.s, sides.cap)
    force = (K @ v + point.intercepts[sides.group])[sides.sample]
    np.testing.assert_allclose(
        point.z - point.w, sides.slope + sides.sign * force, atol=1e-9 * np.abs(force).max()
    )
