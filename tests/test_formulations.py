import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood.formulations import FORMULATIONS, check_domain, coefficients, weight_penalty

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
    assert found.fixed_trace


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


def test_penalties():
    G, d = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([2.0, 5.0])
    priced = weight_penalty(coefficients("printed", 16.0, 1.0), G, d, 7.0)
    np.testing.assert_allclose(priced.linear, d * 2.0 / 25.0)
    np.testing.assert_allclose(priced.quadratic, G * 18.0 / 25.0)
    assert not priced.row.any()
    fixed = weight_penalty(coefficients("normalized", 16.0, 1.0), G, d, 7.0)
    np.testing.assert_array_equal(fixed.row, d)
    assert fixed.budget == 7.0
    assert not fixed.linear.any()
    assert not fixed.quadratic.any()
