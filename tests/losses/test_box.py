import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood.losses import (
    BoxLoss,
    EpsilonInsensitive,
    Hinge,
    best_gap,
    box_loss,
    dual_gain,
    joined,
    svm_values,
)
from tests.primal import best_intercepts, svm_gap, total_loss


def plain_loss(f, loss):
    high = np.maximum(0.0, loss.target - loss.epsilon - f)
    low = np.maximum(0.0, f - loss.target - loss.epsilon)
    return float(loss.upper @ high - loss.lower @ low)


def random_loss(rng, n, kind):
    cost = rng.uniform(0.2, 2.0, n)
    if kind == "hinge":
        return Hinge().box(rng.choice([-1.0, 1.0], n), cost)
    return EpsilonInsensitive(0.3).box(rng.normal(size=n), cost)


@pytest.mark.parametrize("kind", ["hinge", "epsilon-insensitive"])
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12))
@settings(deadline=None, max_examples=40)
def test_the_best_intercept_is_a_minimum(kind, seed, n):
    rng = np.random.default_rng(seed)
    loss, Kv = random_loss(rng, n, kind), rng.normal(size=n)
    b = best_intercepts(Kv, loss)
    best = plain_loss(Kv + b, loss)
    others = np.concatenate([loss.target - Kv, np.linspace(-6.0, 6.0, 101)])
    for shift in (-loss.epsilon, 0.0, loss.epsilon):
        assert all(best <= plain_loss(Kv + other + shift, loss) + 1e-12 for other in others)


def test_the_middle_of_a_flat_interval_is_taken():
    loss = Hinge().box(np.array([1.0, -1.0]), np.ones(2))
    assert best_intercepts(np.array([3.0, -3.0]), loss) == pytest.approx(0.0)
    assert best_intercepts(np.array([4.0, -3.0]), loss) == pytest.approx(-0.5)


@pytest.mark.parametrize("kind", ["hinge", "epsilon-insensitive"])
def test_values_equal_their_formulas(kind):
    rng = np.random.default_rng(1)
    loss, Kv = random_loss(rng, 9, kind), rng.normal(size=9)
    v = rng.uniform(loss.lower, loss.upper)
    expected = loss.target @ v - loss.epsilon * np.abs(v).sum()
    assert dual_gain(v, loss) == pytest.approx(expected)
    assert total_loss(Kv, np.array([0.4]), loss) == pytest.approx(plain_loss(Kv + 0.4, loss))
    gap = v @ Kv + plain_loss(Kv + 0.4, loss) - expected
    assert svm_gap(v, Kv, np.array([0.4]), loss) == pytest.approx(gap)


def test_the_gap_of_the_optimum_is_zero_and_positive_elsewhere():
    loss = Hinge().box(np.array([1.0, -1.0]), np.full(2, 10.0))
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    optimum = np.array([0.5, -0.5])
    assert svm_gap(optimum, K @ optimum, np.zeros(1), loss) == pytest.approx(0.0, abs=1e-12)
    worse = np.array([0.4, -0.4])
    assert svm_gap(worse, K @ worse, np.zeros(1), loss) > 1e-3


def test_both_losses_are_one_box():
    sign = np.array([1.0, -1.0])
    loss = Hinge().box(sign, np.array([2.0, 3.0]))
    f = np.array([0.25, 0.5])
    hinges = np.array([2.0, 3.0]) * np.maximum(0.0, 1.0 - sign * f)
    assert total_loss(f, np.zeros(1), loss) == pytest.approx(hinges.sum())
    tube = EpsilonInsensitive(0.1).box(np.array([1.0, -1.0]), np.array([2.0, 3.0]))
    tubes = np.array([2.0, 3.0]) * np.maximum(0.0, np.abs(tube.target - f) - 0.1)
    assert isinstance(tube, BoxLoss)
    assert total_loss(f, np.zeros(1), tube) == pytest.approx(tubes.sum())


