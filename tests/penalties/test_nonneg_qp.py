import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from kernelhood.penalties.nonneg_qp import solve_nonneg_qp


def kkt_residual(Q, c, row, x):
    """The largest violation of the optimality conditions, relative to the size of c."""
    slope = Q @ x + c
    if np.any(row):
        used = (x > 0) & (row > 0)
        slope = slope - row * np.mean(slope[used] / row[used])
    on = np.max(np.abs(slope[x > 0]), initial=0.0)
    off = np.max(-slope[x == 0], initial=0.0)
    return max(on, off) / np.max(np.abs(c))


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12))
@settings(deadline=None, max_examples=50)
def test_it_equals_nonnegative_least_squares(seed, n):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n + 3, n)), rng.normal(size=n + 3)
    x = solve_nonneg_qp(A.T @ A, -A.T @ b, np.zeros(n), np.zeros(n))
    np.testing.assert_allclose(x, nnls(A, b)[0], atol=1e-8)


@pytest.mark.parametrize("start", ["zero", "ones"])
def test_the_start_does_not_matter(start):
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(9, 6)), rng.normal(size=9)
    first = np.zeros(6) if start == "zero" else np.ones(6)
    x = solve_nonneg_qp(A.T @ A, -A.T @ b, np.zeros(6), first)
    np.testing.assert_allclose(x, nnls(A, b)[0], atol=1e-8)
    np.testing.assert_array_equal(first, np.zeros(6) if start == "zero" else np.ones(6))


@given(seed=st.integers(0, 10_000), n=st.integers(2, 10))
@settings(deadline=None, max_examples=50)
def test_a_budget_is_kept(seed, n):
    rng = np.random.default_rng(seed)
    A, c, row = rng.normal(size=(n, n)), rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    start = np.full(n, 3.0 / row.sum())
    x = solve_nonneg_qp(A.T @ A, c, row, start)
    assert np.all(x >= 0.0)
    assert row @ x == pytest.approx(3.0)
    assert kkt_residual(A.T @ A, c, row, x) <= 1e-7


def test_a_budget_on_some_entries_only():
    Q, c, row = np.diag([1.0, 2.0, 4.0]), np.array([0.0, 0.0, -2.0]), np.array([1.0, 1.0, 0.0])
    x = solve_nonneg_qp(Q, c, row, np.array([3.0, 0.0, 0.0]))
    np.testing.assert_allclose(x, [2.0, 1.0, 0.5])


def test_identical_columns_still_reach_the_optimal_value():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 3))
    A, b = np.hstack([A, A, A[:, :1] * (1 + 1e-14)]), rng.normal(size=8)
    x = solve_nonneg_qp(A.T @ A, -A.T @ b, np.zeros(7), np.zeros(7))
    assert np.linalg.norm(A @ x - b) == pytest.approx(nnls(A, b)[1], rel=1e-9)


def test_zeros_are_exact():
    x = solve_nonneg_qp(np.eye(3), np.array([-1.0, 1.0, 1e-3]), np.zeros(3), np.ones(3))
    assert x.tolist() == [pytest.approx(1.0), 0.0, 0.0]


@pytest.mark.parametrize("n", [3, 80])
@pytest.mark.parametrize("price", [1e-8, 1.0, 1e3, 1e12])
def test_where_nothing_bends_and_all_costs_the_weights_are_zero(n, price):
    none = np.zeros(n)
    found = solve_nonneg_qp(np.zeros((n, n)), np.full(n, price), none, np.full(n, 0.1))
    assert found.tolist() == none.tolist()
