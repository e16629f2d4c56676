"""Weights, and mostly the noise, by the likelihood of the targets: no reading of the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelhood._typing import Array
from kernelhood.formulations.base import Coefficients, Formulation
from kernelhood.penalties import LogDeterminant, Penalty


class Evidence(Formulation):
    """The likelihood of the targets under a Gaussian process: half the log determinant as price.

    ``formulation="evidence"`` stands for ``Evidence()``. Only for the squared loss.

    Parameters
    ----------
    learn_noise : bool
        Whether the variance of the noise is learned, too; C, eta and beta are then of no use.
        Otherwise it is ``1 / C`` for a sample of weight 1, in the units that the targets are
        solved in.

    Examples
    --------
    >>> Evidence(), Evidence(learn_noise=False)
    (Evidence(learn_noise=True), Evidence(learn_noise=False))
    """

    convex = False

    def __init__(self, learn_noise: bool = True) -> None:
        self.learn_noise = learn_noise

    def __repr__(self) -> str:
        return f"Evidence(learn_noise={self.learn_noise})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evidence) and self.learn_noise == other.learn_noise

    def __hash__(self) -> int:
        return hash((Evidence, self.learn_noise))

    def coefficients(self, eta: float, beta: float) -> Coefficients:
        """Return coefficients with which the neighborhood is the task's kernel itself."""
        return Coefficients(1.0, 0.0, 0.0, 0.0)

    def penalty(
        self, terms: Coefficients, gram: Callable[[], Array], d: Array, n_samples: float
    ) -> Penalty:
        """Return half the log determinant, of which the traces are the first slope."""
        return LogDeterminant(d, self.learn_noise)

    def canonical(self, C: Any, eta: Any, beta: Any) -> dict[str, Any]:
        """Only C matters, and only where it is the noise."""
        ones = [1.0 + 0.0 * one for one in (C, eta, beta)]
        return {"C": ones[0] if self.learn_noise else C, "eta": ones[1], "beta": ones[2]}
