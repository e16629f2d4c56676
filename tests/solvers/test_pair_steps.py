import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from kernelhood.losses import BoxLoss, Hinge
from kernelhood.operators.base import combined_matrix
from kernelhood.solvers.svm import _gap, pair_steps
from tests.operators.examples import kernels_of, written_out
from tests.primal import svm_gap
from tests.solvers.problems import LOSSES, combination, feasible, loss_of, points, stack


def solve(K, loss, tol=1e-8, max_steps=100_000, v=None):
    v = np.zeros(len(K)) if v is None else v.copy()
    kernel = combination(K[None], np.ones(1))
    Kv = K @ v
    edges, n_steps, missing = pair_steps(kernel, loss, v, Kv, tol, max_steps)
    assert missing == -1
    return v, Kv, edges[0, 0] - edges[0, 1], edges.mean(), n_steps


def violation_of(K, loss, v):
    """The largest KKT violation, from the definition."""
    rest = loss.target - K @ v
    grow = rest - np.where(v >= 0.0, loss.epsilon, -loss.epsilon)
    shrink = rest - np.where(v > 0.0, loss.epsilon, -loss.epsilon)
    return np.max(grow[v < loss.upper]) - np.min(shrink[v > loss.lower])


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_it_ends_at_a_kkt_point(kind, C):
    X, sign = points(24)
    K, loss = stack(X).mean(axis=0), loss_of(kind, X, sign, C)
    v, Kv, violation, _, _ = solve(K, loss)
    assert feasible(v, loss)
    np.testing.assert_allclose(Kv, K @ v, atol=1e-9)
    assert violation <= 1e-8
    assert violation_of(K, loss, v) == pytest.approx(violation, abs=1e-9)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_hinge_equals_svc(C):
    X, sign = points(24)
    K = stack(X).mean(axis=0)
    _, Kv, _, intercept, _ = solve(K, loss_of("hinge", X, sign, C))
    reference = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, sign)
    np.testing.assert_allclose(Kv + intercept, reference.decision_function(K), atol=1e-5)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_epsilon_insensitive_equals_svr(C):
    X, sign = points(24)
    K, loss = stack(X).mean(axis=0), loss_of("epsilon-insensitive", X, sign, C)
    _, Kv, _, intercept, _ = solve(K, loss)
    reference = SVR(C=C, epsilon=0.1, kernel="precomputed", tol=1e-9).fit(K, loss.target)
    np.testing.assert_allclose(Kv + intercept, reference.predict(K), atol=1e-5)


def test_bounds_are_met_exactly():
    X, sign = points(24)
    loss = Hinge().box(sign, np.linspace(0.1, 0.7, 24))
    v = solve(stack(X).mean(axis=0), loss)[0]
    at_bound = np.isclose(np.abs(v), np.abs(loss.lower + loss.upper), rtol=1e-6)
    assert at_bound.sum() > 3
    np.testing.assert_array_equal(v[at_bound], (loss.lower + loss.upper)[at_bound])


def test_samples_with_their_own_penalty_equal_svc_with_sample_weight():
    X, sign = points(24)
    K, weight = stack(X).mean(axis=0), np.linspace(0.2, 2.0, 24)
    _, Kv, _, intercept, _ = solve(K, Hinge().box(sign, weight))
    reference = SVC(kernel="precomputed", tol=1e-9).fit(K, sign, sample_weight=weight)
    np.testing.assert_allclose(Kv + intercept, reference.decision_function(K), atol=1e-5)


@pytest.mark.parametrize("kind", LOSSES)
def test_a_warm_start_takes_fewer_steps_to_the_same_place(kind):
    X, sign = points(24)
    Ks, loss = stack(X), loss_of(kind, X, sign, 1.0)
    K, near = Ks.mean(axis=0), 1.02 * Ks.mean(axis=0)
    cold = solve(near, loss)
    warm = solve(near, loss, v=solve(K, loss)[0])
    assert warm[4] < cold[4]
    np.testing.assert_allclose(warm[1], cold[1], atol=1e-6)


def test_it_gives_up_after_max_steps():
    X, sign = points(24)
    loss = loss_of("hinge", X, sign, 20.0)
    v, _, violation, _, n_steps = solve(stack(X).mean(axis=0), loss, max_steps=5)
    assert n_steps == 5
    assert violation > 1e-3
    assert feasible(v, loss)


def test_a_zero_kernel_leaves_a_constant():
    loss = Hinge().box(np.array([1.0, 1.0, -1.0]), np.ones(3))
    v, _, violation, intercept, _ = solve(np.zeros((3, 3)), loss)
    assert violation <= 1e-8
    assert v @ loss.target == pytest.approx(2.0)
    assert intercept == pytest.approx(1.0)


