import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import kernelhood as kh
from kernelhood.penalties import Linear
from kernelhood.penalties.base import line_minimum
from kernelhood.solvers.hessian import bounded_hessian
from kernelhood.solvers.loop import Move, StepControl
from kernelhood.solvers.problem import Problem
from tests.solvers.problems import block_of, loss_of, points, stack, trace_price


def test_the_line_minimum_of_a_parabola_is_exact():
    def f(t):
        return (t - 0.4) ** 2

    assert line_minimum(f(0.0), -0.8, f(1.0), 1.2) == pytest.approx(0.4)
    assert line_minimum(0.0, -0.001, 0.999, 1.999) == pytest.approx(0.05)
    assert line_minimum(0.0, -1.0, 0.0, 1e-9) <= 0.7


def test_the_line_minimum_of_a_cubic_is_exact():
    def f(t):
        return t**3 - 0.6 * t

    where = np.sqrt(0.2)
    assert line_minimum(f(0.0), -0.6, f(1.0), 2.4) == pytest.approx(where)


def test_the_hessian_is_bounded_by_that_of_the_majoriser():
    H, x, q = np.array([[9.0, 3.0], [3.0, 2.0]]), np.array([1.0, 1.0]), np.array([2.0, 5.0])
    found = bounded_hessian(H, x, q)
    np.testing.assert_allclose(found, [[4.0, 2.0], [2.0, 2.0]])
    assert bounded_hessian(H, x, np.array([5.0, 5.0])) is not None
    np.testing.assert_array_equal(bounded_hessian(H, x, np.array([5.0, 5.0])), H)
    np.testing.assert_array_equal(bounded_hessian(H, np.zeros(2), np.zeros(2)), H)


@pytest.fixture
def started():
    X, sign = points(40)
    Ks, loss = stack(X), loss_of("hinge", X, sign, 1.0)
    problem = Problem([block_of(Ks, loss)], trace_price(Ks, 0.05))
    x = problem.penalty.start()
    here = problem.solve(x, problem.at(x), 1e-9, 0.0)
    return problem, here, StepControl(problem, 1e-3)


def test_interior_points_are_asked_for_only_where_the_gap_has_stalled_twice(started, monkeypatch):
    problem, here, control = started
    asked, solve = [], problem.solve

    def noted(*args, **options):
        asked.append(options["exact"])
        return solve(*args, **options)

    monkeypatch.setattr(problem, "solve", noted)
    for control.level in (0, 1, 2, 3):
        control.try_step(here, 0.5)
    assert asked == [False, False, True, True]


def test_a_step_that_gains_is_taken(started):
    _, here, control = started
    trial = control.try_step(here, 0.5)
    assert trial.objective < here.objective
    assert control.judge(here, trial, 0.5) is trial
    assert control.move is Move.NEWTON


def test_a_step_that_loses_is_not_taken_and_another_follows(started):
    _, here, control = started
    trial = control.try_step(here, 0.5)
    worse = trial._replace(objective=here.objective + 1.0)
    before = control.damping
    assert control.judge(here, worse, 0.5) is here
    assert control.damping > before
    again = control.try_step(here, 0.5)
    assert not np.array_equal(again.x, trial.x)


def test_a_step_too_short_for_the_objective_to_tell_is_taken(started):
    """Its slope promises less than rounding, and the objective has risen by as little."""
    _, here, control = started
    near = here.x * (1.0 + 1e-16 * np.arange(len(here.x)))
    trial = here._replace(x=near, objective=here.objective + 1e-15 * here.objective)
    assert control.judge(here, trial, 1e-11) is trial
    worse = here._replace(x=near, objective=here.objective + 1e-12 * here.objective)
    assert control.judge(here, worse, 1e-11) is here


@pytest.mark.parametrize("convex", [False, True])
def test_a_step_within_the_noise_is_taken_if_it_lowers_the_gap_of_a_tangent(started, convex):
    problem, here, control = started
    problem.penalty.convex = convex
    near = here.x * (1.0 + 1e-9 * np.arange(len(here.x)))
    trial = here._replace(x=near, objective=here.objective * (1.0 + 1e-8))
    assert control.judge(here, trial, 0.1, 0.01) is (here if convex else trial)
    control.move = Move.NEWTON
    assert control.judge(here, trial, 0.1, 0.09) is here


def test_where_the_step_is_only_rounding_the_svms_are_solved_better(started):
    _, here, control = started
    stuck = control._propose(here)._replace(weights=here.x)
    control._propose = lambda _: stuck
    precision = control.precision
    trial = control.try_step(here, 1e-3)
    np.testing.assert_array_equal(trial.x, here.x)
    assert control.precision < precision
    assert control.judge(here, trial, 1e-3) is trial


def test_where_the_gap_does_not_fall_another_way_is_taken(started):
    _, here, control = started
    best = here._replace(objective=here.objective - 1e-9)
    assert control.look_back(here, best, 0.5) is here
    for _ in range(9):
        assert control.look_back(here, best, 0.4) is here
    assert control.look_back(here, best, 0.4) is best
    assert control.level == 1
    assert control.careful
    control.try_step(best, 0.4)
    assert not control.hessian.any()  # the slope is followed first
    control.try_step(here, 0.4)
    assert control.hessian.any()


def test_of_many_kernels_only_candidates_get_a_hessian():
    X, sign = points(40)
    Ks = np.ascontiguousarray(np.tile(stack(X), (8, 1, 1)) * np.linspace(1, 2, 80)[:, None, None])
    loss = loss_of("hinge", X, sign, 1.0)
    problem = Problem([block_of(Ks, loss)], Linear(0.5 * np.einsum("mii->m", Ks)))
    x = np.where(np.arange(80) == 4, 0.1, 0.0)
    here = problem.solve(x, problem.at(x), 1e-9, 0.0)
    control = StepControl(problem, 1e-3)
    trial = control.try_step(here, 0.5)
    assert len(control.hessian) == np.count_nonzero(control.kept) < 80
    assert not trial.x[~control.kept].any()


def test_a_refused_step_is_not_repeated(monkeypatch):
    """On a table like this, with many kernels on single columns, one step was tried 55 times."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:320]
    task = np.digitize(X[rows, 1], np.quantile(X[:, 1], [1 / 3, 2 / 3]))
    tried: dict[int, list[np.ndarray]] = {}
    refused, kept_alive = [], []

    def judged(control, here, trial, gap, left):
        kept_alive.append(here)  # so that no other has its id
        own = tried.setdefault(id(here), [])
        refused.append(sum(np.abs(trial.x - old).sum() <= 0.01 * trial.x.sum() for old in own))
        own.append(trial.x)
        return judge(control, here, trial, gap, left)

    judge = StepControl.judge
    monkeypatch.setattr(StepControl, "judge", judged)
    model = kh.MTONMKLClassifier(C=1.0, beta=0.00078)
    model.fit(X[rows], y[rows], task=task)
    assert len(model.kernels_) * 2 > 64
    assert model.dual_gap_ <= 1e-3
    assert max(refused) <= 2
