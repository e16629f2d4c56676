import numpy as np
import pytest
from sklearn.svm import SVC

from kernelhood.solvers import svm_dual
from kernelhood.solvers.combined import combined_kernel
from kernelhood.solvers.svm_dual import solve_svm_dual
from kernelhood.solvers.svm_value import best_intercepts, svm_gap
from tests.solvers.problems import LOSSES, dual_terms, feasible, points, stack


def solve(K, terms, gap_tol):
    n = len(K)
    kernel = combined_kernel(K[None], np.ones(1))
    return solve_svm_dual(kernel, terms, np.zeros(n), np.zeros(n), gap_tol)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", range(10))
@pytest.mark.parametrize("exponent", [-13, -3, 6, 13])
def test_the_gap_is_reached_on_the_whole_grid(loss, kernel, exponent):
    X, sign = points(80)
    K, terms = 2.0**exponent * stack(X)[kernel], dual_terms(loss, X, sign, 1.0)
    tol = 1e-6 * len(X)
    v, Kv = solve(K, terms, tol)
    assert feasible(v, terms)
    np.testing.assert_allclose(Kv, K @ v, atol=1e-8 * np.max(K))
    assert svm_gap(v, Kv, best_intercepts(Kv, terms), terms) <= tol


def test_where_pair_steps_stall_the_interior_point_takes_over(monkeypatch):
    X, sign = points(60)
    K, terms = 1e5 * stack(X)[9], dual_terms("epsilon-insensitive", X, sign, 1.0)
    called = []
    real = svm_dual.solve_interior_point
    monkeypatch.setattr(
        svm_dual, "solve_interior_point", lambda *args: called.append(1) or real(*args)
    )
    v, Kv = solve(K, terms, 1e-5)
    assert called
    assert svm_gap(v, Kv, best_intercepts(Kv, terms), terms) <= 1e-5


def test_the_better_of_both_is_returned(monkeypatch):
    X, sign = points(60)
    K, terms = 1e5 * stack(X)[9], dual_terms("epsilon-insensitive", X, sign, 1.0)
    monkeypatch.setattr(svm_dual, "solve_interior_point", lambda *args: np.zeros(60))
    v, Kv = solve(K, terms, 1e-5)
    zero = svm_gap(np.zeros(60), np.zeros(60), best_intercepts(np.zeros(60), terms), terms)
    assert svm_gap(v, Kv, best_intercepts(Kv, terms), terms) < zero


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_decision_values_equal_svc(C):
    X, sign = points(80)
    K, terms = stack(X).mean(axis=0), dual_terms("hinge", X, sign, C)
    Kv = solve(K, terms, 1e-12)[1]
    reference = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, sign)
    b = best_intercepts(Kv, terms)
    np.testing.assert_allclose(Kv + b, reference.decision_function(K), atol=1e-4)
