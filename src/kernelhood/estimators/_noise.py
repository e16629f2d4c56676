"""What RPKL and ONJKL share: a matrix near a combination of kernels, K + c vv'."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.alignment import cosine
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.estimators._inspection import Neighborhood, NeighborhoodInspection
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.kernels import KernelBank
from kernelhood.solvers.noise_kernel import solve_neighborhood


class NoiseStep(NeighborhoodInspection, MultiTaskKernelModel):
    """Stack the identity behind the kernels, and read the matrix off the dual vector."""

    _path_parameters = ("rho",)

    def _kernel_stack(self, bank: KernelBank, X: Any, sample_weight: Array) -> Array:
        n = len(sample_weight)
        stack = np.zeros((len(bank) + 1, n, n))
        self._task_bank(bank, X, sample_weight)(X, out=stack[:-1])
        np.fill_diagonal(stack[-1], 1.0 / sample_weight)
        return stack

    def _solve_near(
        self, Ks: Array, problem: TaskProblem, G: Array, d: Array, rho: float
    ) -> TaskSolution:
        """Minimise ``S(Khat) + (rho/2) |Khat - K_nu|^2``."""
        found = solve_neighborhood(
            Ks, problem.terms, rho, starts=problem.starts, tol=self.tol, max_iter=self.max_iter
        )
        nu, G = found.weights[:-1], G[:-1, :-1]
        own = _own_alignment(nu, G, found.curvatures, 0.5 / rho)
        return TaskSolution(found._replace(weights=nu), Neighborhood(nu, G, d[:-1], own))


def _own_alignment(nu: Array, G: Array, curvatures: Array, c: float) -> float:
    """Return the cosine between K_nu and K_nu + c vv', from the halves of v'K^m v and v'v."""
    square = float(nu @ G @ nu)
    bend = 2.0 * c * float(nu @ curvatures[:-1])
    length = 2.0 * c * float(curvatures[-1])
    return cosine(square + bend, square, square + 2.0 * bend + length**2)
