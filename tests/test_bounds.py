"""The Rademacher bound against an estimate, and against a class small enough to enumerate."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelhood as kh
from kernelhood.inspection.model import (
    BoundTerms,
    _largest_gain,
    monte_carlo_complexity,
    rademacher_bound,
)
from tests.references import optimum


def draw(seed, sizes=(5, 8, 4)):
    rng = np.random.default_rng(seed)
    bank = kh.KernelBank([kh.Linear(), kh.Gaussian(0.6), kh.Gaussian(2.0)])
    stacks = [bank(rng.normal(size=(n, 2))) for n in sizes]
    neighborhoods = rng.uniform(0.0, 1.0, size=(len(sizes), 3))
    return stacks, neighborhoods


def terms_of(stacks, neighborhoods):
    grams = [np.einsum("mij,lij->ml", Ks, Ks) for Ks in stacks]
    traces = [np.einsum("mii->m", Ks) for Ks in stacks]
    return BoundTerms.from_tasks(grams, traces, neighborhoods)


def gains_of(stacks, signs):
    """Return sigma'K sigma for every task and kernel."""
    parts = np.split(np.array(signs), np.cumsum([Ks.shape[1] for Ks in stacks])[:-1])
    return [np.einsum("i,mij,j->m", s, Ks, s) for s, Ks in zip(parts, stacks, strict=True)]


@given(seed=st.integers(0, 1000), log_rho=st.floats(-2.0, 2.0), radius=st.floats(0.1, 5.0))
@settings(max_examples=5, deadline=None)
def test_complexity_below_geometric_below_arithmetic(seed, log_rho, radius):
    """The expectation over all signs, so that no chance is in it."""
    stacks, neighborhoods = draw(seed, sizes=(2, 2, 2))
    grams = [np.einsum("mij,lij->ml", Ks, Ks) for Ks in stacks]
    size = {"rho": 10.0**log_rho, "radius": radius}
    values = [
        _largest_gain(grams, gains_of(stacks, (1.0, *signs)), neighborhoods, size["rho"])
        for signs in itertools.product([-1.0, 1.0], repeat=5)
    ]
    exact = np.mean(np.sqrt(radius * np.array(values))) / 6
    terms = terms_of(stacks, neighborhoods)
    tight = rademacher_bound(terms, 6, **size)
    loose = rademacher_bound(terms, 6, form="arithmetic", **size)
    assert 0.0 < exact <= tight <= loose * (1.0 + 1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_the_estimate_is_below_the_bound(seed):
    stacks, neighborhoods = draw(seed)
    estimate = monte_carlo_complexity(stacks, neighborhoods, rho=100.0, n_draws=100, random_state=0)
    bound = rademacher_bound(terms_of(stacks, neighborhoods), 17, rho=100.0)
    assert 0.8 * bound < estimate < bound


def test_the_estimate_refuses_a_neighborhood_without_kernels():
    stacks, _ = draw(0)
    with pytest.raises(ValueError, match="rho is too small: no kernel of weights >= 0"):
        monte_carlo_complexity(stacks, -np.ones((3, 3)), rho=0.1, n_draws=1)


def largest_gain(stacks, gains, neighborhoods, rho):
    """Return the supremum over theta by a conic solver."""
    thetas = [cp.Variable(3, nonneg=True) for _ in stacks]
    distance = 0.0
    for Ks, theta, kappa in zip(stacks, thetas, neighborhoods, strict=True):
        distance += cp.sum_squares(Ks.reshape(3, -1).T @ (theta - kappa))
    value = sum(gain @ theta for gain, theta in zip(gains, thetas, strict=True))
    return optimum(cp.Problem(cp.Maximize(value), [distance <= rho]))


def test_the_estimate_is_the_mean_over_signs():
    stacks, neighborhoods = draw(3, sizes=(3, 2))
    rho, radius = 0.5, 2.0
    values = []
    for signs in itertools.product([-1.0, 1.0], repeat=4):  # turned round they are the same
        best = largest_gain(stacks, gains_of(stacks, (1.0, *signs)), neighborhoods, rho)
        values.append(np.sqrt(radius * best) / 5)
    exact = np.mean(values)
    estimate = monte_carlo_complexity(
        stacks, neighborhoods, rho=rho, radius=radius, n_draws=200, random_state=0
    )
    error = np.std(values) / np.sqrt(200)
    assert abs(estimate - exact) < 4.0 * error
    assert exact <= rademacher_bound(terms_of(stacks, neighborhoods), 5, rho=rho, radius=radius)


def test_more_tasks_of_the_same_kind_lower_the_bound_as_the_root_of_their_number():
    """Every term of the bound is a sum over tasks, rho included; the prefactor is 1/N."""
    stacks, neighborhoods = draw(5, sizes=(6,))
    once = rademacher_bound(terms_of(stacks, neighborhoods), 6, rho=1.0)
    four = rademacher_bound(terms_of(stacks * 4, np.repeat(neighborhoods, 4, axis=0)), 24, rho=4.0)
    assert four == pytest.approx(once / np.sqrt(4.0))


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_the_printed_prefactor_is_larger_by_the_root_of_the_number_of_tasks(n_tasks):
    """(1/n) sqrt(R / 2T) with n samples a task, where the steps give (1/(nT)) sqrt(R / 2)."""
    stacks, neighborhoods = draw(5, sizes=(6,) * n_tasks)
    terms, size = terms_of(stacks, neighborhoods), {"rho": 2.0, "radius": 3.0}
    mixed = np.sqrt((terms.identity + 2 * terms.rank) * 4 * size["rho"])
    printed = np.sqrt(size["radius"] / (2 * n_tasks)) * np.sqrt(terms.overlap + mixed) / 6
    assert rademacher_bound(terms, 6 * n_tasks, form="printed", **size) == pytest.approx(printed)
    derived = rademacher_bound(terms, 6 * n_tasks, **size)
    assert printed == pytest.approx(np.sqrt(n_tasks) * derived)


def mean_product(A, B):
    """Return the expectation of (s'As)(s'Bs) over random signs s, by all of them."""
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=len(A))))
    return np.mean(
        np.einsum("si,ij,sj->s", signs, A, signs) * np.einsum("si,ij,sj->s", signs, B, signs)
    )


