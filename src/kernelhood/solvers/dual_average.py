"""The best lower bound that dual vectors give, alone or averaged.

Near the optimum the SVMs of successive weights may each violate the price of some kernel by a few
percent, and not the same one: none of them bounds the optimal value well, while an average does.
Products with the kernels are linear in the vector, so that an average costs no kernel evaluation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.family import KernelFamily
from kernelhood.solvers.penalty import Penalty, dual_bound, is_concave


class DualVector(NamedTuple):
    """A feasible vector of the SVM dual.

    Attributes
    ----------
    v : ndarray of shape (n_samples,)
        The vector.
    products : ndarray of shape (n_products, n_samples)
        Its products with the kernels.
    gain : float
        ``target'v - epsilon |v|_1``.
    curvatures : ndarray of shape (n_weights,)
        ``1/2 v'K^m v``.
    """

    v: Array
    products: Array
    gain: float
    curvatures: Array


class LowerBound:
    """The best lower bound of problem (P) so far; minus infinity where the penalty is concave.

    Parameters
    ----------
    family : KernelFamily
        The kernels.
    terms : DualTerms
        The loss.
    penalty : Penalty
        Price of the weights.
    """

    def __init__(self, family: KernelFamily, terms: DualTerms, penalty: Penalty) -> None:
        self.family, self.terms, self.penalty = family, terms, penalty
        self.value = -np.inf
        self._average: DualVector | None = None

    def add(self, new: DualVector, *, average: bool) -> None:
        """Take one more vector into account, and its averages with earlier ones where asked for."""
        if is_concave(self.penalty):
            return
        if average:
            old = self._average
            new = new if old is None else self._best_between(old, new)
            self._average = new
        self.value = max(self.value, dual_bound(self.penalty, new.gain, new.curvatures))

    def _best_between(self, old: DualVector, new: DualVector) -> DualVector:
        """Return the vector with the best bound on the line from one to the other."""
        mixed = self.family.curvatures(old.products, new.v)

        def at(share: float) -> tuple[Array, float, Array]:
            rest = 1.0 - share
            v = rest * old.v + share * new.v
            gain = np.dot(self.terms.target, v) - self.terms.epsilon * np.abs(v).sum()
            squares = rest * rest * old.curvatures + share * share * new.curvatures
            return v, float(gain), squares + 2.0 * share * rest * mixed

        def loss(share: float) -> float:
            return -dual_bound(self.penalty, *at(share)[1:])

        # The bound of a scaled vector is quasi-concave: what is best inside is best of all.
        inside = float(minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded").x)
        share = min((0.0, 1.0, inside), key=loss)
        v, gain, curvatures = at(share)
        products = (1.0 - share) * old.products + share * new.products
        return DualVector(v, products, gain, curvatures)
