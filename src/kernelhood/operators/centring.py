"""Kernels whose digits would be lost: nearly constant ones are centred, rounding is made positive.

A dual vector sums to zero over every group of samples with an intercept. A kernel ``g + k`` with a
constant g that is large beside k gives such a vector the same products as k, up to a constant that
the intercept takes up; but computed with g, they lose as many digits as g has more than k. Features
with a large offset, or constant ones, make linear and polynomial kernels of this kind.

Where kernels are of very different size, what rounding has left of a large one may be as large as a
small one, and is not positive semidefinite. A ridge of its size makes it so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.operators.base import KernelOperator
from kernelhood.operators.cells import cells_of
from kernelhood.operators.dense import DenseKernels

_NEARLY_CONSTANT = 1e-6
_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
_ALL_ROUNDING = 8.0
_FAR_APART = 1e6


@dataclass(frozen=True)
class Centred:
    """An operator with some of its kernels centred.

    Attributes
    ----------
    operator : KernelOperator
        The kernels; those that are constant to rounding are zero.
    means : ndarray of shape (n_kernels, n_samples), or None
        What was taken away from the rows of each kernel; None where nothing was.
    """

    operator: KernelOperator
    means: Array | None = None

    def shifts(self, weights: Array, v: Array) -> Array:
        """Return by how much the means raise the values of each cell's samples."""
        assert self.means is not None
        operator, starts = self.operator, self.operator.cells.starts
        far, near, between = operator.split(weights)
        by_cell = np.add.reduceat(self.means * v, starts[:-1], axis=1)
        shift = np.full(len(starts) - 1, float(far @ by_cell.sum(axis=1)))
        if len(near):
            shift += np.einsum("cm,mc->c", near, by_cell)
        for B, theta in zip(operator.joins, between, strict=True):
            shift += B @ (theta @ by_cell)
        return shift


def centred(operator: KernelOperator, group_starts: Indices) -> Centred:
    """Return an operator whose kernels are far from constant.

    Parameters
    ----------
    operator : KernelOperator
        Kernels; those that are evaluated on demand are left as they are.
    group_starts : ndarray of int
        Of the groups of samples that have an intercept of their own.
    """
    if not isinstance(operator, DenseKernels):
        return Centred(operator)
    if not (operator.plain or np.array_equal(group_starts, operator.cells.starts)):
        return Centred(operator)
    chosen, sizes = _nearly_constant(operator), operator.diagonals.max(axis=1)
    uneven = sizes.max() > _FAR_APART * sizes.min()
    if uneven:  # zeros apart
        uneven = sizes.max() > _FAR_APART * sizes[sizes > 0.0].min(initial=np.inf)
    if not (uneven or chosen.any()):
        return Centred(operator)
    point, n = operator.cells.point, operator.n_samples
    Ks = np.array(operator.Ks[:, point][:, :, point], dtype=np.float64)
    means = np.zeros((len(Ks), n))
    for m in range(len(Ks)):
        if chosen[m]:
            Ks[m], means[m] = _centred_matrix(Ks[m])
        else:
            Ks[m].flat[:: n + 1] += _noise(n, float(sizes[m]))
    cells = operator.cells
    plain = cells_of(np.arange(n), np.diff(cells.starts), cells.task)
    return Centred(replace(operator, cells=plain, Ks=Ks), means)


def _nearly_constant(operator: DenseKernels) -> Flags:
    """Return which kernels vary little from one sample to the next, compared with their size."""
    point, diagonals = operator.cells.point, operator.diagonals
    n = len(point)
    if n < 2:
        return np.zeros(len(diagonals), dtype=np.bool_)
    if operator.cells.plain and operator.Ks.shape[1] == n:
        beside = operator.Ks.diagonal(1, 1, 2)
    else:
        beside = operator.Ks[:, point[:-1], point[1:]]
    total = diagonals.sum(axis=1)
    distance = 2.0 * (total - beside.sum(axis=1)) - diagonals[:, 0] - diagonals[:, -1]
    return np.asarray(distance < _NEARLY_CONSTANT * total)


def _centred_matrix(K: Array) -> tuple[Array, Array]:
    """Return a matrix with row and column means taken away, and what they were.

    What rounding has left is made positive by a ridge of its size; where that is all there is, the
    matrix is zero.
    """
    size, rows = float(np.abs(K).max()), K.mean(axis=1)
    found = K - rows - rows[:, None] + rows.mean()
    found = 0.5 * (found + found.T)
    noise = _noise(len(K), size)
    if float(np.trace(found)) <= _ALL_ROUNDING * len(K) * noise:
        return np.zeros_like(K), rows
    found.flat[:: len(K) + 1] += noise
    return found, rows


def _noise(n_samples: int, size: float) -> float:
    """Return how far from zero the eigenvalues of rounding errors may be."""
    return _ROUNDING * float(np.sqrt(n_samples)) * size
