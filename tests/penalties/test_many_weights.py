"""The interior point for many weights against other solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from kernelhood.penalties import nonneg_qp
from kernelhood.penalties.nonneg_qp import _active_set, solve_many, solve_nonneg_qp


def value(Q, c, x):
    return 0.5 * x @ Q @ x + c @ x


@given(seed=st.integers(0, 10_000), n=st.integers(2, 100))
@settings(deadline=None, max_examples=40)
def test_it_equals_nonnegative_least_squares(seed, n):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(2 * n, n)), rng.normal(size=2 * n)
    x = solve_many(A.T @ A, -A.T @ b, np.zeros(n), np.ones(n))
    expected, rest = nnls(A, b)
    assert np.linalg.norm(A @ x - b) == pytest.approx(rest, rel=1e-8)
    # A weight that is hardly above zero may be left out.
    np.testing.assert_allclose(x, expected, atol=1e-3)
    assert np.all(x[expected > 1e-3] > 0.0)
    assert x.min() >= 0.0


@given(seed=st.integers(0, 10_000), n=st.integers(2, 100), budget=st.floats(1e-3, 1e3))
@settings(deadline=None, max_examples=40)
def test_a_budget_is_kept(seed, n, budget):
    rng = np.random.default_rng(seed)
    A, c, row = rng.normal(size=(n, n)), rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    start = np.full(n, budget / row.sum())
    x, few = (method(A.T @ A, c, row, start) for method in (solve_many, _active_set))
    assert np.all(x >= 0.0)
    assert row @ x == pytest.approx(budget)
    scale = abs(value(A.T @ A, c, few)) + abs(c @ few)
    assert value(A.T @ A, c, x) <= value(A.T @ A, c, few) + 1e-8 * scale


@pytest.mark.parametrize("budgeted", [False, True])
@pytest.mark.parametrize("rank", [2, 20, 90])
@pytest.mark.parametrize("start", ["one", "all", "sparse"])
def test_it_equals_the_method_for_few_weights(budgeted, rank, start):
    rng = np.random.default_rng(rank)
    n = 90
    A = rng.uniform(size=(n, rank))
    Q, c = A @ A.T, -A @ rng.uniform(size=rank) + 0.1 * rng.uniform(size=n)
    row = rng.uniform(0.5, 2.0, n) if budgeted else np.zeros(n)
    x = {"one": np.eye(n)[3], "all": np.ones(n), "sparse": 1.0 * (rng.uniform(size=n) < 0.1)}[start]
    many, few = solve_many(Q, c, row, x), _active_set(Q, c, row, x)
    scale = abs(value(Q, c, few)) + abs(c @ few)
    assert value(Q, c, many) <= value(Q, c, few) + 1e-7 * scale
    assert row @ many == pytest.approx(row @ x)
    assert many.min() >= 0.0


def test_the_start_does_not_matter_and_is_not_changed():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(200, 80)), rng.normal(size=200)
    rest = nnls(A, b)[1]
    for first in (np.zeros(80), 1e-9 * np.ones(80), np.ones(80), 1e6 * np.eye(80)[3]):
        before = first.copy()
        x = solve_many(A.T @ A, -A.T @ b, np.zeros(80), first)
        assert np.linalg.norm(A @ x - b) == pytest.approx(rest, rel=1e-8)
        np.testing.assert_array_equal(first, before)


def test_kernels_given_twice_still_reach_the_optimal_value():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 40))
    A, b = np.hstack([A, A, A[:, :1] * (1 + 1e-14)]), rng.normal(size=60)
    x = solve_many(A.T @ A, -A.T @ b, np.zeros(81), np.zeros(81))
    assert np.linalg.norm(A @ x - b) == pytest.approx(nnls(A, b)[1], rel=1e-7)


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_other_units_change_nothing_else(size):
    rng = np.random.default_rng(4)
    A, b = rng.normal(size=(150, 70)), rng.normal(size=150)
    Q, c, ones = A.T @ A, -A.T @ b, np.ones(70)
    plain = solve_many(Q, c, np.zeros(70), ones)
    other = solve_many(Q, size * c, np.zeros(70), size * ones)
    np.testing.assert_allclose(other, size * plain, rtol=1e-5, atol=1e-9 * size)
    np.testing.assert_allclose(
        solve_many(size * Q, size * c, np.zeros(70), ones), plain, rtol=1e-5, atol=1e-9
    )


def test_no_fall_leaves_nothing():
    x = solve_many(np.eye(70), np.linspace(0.1, 1.0, 70), np.zeros(70), np.ones(70))
    assert not x.any()


def test_zeros_are_exact():
    c = np.where(np.arange(80) % 2, -1.0, 1.0)
    x = solve_many(np.eye(80), c, np.zeros(80), np.ones(80))
    np.testing.assert_array_equal(np.flatnonzero(x), np.arange(1, 80, 2))
    np.testing.assert_allclose(x[1::2], 1.0)


@pytest.mark.parametrize(("n", "called"), [(64, False), (65, True)])
def test_it_takes_over_where_weights_are_many(n, called, monkeypatch):
    calls = []
    monkeypatch.setattr(nonneg_qp, "solve_many", lambda *args: calls.append(1) or args[-1])
    solve_nonneg_qp(np.eye(n), np.ones(n), np.zeros(n), np.ones(n))
    assert bool(calls) == called
