"""What a formulation is, and what it makes of eta and beta."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kernelhood._typing import Array
from kernelhood.penalties import Concave, Linear, Penalty, Quadratic

#: The default `beta` of estimators; less if many samples are solved together.
USUAL_BETA = 1e-3


class Coefficients(NamedTuple):
    r"""What a formulation makes of eta and beta.

    Attributes
    ----------
    s, r : float
        Of the closed form of the neighborhood, :math:`\kappa = s\,\theta - r\,\gamma`.
    a, f : float
        Price of the trace, and of half the squared Frobenius norm.

    Examples
    --------
    >>> from kernelhood.estimators.formulations import coefficients
    >>> coefficients("printed", eta=9.0, beta=1.0)._asdict()
    {'s': 0.818..., 'r': 0.090..., 'a': 0.181..., 'f': 0.363...}
    """

    s: float
    r: float
    a: float
    f: float


class Formulation(ABC):
    """Which problem we take the paper to solve.

    Examples
    --------
    >>> from kernelhood.estimators.formulations import as_formulation
    >>> as_formulation("corrected").canonical(C=2.0, eta=8.0, beta=4.0)
    {'C': 1.0, 'eta': 1.0, 'beta': 1.0}
    >>> as_formulation("normalized").in_domain(eta=1.0, beta=1.0)
    False
    """

    #: Whether the problem has one optimal value that every start leads to.
    convex = True

    #: Whether the penalties of models with the same C lie on a line, in the order of the path: the
    #: models that one solution solves then follow each other.
    straight = False

    #: Whether ``beta="auto"`` is another number for other samples.
    beta_follows_samples = False

    def usual_beta(self, C: float, n_samples: float) -> float:
        """Return what ``beta="auto"`` stands for.

        Parameters
        ----------
        C : float
            Price of a sample's loss.
        n_samples : float
            Number of samples that are solved together, or their total weight.
        """
        return USUAL_BETA

    @abstractmethod
    def coefficients(self, eta: float, beta: float) -> Coefficients:
        """Return (s, r, a, f); numbers may be columns of numbers."""

    @abstractmethod
    def penalty(
        self, terms: Coefficients, gram: Callable[[], Array], d: Array, n_samples: float
    ) -> Penalty:
        """Return the penalty of problem (P).

        Parameters
        ----------
        terms : Coefficients
            Of eta and beta.
        gram : callable
            Returns the Frobenius products of the base kernels, if they are needed.
        d : ndarray of shape (n_weights,)
            Their traces, times the cost of each.
        n_samples : float
            Number of samples, or their total weight: what a fixed trace is fixed to.
        """

    def canonical(self, C: Any, eta: Any, beta: Any) -> dict[str, Any]:
        """Return the representative of all (C, eta, beta) that give the same predictor.

        The predictor depends on :math:`a / C^2` and :math:`f / C^3` only. Numbers may be columns of
        numbers.
        """
        return {"C": C, "eta": eta, "beta": beta}

    def in_domain(self, eta: Any, beta: Any) -> Any:
        """Return whether the problem has a minimum; for arrays, where it has."""
        return True

    def why_outside(self, eta: float, beta: float) -> str:
        """Return why the problem has no minimum, and what to change."""
        raise NotImplementedError

    def path_order(self, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return where a model stands on a path: the price falls along it."""
        return (params["C"], -params["beta"], params["eta"])


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
        """Return less if many samples are solved together.

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
        """Let the reward rise along the path; it rises against the SVM's value if C falls."""
        return (-params["C"], params["beta"])


#: Readings of the paper's problem; the first one is the default.
FORMULATIONS: dict[str, Formulation] = {
    "normalized": Normalized(),
    "corrected": Corrected(),
    "printed": Printed(),
}


def as_formulation(formulation: str | Formulation) -> Formulation:
    """Return the formulation of a name; a formulation stays what it is."""
    if isinstance(formulation, Formulation):
        return formulation
    if formulation == "evidence":
        raise ValueError(
            "formulation='evidence' is gone: KernelhoodRegressor learns by the evidence, and has "
            "standard deviations."
        )
    if formulation not in FORMULATIONS:
        raise ValueError(
            f"formulation must be one of {', '.join(FORMULATIONS)}, got {formulation!r}."
        )
    return FORMULATIONS[formulation]


def in_domain(formulation: str | Formulation, eta: Any, beta: Any) -> Any:
    """Return whether a formulation's problem has a minimum; False for unknown names."""
    known = isinstance(formulation, Formulation) or formulation in FORMULATIONS
    return as_formulation(formulation).in_domain(eta, beta) if known else False


def why_outside(formulation: str | Formulation, eta: float, beta: float) -> str:
    """Return why a formulation's problem has no minimum, and what to change."""
    try:
        return as_formulation(formulation).why_outside(eta, beta)
    except ValueError as error:
        return str(error)


def check_domain(formulation: str | Formulation, eta: float, beta: float) -> None:
    """Raise a ValueError if the formulation's problem has no minimum."""
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
