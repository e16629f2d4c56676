import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood.losses import dual_gain
from kernelhood.penalties import DualPoint, Linear, Simplex
from kernelhood.solvers.problem import recertified
from tests.primal import total_loss
from tests.references import optimum
from tests.solvers.problems import (
    LOSSES,
    feasible,
    loss_of,
    points,
    simplex,
    solve_task,
    stack,
    trace_price,
)


def primal_value(Ks, loss, penalty, found):
    Kv = np.tensordot(found.weights, Ks, axes=1) @ found.v
    return (
        0.5 * found.v @ Kv + total_loss(Kv, found.intercepts, loss) + penalty.value(found.weights)
    )


def roots(Ks):
    """Matrices A with K = A A', for the norms of a conic solver."""
    pairs = [np.linalg.eigh(K) for K in Ks]
    return [U[:, s > 1e-9 * s[-1]] * np.sqrt(s[s > 1e-9 * s[-1]]) for s, U in pairs]


def conic_value(Ks, loss, penalty):
    """The optimal value from the dual (D), by a generic conic solver."""
    v = cp.Variable(Ks.shape[1])
    q = [0.5 * cp.sum_squares(A.T @ v) for A in roots(Ks)]
    gain = loss.target @ v - loss.epsilon * cp.norm1(v)
    box = [v >= loss.lower, v <= loss.upper, cp.sum(v) == 0]
    if isinstance(penalty, Simplex):
        level = cp.Variable()
        box += [q[m] - penalty.price[m] <= penalty.row[m] * level for m in range(len(q))]
        return optimum(cp.Problem(cp.Maximize(gain - penalty.budget * level), box))
    if isinstance(penalty, Linear):
        box += [q[m] <= penalty.price[m] for m in range(len(q))]
        return optimum(cp.Problem(cp.Maximize(gain), box))
    # R*(q) = min over u with q <= price + Qu of 1/2 u'Qu
    u = cp.Variable(len(q))
    values, vectors = np.linalg.eigh(penalty.Q)
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    slope = penalty.Q @ u
    box += [q[m] <= penalty.price[m] + slope[m] for m in range(len(q))]
    return optimum(cp.Problem(cp.Maximize(gain - 0.5 * cp.sum_squares(half.T @ u)), box))


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("price", ["trace", "trace and norm", "simplex"])
@pytest.mark.parametrize("C", [0.5, 4.0, 50.0])
def test_the_value_equals_a_conic_solvers(kind, price, C):
    X, sign = points(26)
    Ks, loss = np.ascontiguousarray(stack(X)[[0, 1, 2, 3, 5]]), loss_of(kind, X, sign, C)
    penalty = {
        "trace": trace_price(Ks, 0.3),
        "trace and norm": trace_price(Ks, 0.2, 0.02),
        "simplex": simplex(5, 2.0),
    }[price]
    found = solve_task(Ks, loss, penalty, tol=1e-7)
    assert found.gap <= 1e-7
    assert found.objective == pytest.approx(conic_value(Ks, loss, penalty), rel=2e-6)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("exponent", [-20, -8, -2, 2])
def test_the_certificate_is_true(kind, exponent):
    X, sign = points(50)
    Ks, loss = stack(X), loss_of(kind, X, sign, 1.0)
    penalty = trace_price(Ks, 2.0**exponent)
    found = solve_task(Ks, loss, penalty)
    assert found.gap <= 1e-3
    assert feasible(found.v, loss)
    assert np.all(found.weights >= 0.0)
    assert found.objective == pytest.approx(primal_value(Ks, loss, penalty, found), rel=1e-9)
    tight = solve_task(Ks, loss, penalty, tol=1e-8)
    assert tight.objective <= found.objective * (1 + 1e-9)
    assert found.objective - tight.objective <= 1e-3 * abs(found.objective)
    q = 0.5 * np.einsum("i,mij,j->m", tight.v, Ks, tight.v)
    bound = penalty.lower_bound(DualPoint(dual_gain(tight.v, loss), q))
    assert bound <= tight.objective * (1 + 1e-9)


@given(seed=st.integers(0, 1000), exponent=st.integers(-20, 4), kind=st.sampled_from(LOSSES))
@settings(deadline=None, max_examples=25)
def test_the_objective_never_rises(seed, exponent, kind):
    X, sign = points(40, seed=seed)
    Ks, loss = stack(X), loss_of(kind, X, sign, 1.0)
    found = solve_task(Ks, loss, trace_price(Ks, 2.0**exponent), tol=1e-6)
    assert found.gap <= 1e-6
    assert np.all(np.diff(found.trace[:, 0]) <= 0.0)
    assert found.trace[-1, 0] == found.objective
    assert len(found.trace) == found.n_iter


@given(
    seed=st.integers(0, 1000),
    scale=st.sampled_from([2.0**-13, 2.0**-12, 0.3, 7.0, 2.0**12, 2.0**13]),
    kind=st.sampled_from(LOSSES),
)
@settings(deadline=None, max_examples=20)
def test_scaling_invariance(seed, scale, kind):
    """alpha -> C alpha, theta -> theta / C: only a / C^2 and f / C^3 matter."""
    X, sign = points(30, seed=seed)
    Ks = stack(X)[:5]
    one, other = (loss_of(kind, X, sign, C) for C in (1.0, scale))
    first = solve_task(Ks, one, trace_price(Ks, 0.1, 0.01), tol=1e-8)
    second = solve_task(Ks, other, trace_price(Ks, 0.1 * scale**2, 0.01 * scale**3), tol=1e-8)
    assert second.objective == pytest.approx(scale * first.objective, rel=2e-8)
    if scale in (2.0**-12, 2.0**12):  # the root of scale^3 is exact
        np.testing.assert_array_equal(second.weights * scale, first.weights)
    else:  # a gap of 1e-8 leaves its root in the weights
        np.testing.assert_allclose(second.weights * scale, first.weights, rtol=1e-3, atol=1e-4)


