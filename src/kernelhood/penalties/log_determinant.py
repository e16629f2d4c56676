"""Half the log determinant of the covariance: what weights cost by the evidence.

Its value and slope need the factor of the covariance, which a solver of its own has; what is known
without it is the slope at weight 0, the traces. The solver puts the tangent, which is `Linear`, in
its place.
"""

from __future__ import annotations

from typing import Self

from kernelhood._typing import Array, Flags
from kernelhood.penalties.linear import Linear


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

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty of some of the weights, in other units."""
        return type(self)(self.price[kept] * scale, self.learn_noise)
