"""Units in which the box and the targets of an SVM are of order one."""

from __future__ import annotations

from typing import NamedTuple

from kernelhood.losses import DualTerms
from kernelhood.solvers.penalty import Penalty


class Units(NamedTuple):
    """Sizes of the box and the target and the target's mean: the solver sees 1, 1 and 0."""

    box: float
    target: float
    centre: float

    @property
    def weight(self) -> float:
        """The unit of the kernel weights."""
        return self.target / self.box

    @property
    def value(self) -> float:
        """The unit of the objective."""
        return self.target * self.box

    def scaled_terms(self, terms: DualTerms) -> DualTerms:
        """Return the loss in these units."""
        return DualTerms(
            (terms.target - self.centre) / self.target,
            terms.lower / self.box,
            terms.upper / self.box,
            terms.epsilon / self.target,
            terms.starts,
        )

    def scaled_penalty(self, penalty: Penalty) -> Penalty:
        """Return the penalty of weights in these units."""
        return Penalty(
            penalty.linear / self.box**2,
            penalty.quadratic * (self.target / self.box**3),
            penalty.row,
            penalty.budget / self.weight,
        )


def units_of(terms: DualTerms) -> Units:
    """Return the units that suit a loss."""
    box = float(max(terms.upper.max(), -terms.lower.min()))
    spread = float(terms.target.std())
    return Units(box, spread if spread > 0.0 else 1.0, float(terms.target.mean()))
