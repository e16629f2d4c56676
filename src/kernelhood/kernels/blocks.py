"""All kernels of a bank between points that are named by their numbers, block by block."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.kernels.bank import KernelBank


class PointKernels:
    """The kernels of a bank on a set of points, evaluated again whenever they are needed.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    points : ndarray or CSR matrix of shape (n_points, n_features)
        The points.
    """

    def __init__(self, bank: KernelBank, points: Any) -> None:
        # What is done to the points is done once.
        self.bank, self.plain, self.points = bank, bank.plain, bank.prepared(points)

    def __len__(self) -> int:
        return len(self.bank)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return int(self.points.shape[0])

    def stack(self, rows: Indices | slice, columns: Indices | slice) -> Array:
        """Return every kernel between some points, of shape (n_kernels, n_rows, n_columns)."""
        return self.plain(self.points[rows], self.points[columns])

    def combinations(
        self, rows: Indices, columns: Indices, weights: Array, *, out: Array | None = None
    ) -> Array:
        """Return combinations of the kernels between some points, or add them to `out`."""
        return self.plain.combinations(self.points[rows], self.points[columns], weights, out=out)

    def products(
        self, rows: Indices, columns: Indices, change: Array, groups: Indices | None = None
    ) -> Array:
        """Return every kernel between some points times a vector over the rows, or its groups."""
        return self.plain.products(self.points[rows], self.points[columns], change, groups)

    @cached_property
    def diagonals(self) -> Array:
        """The values k(x, x), of shape (n_kernels, n_points)."""
        return np.array([kernel.diagonal(self.points) for kernel in self.bank])
