import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood.losses import DualTerms, epsilon_insensitive, hinge
from kernelhood.solvers.svm_value import (
    best_gap,
    best_intercepts,
    linear_term,
    svm_gap,
    svm_values,
    total_loss,
)


def plain_loss(f, terms):
    high = np.maximum(0.0, terms.target - terms.epsilon - f)
    low = np.maximum(0.0, f - terms.target - terms.epsilon)
    return float(terms.upper @ high - terms.lower @ low)


def random_terms(rng, n, loss):
    penalty = rng.uniform(0.2, 2.0, n)
    if loss == "hinge":
        return hinge(rng.choice([-1.0, 1.0], n), penalty)
    return epsilon_insensitive(rng.normal(size=n), penalty, 0.3)


@pytest.mark.parametrize("loss", ["hinge", "epsilon-insensitive"])
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12))
@settings(deadline=None, max_examples=40)
def test_the_best_intercept_is_a_minimum(loss, seed, n):
    rng = np.random.default_rng(seed)
    terms, Kv = random_terms(rng, n, loss), rng.normal(size=n)
    b = best_intercepts(Kv, terms)
    best = plain_loss(Kv + b, terms)
    others = np.concatenate([terms.target - Kv, np.linspace(-6.0, 6.0, 101)])
    for shift in (-terms.epsilon, 0.0, terms.epsilon):
        assert all(best <= plain_loss(Kv + other + shift, terms) + 1e-12 for other in others)


def test_the_middle_of_a_flat_interval_is_taken():
    terms = hinge(np.array([1.0, -1.0]), np.ones(2))
    assert best_intercepts(np.array([3.0, -3.0]), terms) == pytest.approx(0.0)
    assert best_intercepts(np.array([4.0, -3.0]), terms) == pytest.approx(-0.5)


@pytest.mark.parametrize("loss", ["hinge", "epsilon-insensitive"])
def test_values_equal_their_formulas(loss):
    rng = np.random.default_rng(1)
    terms, Kv = random_terms(rng, 9, loss), rng.normal(size=9)
    v = rng.uniform(terms.lower, terms.upper)
    expected = terms.target @ v - terms.epsilon * np.abs(v).sum()
    assert linear_term(v, terms) == pytest.approx(expected)
    assert total_loss(Kv, np.array([0.4]), terms) == pytest.approx(plain_loss(Kv + 0.4, terms))
    gap = v @ Kv + plain_loss(Kv + 0.4, terms) - expected
    assert svm_gap(v, Kv, np.array([0.4]), terms) == pytest.approx(gap)


def test_the_gap_of_the_optimum_is_zero_and_positive_elsewhere():
    terms = hinge(np.array([1.0, -1.0]), np.full(2, 10.0))
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    optimum = np.array([0.5, -0.5])
    assert svm_gap(optimum, K @ optimum, np.zeros(1), terms) == pytest.approx(0.0, abs=1e-12)
    worse = np.array([0.4, -0.4])
    assert svm_gap(worse, K @ worse, np.zeros(1), terms) > 1e-3


def test_terms_of_both_losses_are_one_loss():
    sign = np.array([1.0, -1.0])
    terms = hinge(sign, np.array([2.0, 3.0]))
    f = np.array([0.25, 0.5])
    hinges = np.array([2.0, 3.0]) * np.maximum(0.0, 1.0 - sign * f)
    assert total_loss(f, np.zeros(1), terms) == pytest.approx(hinges.sum())
    tube = epsilon_insensitive(np.array([1.0, -1.0]), np.array([2.0, 3.0]), 0.1)
    tubes = np.array([2.0, 3.0]) * np.maximum(0.0, np.abs(tube.target - f) - 0.1)
    assert isinstance(tube, DualTerms)
    assert total_loss(f, np.zeros(1), tube) == pytest.approx(tubes.sum())


@pytest.mark.parametrize("loss", ["hinge", "epsilon-insensitive"])
def test_every_group_has_its_own_intercept(loss):
    rng = np.random.default_rng(2)
    terms, Kv = random_terms(rng, 11, loss), rng.normal(size=11)
    grouped = terms._replace(starts=np.array([0, 4, 11]))
    parts = [
        DualTerms(*(one[rows] for one in terms[:3]), terms.epsilon, np.array([0, size]))
        for rows, size in ((slice(0, 4), 4), (slice(4, 11), 7))
    ]
    found = best_intercepts(Kv, grouped)
    alone = [best_intercepts(Kv[:4], parts[0])[0], best_intercepts(Kv[4:], parts[1])[0]]
    np.testing.assert_allclose(found, alone)
    separate = plain_loss(Kv[:4] + alone[0], parts[0]) + plain_loss(Kv[4:] + alone[1], parts[1])
    assert total_loss(Kv, found, grouped) == pytest.approx(separate)


def sorted_intercept(Kv, terms):
    """The best intercept from all kinks in their order."""
    rest = terms.target - Kv
    kinks = np.concatenate([rest - terms.epsilon, rest + terms.epsilon])
    jumps = np.concatenate([terms.upper, -terms.lower])
    order = np.argsort(kinks[jumps > 0.0])
    kinks, jumps = kinks[jumps > 0.0][order], jumps[jumps > 0.0][order]
    slopes = np.cumsum(jumps) - terms.upper.sum()
    first = int(np.argmax(slopes >= -1e-12 * terms.upper.sum()))
    flat = abs(slopes[first]) <= 1e-12 * terms.upper.sum() and first + 1 < len(kinks)
    return 0.5 * (kinks[first] + kinks[first + 1]) if flat else kinks[first]


@pytest.mark.parametrize("loss", ["hinge", "epsilon-insensitive"])
@given(seed=st.integers(0, 10_000), n=st.integers(1, 60), ties=st.booleans(), equal=st.booleans())
@settings(deadline=None, max_examples=60)
def test_the_best_intercept_needs_no_order(loss, seed, n, ties, equal):
    rng = np.random.default_rng(seed)
    terms, Kv = random_terms(rng, n, loss), rng.normal(size=n)
    if ties:
        terms, Kv = terms._replace(target=np.round(terms.target, 1)), np.round(Kv, 1)
    if equal:
        terms = terms._replace(lower=np.sign(terms.lower), upper=np.sign(terms.upper))
    assert best_intercepts(Kv, terms)[0] == pytest.approx(sorted_intercept(Kv, terms), abs=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "epsilon-insensitive"])
def test_all_values_at_once(loss):
    rng = np.random.default_rng(2)
    terms, (v, Kv) = random_terms(rng, 9, loss), rng.normal(size=(2, 9))
    intercepts, value, gain = svm_values(v, Kv, terms)
    np.testing.assert_array_equal(intercepts, best_intercepts(Kv, terms))
    assert value == pytest.approx(0.5 * v @ Kv + total_loss(Kv, intercepts, terms))
    assert gain == pytest.approx(linear_term(v, terms))
    assert best_gap(v, Kv, terms) == pytest.approx(svm_gap(v, Kv, intercepts, terms))
