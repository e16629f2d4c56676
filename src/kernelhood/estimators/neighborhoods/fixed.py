"""A matrix that is given, as the base kernels of its task see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.alignment import cosine
from kernelhood.penalties.distance import nearest_weights
from kernelhood.pipeline.inspection import Neighborhood
from kernelhood.pipeline.task_kernels import TaskKernels
from kernelhood.solvers.neighborhood import identity_projection

_ROUNDING = 1e-12


@dataclass(frozen=True)
class FixedNeighborhood(Neighborhood):
    """The given matrix of one task as its base kernels see it.

    Attributes
    ----------
    outside : float
        Squared norm of the part of the matrix that no combination of the kernels carries.
    """

    outside: float = 0.0


@dataclass(frozen=True)
class FixedMatrix:
    """A matrix Khat_t and what its distance from combinations of the kernels depends on.

    Attributes
    ----------
    products : ndarray of shape (n_kernels,)
        <K^m, Khat>_F.
    size : float
        |Khat|_F^2.
    centre, slack : ndarray of shape (n_kernels,)
        The weights nearest to it; see `penalties.distance`.
    least : float
        The square of their distance.
    """

    products: Array
    size: float
    centre: Array
    slack: Array
    least: float

    @classmethod
    def of(cls, kernels: TaskKernels, matrix: Array) -> Self:
        """Return what is to be known of a matrix; a sample of weight 2 counts as two."""
        weighted = matrix * np.outer(kernels.sample_weight, kernels.sample_weight)
        products = np.tensordot(kernels.Ks, weighted, axes=2)
        centre, slack = nearest_weights(kernels.gram, products)
        rest = np.tensordot(centre, kernels.Ks, axes=1) - matrix
        counts = np.outer(kernels.sample_weight, kernels.sample_weight)
        least = float(np.sum(counts * rest**2))
        return cls(products, float(np.sum(weighted * matrix)), centre, slack, least)

    def described(self, kernels: TaskKernels, weights: Array) -> FixedNeighborhood:
        """Return what a fitted model tells of the matrix."""
        G = kernels.gram
        kappa = identity_projection(G, self.products)
        own = cosine(float(weights @ self.products), float(weights @ G @ weights), self.size)
        outside = max(self.size - float(kappa @ self.products), 0.0)
        return FixedNeighborhood(kappa, G, kernels.traces, own, outside)


def room_within(radius: float, fixed: Sequence[FixedMatrix]) -> float:
    """Return how far kernels may go beyond the nearest ones, or raise where these are too far."""
    least = sum(one.least for one in fixed)
    rounding = _ROUNDING * (least + sum(one.size for one in fixed))
    if radius < least - rounding:
        raise ValueError(
            f"radius={radius:g} is out of reach: the nearest kernels have a squared distance of "
            f"{least:.6g} from the neighborhoods; use radius >= {least * (1.0 + 1e-5):.6g}."
        )
    return max(radius - least, rounding, 1e-300)