@pytest.mark.parametrize("kind", LOSSES)
def test_groups_with_a_kernel_of_their_own_are_svms_of_their_own(kind):
    X, sign = points(30)
    K, loss = stack(X).mean(axis=0), loss_of(kind, X, sign, 1.0)
    K[:18, 18:], K[18:, :18] = 0.0, 0.0
    together, Kv = np.zeros(30), np.zeros(30)
    kernel = combination(K[None], np.ones(1))
    edges, _, _ = pair_steps(
        kernel, loss._replace(group_starts=np.array([0, 18, 30])), together, Kv, 1e-8, 9999
    )
    for group, rows in enumerate([slice(0, 18), slice(18, 30)]):
        alone = loss_of(kind, X, sign, 1.0)
        size = len(K[rows])
        part = BoxLoss(*(one[rows] for one in alone[:3]), alone.epsilon, np.array([0, size]))
        v, _, _, intercept, _ = solve(np.ascontiguousarray(K[rows, rows]), part)
        np.testing.assert_allclose(together[rows], v, atol=1e-6)
        assert edges[group].mean() == pytest.approx(intercept, abs=1e-6)


def test_rows_that_are_filled_from_outside_are_asked_for():
    X, sign = points(24)
    K, loss = stack(X).mean(axis=0), loss_of("hinge", X, sign, 1.0)
    known = combination(K[None], np.ones(1))
    kernel = known._replace(stacked=np.empty((0, 24)))
    v, Kv, asked = np.zeros(24), np.zeros(24), []
    missing = 0
    while missing >= 0:
        missing = pair_steps(kernel, loss, v, Kv, 1e-8, 9999)[2]
        asked.append(missing)
        kernel.rows[missing], kernel.slot[missing] = K[missing], missing
    np.testing.assert_allclose(v, solve(K, loss)[0], atol=1e-6)
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("kind", LOSSES)
def test_a_gap_to_reach_lowers_the_violation(kind):
    X, sign = points(24)
    K, loss = stack(X).mean(axis=0), loss_of(kind, X, sign, 1.0)
    gaps = []
    for gap_tol in (1e-2, 1e-5):
        v, Kv = np.zeros(24), np.zeros(24)
        kernel = combination(K[None], np.ones(1))
        edges, _, _ = pair_steps(kernel, loss, v, Kv, 10.0, 9999, gap_tol)
        gaps.append(svm_gap(v, Kv, edges.mean(axis=1), loss))
        assert gaps[-1] <= gap_tol
    assert gaps[0] > 1e-5


@pytest.mark.parametrize(("n", "rounds"), [(200, 4), (500, 5)])
def test_steps_that_stall_are_left_later_where_samples_are_many(n, rounds):
    X, sign = points(n)
    K, loss = 1e5 * stack(X)[9], loss_of("epsilon-insensitive", X, sign, 1.0)
    v, Kv = np.zeros(n), np.zeros(n)
    kernel = combination(K[None], np.ones(1))
    n_steps = pair_steps(kernel, loss, v, Kv, 0.0, 10_000_000, 1e-12)[1]
    assert feasible(v, loss)
    # Looks come after so many rounds through the samples each, and the first one never ends it.
    assert n_steps >= 2 * rounds * n
    assert n_steps % (rounds * n) == 0


@pytest.mark.parametrize("kind", LOSSES)
def test_pair_steps_within_cells_are_those_of_the_whole_matrix(kind):
    """Where no kernel reaches beyond a cell, only the group's own values are brought up to date."""
    kernels, sign = kernels_of("all tasks", "specific")
    n = kernels.n_samples
    X, _ = points(n)
    loss = loss_of(kind, X, sign, 1.0)._replace(group_starts=kernels.cells.starts)
    weights = np.linspace(0.1, 1.0, kernels.n_weights)
    apart = kernels.combined(weights, 0.0, kernels.row_buffer())
    whole = combination(written_out(kernels), weights)
    found = []
    for kernel in (apart, whole):
        v, Kv = np.zeros(n), np.zeros(n)
        pair_steps(kernel, loss, v, Kv, 1e-9, 99_999)
        np.testing.assert_allclose(Kv, combined_matrix(whole) @ v, atol=1e-9)
        found.append(v)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


@pytest.mark.parametrize("kind", LOSSES)
def test_the_gap_that_ends_the_steps_is_the_duality_gap(kind):
    X, sign = points(30)
    loss = loss_of(kind, X, sign, 2.0)._replace(group_starts=np.array([0, 12, 30]))
    rng = np.random.default_rng(0)
    v = loss.feasible(rng.uniform(loss.lower, loss.upper))
    Kv, edges = rng.normal(size=30), rng.normal(size=(2, 2))
    state = np.zeros((9, 30))
    state[:5] = v, Kv, loss.target, loss.lower, loss.upper
    gap = _gap.__wrapped__  # compiled into its callers only
    found = gap(state, loss.epsilon, loss.group_starts, edges)
    rest = loss.target - Kv - np.repeat(edges.mean(axis=1), [12, 18])
    above, below = np.maximum(0.0, rest - loss.epsilon), np.maximum(0.0, -rest - loss.epsilon)
    primal = 0.5 * v @ Kv + loss.upper @ above - loss.lower @ below
    dual = loss.target @ v - loss.epsilon * np.abs(v).sum() - 0.5 * v @ Kv
    assert found == pytest.approx(primal - dual, rel=1e-9)
