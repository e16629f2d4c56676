"""The three readings of the paper's problem, each a penalty of the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelhood._typing import Array
from kernelhood.formulations.base import USUAL_BETA, Coefficients, Formulation
from kernelhood.penalties import Concave, Linear, Penalty, Quadratic


class Corrected(Formulation):
    """The paper's problem with its formulas corrected: the trace has a price."""

    straight = True

    def coefficients(self, eta: float, beta: float) -> Coefficients:
        """Return (s, r, a, f)."""
        return Coefficients(1.0, beta / eta, beta, 0.0)

    def penalty(
        self, terms: Coefficients, gram: Callable[[], Array], d: Array, n_samples: float
    ) -> Penalty:
        """Return the price of the trace."""
        return Linear(terms.a * d)

    def canonical(self, C: Any, eta: Any, beta: Any) -> dict[str, Any]:
        """Only beta / C^2 matters."""
        return {"C": 1.0, "eta": 1.0, "beta": beta / (C * C)}


class Printed(Formulation):
    """The iteration exactly as printed."""

    straight = True  # f = 1 - 7a/2

    def coefficients(self, eta: float, beta: float) -> Coefficients:
        """Return (s, r, a, f)."""
        rest = 2.0 * eta - 7.0 * beta
        return Coefficients(
            eta / rest, beta / rest, 2.0 * beta / rest, 2.0 * (eta - 7.0 * beta) / rest
        )

    def penalty(
        self, terms: Coefficients, gram: Callable[[], Array], d: Array, n_samples: float
    ) -> Penalty:
        """Return the price of the trace and of the squared norm."""
        return Quadratic(terms.a * d, terms.f * gram()) if terms.f > 0.0 else Linear(terms.a * d)

    def canonical(self, C: Any, eta: Any, beta: Any) -> dict[str, Any]:
        """Only C and beta / eta matter."""
        return {"C": C, "eta": eta / beta, "beta": 1.0}

    def in_domain(self, eta: Any, beta: Any) -> Any:
        """Return whether the problem is bounded below."""
        return eta >= 7.0 * beta

    def why_outside(self, eta: float, beta: float) -> str:
        """Return what to change."""
        return (
            "formulation='printed' is bounded below only for eta >= 7 * beta: got "
            f"eta={eta:g}, beta={beta:g}; use eta >= {7.0 * beta:g}."
        )


class Normalized(Formulation):
    """The printed regulariser, made bounded by fixing the trace of every task's kernel."""

    convex = False
    beta_follows_samples = True

    def usual_beta(self, C: float, n_samples: float) -> float:
        """Return less where many samples are solved together.

        The reward of a kernel grows with the square of the samples, the loss with their number:
        the reward is at most half of what all losses together can be.
        """
        return min(USUAL_BETA, 0.25 * C / n_samples)

    def coefficients(self, eta: float, beta: float) -> Coefficients:
        """Return (s, r, a, f)."""
        rest = eta - 2.0 * beta
        return Coefficients(eta / rest, beta / rest, 0.0, -2.0 * eta * beta / rest)

    def penalty(
        self, terms: Coefficients, gram: Callable[[], Array], d: Array, n_samples: float
    ) -> Penalty:
        """Return the reward at a fixed trace."""
        return Concave(d, n_samples, gram(), -terms.f)

    def canonical(self, C: Any, eta: Any, beta: Any) -> dict[str, Any]:
        """Only C and the reward w matter; w is four times the beta that stands for it."""
        reward = 2.0 * eta * beta / (eta - 2.0 * beta)
        return {"C": C, "eta": reward, "beta": 0.25 * reward}

    def in_domain(self, eta: Any, beta: Any) -> Any:
        """Return whether the reward is finite."""
        return eta > 2.0 * beta

    def why_outside(self, eta: float, beta: float) -> str:
        """Return what to change."""
        return (
            "formulation='normalized' needs eta > 2 * beta: got "
            f"eta={eta:g}, beta={beta:g}; use eta > {2.0 * beta:g}."
        )

    def path_order(self, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Let the reward rise along the path; it rises against the SVM's value where C falls."""
        return (-params["C"], params["beta"])
