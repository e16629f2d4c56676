import numpy as np
import pytest
from sklearn.svm import SVC

from kernelhood.solvers import svm
from kernelhood.solvers.svm import solve_svm
from tests.primal import best_intercepts, svm_gap
from tests.solvers.problems import LOSSES, combination, feasible, loss_of, points, stack


def solve(K, loss, gap_tol):
    n = len(K)
    kernel = combination(K[None], np.ones(1))
    return solve_svm(kernel, loss, np.zeros(n), np.zeros(n), gap_tol)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("kernel", range(10))
@pytest.mark.parametrize("exponent", [-13, -3, 6, 13])
def test_the_gap_is_reached_on_the_whole_grid(kind, kernel, exponent):
    X, sign = points(80)
    K, loss = 2.0**exponent * stack(X)[kernel], loss_of(kind, X, sign, 1.0)
    tol = 1e-6 * len(X)
    v, Kv = solve(K, loss, tol)
    assert feasible(v, loss)
    np.testing.assert_allclose(Kv, K @ v, atol=1e-8 * np.max(K))
    assert svm_gap(v, Kv, best_intercepts(Kv, loss), loss) <= tol


def test_where_pair_steps_stall_the_interior_point_takes_over(monkeypatch):
    X, sign = points(60)
    K, loss = 1e5 * stack(X)[9], loss_of("epsilon-insensitive", X, sign, 1.0)
    called = []
    real = svm.solve_interior_point
    monkeypatch.setattr(
        svm,
        "solve_interior_point",
        lambda *args, **settings: called.append(1) or real(*args, **settings),
    )
    v, Kv = solve(K, loss, 1e-5)
    assert called
    assert svm_gap(v, Kv, best_intercepts(Kv, loss), loss) <= 1e-5


def test_the_better_of_both_is_returned(monkeypatch):
    X, sign = points(60)
    K, loss = 1e5 * stack(X)[9], loss_of("epsilon-insensitive", X, sign, 1.0)
    monkeypatch.setattr(svm, "solve_interior_point", lambda *args, **settings: (np.zeros(60),) * 2)
    v, Kv = solve(K, loss, 1e-5)
    zero = svm_gap(np.zeros(60), np.zeros(60), best_intercepts(np.zeros(60), loss), loss)
    assert svm_gap(v, Kv, best_intercepts(Kv, loss), loss) < zero


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_decision_values_equal_svc(C):
    X, sign = points(80)
    K, loss = stack(X).mean(axis=0), loss_of("hinge", X, sign, C)
    Kv = solve(K, loss, 1e-12)[1]
    reference = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, sign)
    b = best_intercepts(Kv, loss)
    np.testing.assert_allclose(Kv + b, reference.decision_function(K), atol=1e-4)


@pytest.mark.parametrize("kind", LOSSES)
def test_asked_for_an_exact_solution_it_goes_to_the_interior_point_at_once(kind, monkeypatch):
    X, sign = points(60)
    K, loss = stack(X).mean(axis=0), loss_of(kind, X, sign, 1.0)
    called, real = [], svm.solve_interior_point
    monkeypatch.setattr(
        svm,
        "solve_interior_point",
        lambda *args, **settings: called.append(1) or real(*args, **settings),
    )
    kernel, n = combination(K[None], np.ones(1)), len(K)
    v, Kv = solve_svm(kernel, loss, np.zeros(n), np.zeros(n), 1e-9, None, True)
    assert called
    assert svm_gap(v, Kv, best_intercepts(Kv, loss), loss) <= 1e-9


def test_the_start_is_not_changed():
    X, sign = points(30)
    K, loss = stack(X).mean(axis=0), loss_of("hinge", X, sign, 1.0)
    v, Kv = np.zeros(30), np.zeros(30)
    found, _ = solve_svm(combination(K[None], np.ones(1)), loss, v, Kv, 1e-6)
    assert found.any()
    assert not v.any()
    assert not Kv.any()
