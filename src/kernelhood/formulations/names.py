"""Formulations by name, and the parameters that each of them can be solved with."""

from __future__ import annotations

from typing import Any

from kernelhood.formulations.base import Coefficients, Formulation
from kernelhood.formulations.evidence import Evidence
from kernelhood.formulations.paper import Corrected, Normalized, Printed

#: Readings of the paper's problem; the first one is the default.
FORMULATIONS: dict[str, Formulation] = {
    "normalized": Normalized(),
    "corrected": Corrected(),
    "printed": Printed(),
}
#: All names that the parameter `formulation` takes.
NAMED: dict[str, Formulation] = {**FORMULATIONS, "evidence": Evidence()}


def as_formulation(formulation: str | Formulation) -> Formulation:
    """Return the formulation of a name; a formulation stays what it is."""
    if isinstance(formulation, Formulation):
        return formulation
    if formulation not in NAMED:
        raise ValueError(
            f"formulation must be one of {', '.join(FORMULATIONS)}, got {formulation!r}; "
            "regression with loss='squared' has 'evidence', too."
        )
    return NAMED[formulation]


def in_domain(formulation: str | Formulation, eta: Any, beta: Any) -> Any:
    """Return whether a formulation's problem has a minimum; no name that is not one has."""
    known = isinstance(formulation, Formulation) or formulation in NAMED
    return as_formulation(formulation).in_domain(eta, beta) if known else False


def why_outside(formulation: str | Formulation, eta: float, beta: float) -> str:
    """Return why a formulation's problem has no minimum, and what to change."""
    try:
        return as_formulation(formulation).why_outside(eta, beta)
    except ValueError as error:
        return str(error)


def check_domain(formulation: str | Formulation, eta: float, beta: float) -> None:
    """Raise a ValueError where the formulation's problem has no minimum."""
    if not in_domain(formulation, eta, beta):
        raise ValueError(why_outside(formulation, eta, beta))


def coefficients(formulation: str | Formulation, eta: float, beta: float) -> Coefficients:
    """Return (s, r, a, f) of a formulation.

    Raises
    ------
    ValueError
        If eta and beta are outside the formulation's domain.

    Examples
    --------
    >>> coefficients("corrected", eta=16.0, beta=2.0)
    Coefficients(s=1.0, r=0.125, a=2.0, f=0.0)
    """
    check_domain(formulation, eta, beta)
    return as_formulation(formulation).coefficients(eta, beta)