def test_the_trace_lemma_needs_symmetric_matrices():
    A, B = np.random.default_rng(0).normal(size=(2, 4, 4))
    traces = np.trace(A) * np.trace(B) - 2.0 * np.sum(np.diag(A) * np.diag(B))
    general = traces + np.trace(A @ B) + np.trace(A @ B.T)
    assert mean_product(A, B) == pytest.approx(general)
    symmetric = A + A.T
    lemma = 2.0 * traces + 2.0 * np.trace(symmetric @ B)
    assert mean_product(symmetric, B) == pytest.approx(lemma)
    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])  # s'As = 0, and tr AA = -2
    assert mean_product(skew, skew) == 0.0
    assert 2.0 * np.trace(skew @ skew) == -4.0


def test_the_estimate_is_close_to_the_bound_for_many_tasks():
    """A bound that is larger by sqrt(n_tasks) would be off by a factor of two here."""
    stacks, neighborhoods = draw(7, sizes=(8, 8, 8, 8))
    size = {"rho": 1e-6, "radius": 1.0}
    bound = rademacher_bound(terms_of(stacks, neighborhoods), 32, **size)
    estimate = monte_carlo_complexity(stacks, neighborhoods, n_draws=100, random_state=0, **size)
    assert 0.8 * bound < estimate < bound


def test_seeds_repeat():
    stacks, neighborhoods = draw(1)
    options = {"rho": 1.0, "n_draws": 3}
    one, two, other = (
        monte_carlo_complexity(stacks, neighborhoods, random_state=seed, **options)
        for seed in (0, 0, 1)
    )
    assert one == two != other


def test_the_bound_grows_with_both_radii():
    terms = terms_of(*draw(2))
    assert rademacher_bound(terms, 17, rho=2.0) > rademacher_bound(terms, 17, rho=1.0)
    twice = rademacher_bound(terms, 17, rho=1.0, radius=4.0)
    assert twice == pytest.approx(2.0 * rademacher_bound(terms, 17, rho=1.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rho": -1.0}, "rho must be at least 0, got -1.0"),
        ({"rho": np.nan}, "rho must be at least 0"),
        ({"rho": 1.0, "radius": -2.0}, "radius must be at least 0, got -2.0"),
        (
            {"rho": 1.0, "form": "loose"},
            "form must be one of geometric, arithmetic, printed, got 'loose'",
        ),
    ],
)
def test_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        rademacher_bound(terms_of(*draw(0)), 17, **options)


def test_a_neighborhood_that_holds_no_kernel():
    terms = BoundTerms(overlap=1.0, identity=2.0, rank=1, excess=-8.0)
    with pytest.raises(ValueError, match="rho is too small"):
        rademacher_bound(terms, 2, rho=1.0)


def test_a_sample_of_weight_two_counts_twice(labelled):
    weight = np.where(np.arange(len(labelled.y)) % 2 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(labelled.y)), weight.astype(int))
    one = kh.MTONMKLClassifier(kernels="paper", C=3.0, tol=1e-9)
    one.fit(labelled.X, labelled.y, task=labelled.task, sample_weight=weight)
    two = kh.MTONMKLClassifier(kernels="paper", C=3.0, tol=1e-9)
    two.fit(labelled.X[twice], labelled.y[twice], task=labelled.task[twice])
    assert one.n_samples_.tolist() == two.n_samples_.tolist()
    assert one.rademacher_bound(2.0) == pytest.approx(two.rademacher_bound(2.0), rel=1e-4)
