"""From (C, eta, beta) to problem (P): the three formulations of MT-ONMKL.

Whatever the formulation, the best neighborhood-defining matrix is a combination of the base
kernels, Khat_t = sum_m kappa_t^m K_t^m with kappa_t = s theta_t - r gamma_t, and putting it in
leaves one problem in the weights alone,

    min over theta_t >= 0 of   S_t(K_t) + a d_t'theta_t + (f/2) theta_t'G_t theta_t.

`normalized` has a negative f and fixes the trace theta_t'd_t = n_t instead of pricing it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.solvers.penalty import Penalty

#: The first one is the default.
FORMULATIONS = ("normalized", "corrected", "printed")


class Coefficients(NamedTuple):
    """What a formulation makes of eta and beta.

    Attributes
    ----------
    s, r : float
        Of the closed form of the neighborhood, kappa = s theta - r gamma.
    a, f : float
        Price of the trace, and of half the squared Frobenius norm.
    fixed_trace : bool
        Whether the trace is fixed to n_t instead of priced.
    """

    s: float
    r: float
    a: float
    f: float
    fixed_trace: bool


def coefficients(formulation: str, eta: float, beta: float) -> Coefficients:
    """Return (s, r, a, f) of a formulation.

    Raises
    ------
    ValueError
        If eta and beta are outside the formulation's domain.

    Examples
    --------
    >>> coefficients("corrected", eta=16.0, beta=2.0)
    Coefficients(s=1.0, r=0.125, a=2.0, f=0.0, fixed_trace=False)
    """
    check_domain(formulation, eta, beta)
    if formulation == "corrected":
        return Coefficients(1.0, beta / eta, beta, 0.0, False)
    if formulation == "printed":
        rest = 2.0 * eta - 7.0 * beta
        return Coefficients(
            eta / rest, beta / rest, 2.0 * beta / rest, 2.0 * (eta - 7.0 * beta) / rest, False
        )
    rest = eta - 2.0 * beta
    return Coefficients(eta / rest, beta / rest, 0.0, -2.0 * eta * beta / rest, True)


def check_domain(formulation: str, eta: float, beta: float) -> None:
    """Raise a ValueError where the formulation's problem has no minimum."""
    if not in_domain(formulation, eta, beta):
        raise ValueError(why_outside(formulation, eta, beta))


def in_domain(formulation: str, eta: Any, beta: Any) -> Any:
    """Return whether the formulation's problem has a minimum; for arrays, where it has."""
    if formulation == "printed":
        return eta >= 7.0 * beta
    if formulation == "normalized":
        return eta > 2.0 * beta
    return formulation in FORMULATIONS


def why_outside(formulation: str, eta: float, beta: float) -> str:
    """Return why the formulation's problem has no minimum, and what to change."""
    if formulation == "printed":
        return (
            "formulation='printed' is bounded below only for eta >= 7 * beta: got "
            f"eta={eta:g}, beta={beta:g}; use eta >= {7.0 * beta:g}."
        )
    if formulation == "normalized":
        return (
            "formulation='normalized' needs eta > 2 * beta: got "
            f"eta={eta:g}, beta={beta:g}; use eta > {2.0 * beta:g}."
        )
    return f"formulation must be one of {', '.join(FORMULATIONS)}, got {formulation!r}."


def weight_penalty(terms: Coefficients, G: Array, d: Array, n_samples: float) -> Penalty:
    """Return the penalty of problem (P) for one task; without f where the trace is fixed.

    Parameters
    ----------
    terms : Coefficients
        Of the formulation.
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the base kernels.
    d : ndarray of shape (n_kernels,)
        Their traces.
    n_samples : float
        Number of samples, or their total weight: what a fixed trace is fixed to.
    """
    none = np.zeros_like(d)
    if terms.fixed_trace:
        return Penalty(none, np.zeros_like(G), d, n_samples)
    return Penalty(terms.a * d, terms.f * G, none, 0.0)
