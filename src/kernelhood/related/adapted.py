"""What a task learned after the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.kernels import KernelBank


@dataclass(frozen=True)
class Adapted:
    """What a task learned after the fit.

    Attributes
    ----------
    rows : ndarray of shape (n_matrices, n_tasks), or None
        How a task that was not seen in `fit` is joined to those that were.
    X : ndarray or CSR matrix
        The points that carry the function.
    coef : ndarray of shape (n_pairs, n_samples)
        Their coefficients.
    weights : ndarray of shape (n_kernels,)
        The task's kernel.
    intercepts : ndarray of shape (n_pairs,)
        Added to the function.
    """

    rows: Array | None
    X: Any
    coef: Array
    weights: Array
    intercepts: Array

    def added(self, bank: KernelBank, points: Any) -> Array:
        """Return what is added to the function that the task had before."""
        values = np.zeros((points.shape[0], 1)) + self.intercepts
        if np.any(self.weights) and np.any(self.coef):
            values += bank.combine(points, self.X, self.weights) @ self.coef.T
        return np.asarray(values)
