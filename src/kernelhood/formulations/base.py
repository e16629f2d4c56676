"""What a formulation is, and what it makes of eta and beta."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kernelhood._typing import Array
from kernelhood.penalties import Penalty

#: The `beta` of estimators as they come; less where many samples are solved together.
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
    >>> from kernelhood.formulations import coefficients
    >>> coefficients("printed", eta=9.0, beta=1.0)._asdict()
    {'s': 0.818..., 'r': 0.090..., 'a': 0.181..., 'f': 0.363...}
    """

    s: float
    r: float
    a: float
    f: float


class Formulation(ABC):
    """How the paper's iteration is read as a problem.

    Examples
    --------
    >>> from kernelhood.formulations import as_formulation
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
            Returns the Frobenius products of the base kernels, where they are needed.
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
