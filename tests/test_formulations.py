import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood import MTONMKLRegressor
from kernelhood.estimators.formulations import FORMULATIONS, check_domain, coefficients
from kernelhood.penalties import Concave, Linear, Quadratic

RATIO = {"corrected": 0.01, "printed": 7.0, "normalized": 2.1}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@given(beta=st.floats(1e-3, 1e3), above=st.floats(0.0, 50.0), theta=st.floats(0.0, 5.0))
@settings(max_examples=30, deadline=None)
def test_the_coefficients_come_from_minimising_over_the_neighborhood(
    formulation, beta, above, theta
):
    """With one kernel of unit norm and trace d, everything is a function of one number kappa."""
    eta = (RATIO[formulation] + above) * beta
    found = coefficients(formulation, eta, beta)
    d = 1.3
    kappa = found.s * theta - found.r * d
    if formulation == "printed":
        # (eta - 4 beta + beta / 2) kappa = (eta theta - beta d) / 2, and the slope of the weight
        # step, theta^2 - theta (2 kappa + q), is a d + f theta - q.
        assert (eta - 3.5 * beta) * kappa == pytest.approx(0.5 * (eta * theta - beta * d))
        assert found.a * d + found.f * theta == pytest.approx(2.0 * (theta - kappa), abs=1e-9)
        return
    c_factor = 2.0 if formulation == "corrected" else 4.0

    def cost(kappa, theta):
        omega = 2.0 * d * kappa + (2.0 - c_factor) * kappa**2
        return 0.5 * eta * (theta - kappa) ** 2 + 0.5 * beta * omega

    slope = -eta * (theta - kappa) + beta * (d + (2.0 - c_factor) * kappa)
    assert slope == pytest.approx(0.0, abs=1e-8 * eta * (1.0 + abs(kappa)))
    reduced = cost(kappa, theta) - cost(-found.r * d, 0.0)
    if formulation == "corrected":
        assert reduced == pytest.approx(found.a * d * theta, rel=1e-6, abs=1e-6 * eta)
        assert found.f == 0.0
        return
    # At a fixed trace the linear part is a constant; the quadratic part is f/2.
    linear = eta * beta / (eta - 2.0 * beta) * d * theta
    expected = linear + 0.5 * found.f * theta**2
    assert reduced == pytest.approx(expected, rel=1e-6, abs=1e-6 * eta)
    assert not FORMULATIONS[formulation].convex


@pytest.mark.parametrize(
    ("formulation", "eta", "allowed"),
    [
        ("printed", 7.0, True),
        ("printed", 6.999, False),
        ("normalized", 2.001, True),
        ("normalized", 2.0, False),
        ("corrected", 1e-6, True),
    ],
)
def test_the_domain(formulation, eta, allowed):
    if allowed:
        check_domain(formulation, eta, 1.0)
        return
    with pytest.raises(ValueError, match=f"formulation='{formulation}' .* eta={eta:g}, beta=1"):
        check_domain(formulation, eta, 1.0)


def test_unknown_formulations_are_refused():
    with pytest.raises(ValueError, match="one of normalized, corrected, printed, got 'exact'"):
        coefficients("exact", 16.0, 1.0)


def test_convex_formulations_are_those_without_a_reward():
    assert [name for name, one in FORMULATIONS.items() if one.convex] == ["corrected", "printed"]


G, D = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([2.0, 5.0])


def penalty_of(formulation, eta, beta=1.0):
    terms = coefficients(formulation, eta, beta)
    return FORMULATIONS[formulation].penalty(terms, lambda: G, D, 7.0)


def test_printed_prices_the_trace_and_the_norm():
    priced = penalty_of("printed", 16.0)
    assert type(priced) is Quadratic
    np.testing.assert_allclose(priced.price, D * 2.0 / 25.0)
    np.testing.assert_allclose(priced.Q, G * 18.0 / 25.0)


def test_at_the_edge_of_its_domain_printed_prices_the_trace_alone():
    priced = penalty_of("printed", 7.0)
    assert type(priced) is Linear
    np.testing.assert_allclose(priced.price, D * 2.0 / 7.0)


def test_corrected_prices_the_trace_without_asking_for_products():
    terms = coefficients("corrected", 16.0, 3.0)
    priced = FORMULATIONS["corrected"].penalty(terms, lambda: pytest.fail("asked"), D, 7.0)
    assert type(priced) is Linear
    np.testing.assert_array_equal(priced.price, 3.0 * D)


def test_normalized_rewards_the_norm_at_a_fixed_trace():
    fixed = penalty_of("normalized", 16.0)
    assert type(fixed) is Concave
    np.testing.assert_array_equal(fixed.row, D)
    assert fixed.budget == 7.0
    assert not fixed.price.any()
    assert not fixed.ridge.any()
    np.testing.assert_array_equal(fixed.G, G)
    assert fixed.reward == pytest.approx(32.0 / 14.0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@given(
    C=st.floats(0.01, 100.0),
    beta=st.floats(0.01, 100.0),
    above=st.floats(0.01, 20.0),
)
@settings(max_examples=30, deadline=None)
def test_the_representative_has_the_same_predictor_and_is_its_own(formulation, C, beta, above):
    """The predictor depends on a / C^2 and f / C^3 only."""
    eta = (RATIO[formulation] + above) * beta
    one = FORMULATIONS[formulation].canonical(C, eta, beta)
    here = coefficients(formulation, eta, beta)
    there = coefficients(formulation, one["eta"], one["beta"])
    assert there.a / one["C"] ** 2 == pytest.approx(here.a / C**2)
    assert there.f / one["C"] ** 3 == pytest.approx(here.f / C**3)
    again = FORMULATIONS[formulation].canonical(**one)
    assert again == pytest.approx(one)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_along_a_path_the_prices_fall_and_rewards_rise(formulation):
    reading = FORMULATIONS[formulation]
    params = [{"C": C, "eta": 300.0, "beta": beta} for C in (1.0, 2.0) for beta in (1.0, 4.0)]
    for first, second in itertools.pairwise(sorted(params, key=reading.path_order)):
        a, b = (coefficients(formulation, one["eta"], one["beta"]) for one in (first, second))
        if first["C"] == second["C"]:
            assert (b.a, b.f) < (a.a, a.f)
        else:
            assert (first["C"] < second["C"]) == reading.convex


def test_the_evidence_has_moved():
    with pytest.raises(ValueError, match="KernelhoodRegressor learns by the evidence"):
        MTONMKLRegressor(formulation="evidence", loss="squared").fit([[0.0], [1.0]], [0.0, 1.0])
