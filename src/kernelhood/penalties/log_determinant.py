"""Half the log determinant of the covariance: what weights cost by the evidence.

Its value and slope need the factor of the covariance, which a solver of its own has; what is known
without it is the slope at weight 0, the traces. The solver puts the tangent, which is `Linear`, in
its place.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.linear import Linear

_NOTHING = 1e-10


class LogDeterminant(Linear):
    """The price of the weights by the evidence; as it stands here, its tangent at weight 0.

    Parameters
    ----------
    price : ndarray of shape (n_weights,)
        Traces of the kernels, up to a factor.
    learn_noise : bool
        Whether the variance of the noise is learned as well.
    """

    convex = False

    def __init__(self, price: Array, learn_noise: bool = True) -> None:
        super().__init__(price)
        self.learn_noise = learn_noise

    def units(self, mean_diagonals: Array, size: float) -> tuple[Flags, Array]:
        """Return which kernels take part, and the weights to measure theirs by.

        Kernels without a price are left out: they do nothing that free intercepts do not.
        """
        kept = super().units(mean_diagonals, size)[0]
        share = np.where(kept, self.price / np.where(kept, mean_diagonals, 1.0), 0.0)
        kept = kept & (share > _NOTHING * share.max(initial=0.0))
        return kept, size / mean_diagonals[kept]

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of some of the weights, in other units."""
        return type(self)(self.price[kept] * scale, self.learn_noise)