def test_targets_of_any_size():
    X, sign = points(40)
    Ks, loss = stack(X), loss_of("epsilon-insensitive", X, sign, 1.0)
    first = solve_task(Ks, loss, trace_price(Ks, 0.1), tol=1e-7)
    large = loss._replace(target=1e6 * loss.target + 3e7, epsilon=1e6 * loss.epsilon)
    second = solve_task(Ks, large, trace_price(Ks, 0.1), tol=1e-7)
    assert second.objective == pytest.approx(1e6 * first.objective, rel=1e-6)
    np.testing.assert_allclose(second.weights, 1e6 * first.weights, rtol=1e-4, atol=1.0)
    assert second.intercepts == pytest.approx(1e6 * first.intercepts + 3e7, rel=1e-6)


@pytest.mark.parametrize("kind", LOSSES)
def test_a_warm_start_reaches_the_same_optimum_at_once(kind):
    X, sign = points(50)
    Ks, loss, penalty = stack(X), loss_of(kind, X, sign, 1.0), trace_price(stack(X), 0.05)
    cold = solve_task(Ks, loss, penalty)
    again = solve_task(Ks, loss, penalty, start=cold)
    assert again.n_iter == 0
    assert again.objective == pytest.approx(cold.objective, rel=1e-12)
    near = solve_task(Ks, loss, trace_price(Ks, 0.055), start=cold)
    fresh = solve_task(Ks, loss, trace_price(Ks, 0.055))
    assert near.n_iter <= fresh.n_iter
    assert near.objective == pytest.approx(fresh.objective, rel=2e-3)


@pytest.mark.parametrize("kind", LOSSES)
def test_no_kernel_pays_where_the_price_is_high(kind):
    X, sign = points(30)
    Ks, loss = stack(X), loss_of(kind, X, sign, 1e-3)
    found = solve_task(Ks, loss, trace_price(Ks, 1.0))
    assert found.weights.tolist() == [0.0] * 10
    assert found.gap <= 1e-3
    constant = total_loss(np.zeros(30), found.intercepts, loss)
    assert found.objective == pytest.approx(constant)


def test_targets_within_the_tube_need_nothing():
    X, sign = points(20)
    loss = loss_of("epsilon-insensitive", X, sign, 1.0)._replace(epsilon=100.0)
    found = solve_task(stack(X), loss, trace_price(stack(X), 1.0))
    assert found.objective == pytest.approx(0.0, abs=1e-9)
    assert not found.v.any()


def test_identical_kernels_share_what_one_would_have():
    X, sign = points(40)
    K, loss = stack(X)[2:3], loss_of("hinge", X, sign, 1.0)
    one = solve_task(K, loss, trace_price(K, 0.1), tol=1e-6)
    Ks = np.repeat(K, 3, axis=0)
    three = solve_task(Ks, loss, trace_price(Ks, 0.1), tol=1e-6)
    assert three.gap <= 1e-6
    assert three.weights.sum() == pytest.approx(one.weights[0], rel=1e-2)
    assert three.objective == pytest.approx(one.objective, rel=1e-5)


def test_one_sample_of_each_class():
    X, sign = points(30)
    rows = [int(np.argmax(sign > 0)), int(np.argmax(sign < 0))]
    Ks, loss = stack(X[rows]), loss_of("hinge", X[rows], sign[rows], 10.0)
    found = solve_task(Ks, loss, trace_price(Ks, 0.1), tol=1e-6)
    assert found.gap <= 1e-6
    assert found.v[0] == pytest.approx(-found.v[1])


def test_max_iter_is_kept():
    X, sign = points(60)
    Ks, loss = stack(X), loss_of("hinge", X, sign, 1.0)
    found = solve_task(Ks, loss, trace_price(Ks, 2.0**-16), max_iter=2)
    assert found.n_iter == 2
    assert found.gap > 1e-3


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("exponent", range(-13, 14, 2))
def test_the_gap_holds_for_every_c_of_the_paper(kind, exponent):
    X, sign = points(400)
    Ks, loss = stack(X), loss_of(kind, X, sign, 2.0**exponent)
    assert solve_task(Ks, loss, trace_price(Ks, 1.0)).gap <= 1e-3


def test_a_single_kernel_with_a_budget_is_an_svm():
    X, sign = points(30)
    K, loss = stack(X)[3:4], loss_of("hinge", X, sign, 2.0)
    found = solve_task(K, loss, simplex(1, 3.0), tol=1e-7)
    assert found.weights.tolist() == [pytest.approx(3.0)]
    assert found.gap <= 1e-7


@pytest.mark.parametrize("kind", LOSSES)
def test_a_start_that_solves_another_problem_is_certified_anew(kind):
    X, sign = points(50)
    Ks, loss = stack(X), loss_of(kind, X, sign, 1.0)
    found = solve_task(Ks, loss, trace_price(Ks, 0.05), tol=1e-6)
    for a in (0.05, 0.0500001, 0.06):
        again = recertified(found, trace_price(Ks, a), 1e-3)
        if again is None:
            assert a == 0.06
            continue
        assert again.n_iter == 0
        assert again.objective == pytest.approx(primal_value(Ks, loss, trace_price(Ks, a), again))
        best = solve_task(Ks, loss, trace_price(Ks, a), tol=1e-7).objective
        assert best <= again.objective * (1.0 + 1e-9)
        assert again.objective - best <= (again.gap + 1e-6) * again.objective
