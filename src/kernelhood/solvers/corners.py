"""Each kernel alone: the corners of the simplex that a fixed trace leaves.

A concave penalty has many local minima, and its steps end in the nearest one. The corners are the
other candidates: without any SVM the penalty there is known, and every dual vector that was ever
found bounds the SVM's part from below. Only corners that may be better are solved.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.family import KernelFamily, as_family
from kernelhood.solvers.mkl import solve_svm
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.penalty import Penalty


class Corners:
    """What is known of the SVM with each kernel alone; it serves all rewards of one loss.

    Parameters
    ----------
    kernels : KernelFamily, or ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernels. Weights of single tasks have no corners: they leave the others no kernel.
    terms : DualTerms
        Box and linear term of the SVM dual.
    penalty : Penalty
        Holds the budget.
    G : ndarray of shape (n_weights, n_weights)
        Frobenius products of the base kernels.
    """

    def __init__(
        self, kernels: KernelFamily | Array, terms: DualTerms, penalty: Penalty, G: Array
    ) -> None:
        self.kernels, self.terms, self.penalty = as_family(kernels), terms, penalty
        number = self.kernels.n_kernels
        row = penalty.row[:number]
        self.weights = np.where(row > 0.0, penalty.budget / np.where(row > 0.0, row, 1.0), 0.0)
        self.norms = self.weights**2 * np.diagonal(G)[:number]
        self.bounds = np.where(row > 0.0, 0.0, np.inf)
        self.solved: dict[int, Solution] = {}

    def learn(self, found: Solution) -> None:
        """Raise the bounds of the SVMs' values by a dual vector of the same loss."""
        bounds = found.gain - found.curvatures[: len(self.weights)] * self.weights
        self.bounds = np.maximum(self.bounds, bounds)

    def lowest(self, rewards: Array) -> tuple[Array, Array]:
        """Return for each reward the corner that may be lowest, and a bound of its objective."""
        bounds = self.bounds - 0.5 * np.asarray(rewards)[:, None] * self.norms
        which = np.argmin(bounds, axis=1)
        return which, bounds[np.arange(len(which)), which]

    def solve(self, corner: int) -> Solution:
        """Return the SVM with one kernel alone, as accurate as a start has to be."""
        weights = np.zeros(self.kernels.n_weights)
        weights[corner] = self.weights[corner]
        found = solve_svm(self.kernels, self.terms, self.penalty, weights)
        self.learn(found)
        self.solved[corner] = found
        return found