@pytest.mark.parametrize("kind", ["hinge", "epsilon-insensitive"])
def test_every_group_has_its_own_intercept(kind):
    rng = np.random.default_rng(2)
    loss, Kv = random_loss(rng, 11, kind), rng.normal(size=11)
    grouped = loss._replace(group_starts=np.array([0, 4, 11]))
    parts = [
        BoxLoss(*(one[rows] for one in loss[:3]), loss.epsilon, np.array([0, size]))
        for rows, size in ((slice(0, 4), 4), (slice(4, 11), 7))
    ]
    found = best_intercepts(Kv, grouped)
    alone = [best_intercepts(Kv[:4], parts[0])[0], best_intercepts(Kv[4:], parts[1])[0]]
    np.testing.assert_allclose(found, alone)
    separate = plain_loss(Kv[:4] + alone[0], parts[0]) + plain_loss(Kv[4:] + alone[1], parts[1])
    assert total_loss(Kv, found, grouped) == pytest.approx(separate)


def sorted_intercept(Kv, loss):
    """The best intercept from all kinks in their order."""
    rest = loss.target - Kv
    kinks = np.concatenate([rest - loss.epsilon, rest + loss.epsilon])
    jumps = np.concatenate([loss.upper, -loss.lower])
    order = np.argsort(kinks[jumps > 0.0])
    kinks, jumps = kinks[jumps > 0.0][order], jumps[jumps > 0.0][order]
    slopes = np.cumsum(jumps) - loss.upper.sum()
    first = int(np.argmax(slopes >= -1e-12 * loss.upper.sum()))
    flat = abs(slopes[first]) <= 1e-12 * loss.upper.sum() and first + 1 < len(kinks)
    return 0.5 * (kinks[first] + kinks[first + 1]) if flat else kinks[first]


@pytest.mark.parametrize("kind", ["hinge", "epsilon-insensitive"])
@given(seed=st.integers(0, 10_000), n=st.integers(1, 60), ties=st.booleans(), equal=st.booleans())
@settings(deadline=None, max_examples=60)
def test_the_best_intercept_needs_no_order(kind, seed, n, ties, equal):
    rng = np.random.default_rng(seed)
    loss, Kv = random_loss(rng, n, kind), rng.normal(size=n)
    if ties:
        loss, Kv = loss._replace(target=np.round(loss.target, 1)), np.round(Kv, 1)
    if equal:
        loss = loss._replace(lower=np.sign(loss.lower), upper=np.sign(loss.upper))
    assert best_intercepts(Kv, loss)[0] == pytest.approx(sorted_intercept(Kv, loss), abs=1e-9)


@pytest.mark.parametrize("kind", ["hinge", "epsilon-insensitive"])
def test_all_values_at_once(kind):
    rng = np.random.default_rng(2)
    loss, (v, Kv) = random_loss(rng, 9, kind), rng.normal(size=(2, 9))
    intercepts, value, gain = svm_values(v, Kv, loss)
    np.testing.assert_array_equal(intercepts, best_intercepts(Kv, loss))
    assert value == pytest.approx(0.5 * v @ Kv + total_loss(Kv, intercepts, loss))
    assert gain == pytest.approx(dual_gain(v, loss))
    assert best_gap(v, Kv, loss) == pytest.approx(svm_gap(v, Kv, intercepts, loss))


def test_samples_have_one_intercept_unless_they_are_joined():
    loss = box_loss(np.zeros(3), -np.ones(3), np.ones(3))
    assert loss.group_starts.tolist() == [0, 3]
    assert loss.epsilon == 0.0


def test_losses_side_by_side_keep_their_order_and_take_the_groups_given():
    parts = [
        EpsilonInsensitive(0.2).box(np.array([1.0, 2.0]), np.array([3.0, 4.0])),
        EpsilonInsensitive(0.2).box(np.array([5.0]), np.array([6.0])),
    ]
    loss = joined(parts, np.array([0, 2, 3]))
    assert loss.target.tolist() == [1.0, 2.0, 5.0]
    assert loss.lower.tolist() == [-3.0, -4.0, -6.0]
    assert loss.upper.tolist() == [3.0, 4.0, 6.0]
    assert loss.epsilon == 0.2
    assert loss.group_starts.tolist() == [0, 2, 3]
    common = joined(parts, np.array([0, 3]))
    assert common.group_starts.tolist() == [0, 3]


def test_a_narrower_side_of_the_box_makes_a_quantile():
    """The best constant of the box from -(1 - q) to q is the q-quantile."""
    target = np.arange(11.0)
    loss = box_loss(target, np.full(11, -0.2), np.full(11, 0.8))
    assert best_intercepts(np.zeros(11), loss)[0] == pytest.approx(8.0)
