"""What RPKL and ONJKL share: a matrix near a combination of kernels, K + c vv'."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.alignment import cosine
from kernelhood.estimators._base import TaskProblem, TaskSolution
from kernelhood.estimators._inspection import Neighborhood, NeighborhoodInspection
from kernelhood.kernels import KernelBank
from kernelhood.solvers.neighborhood import frobenius_gram
from kernelhood.solvers.noise_kernel import solve_neighborhood


class NoiseStep(NeighborhoodInspection):
    """Stack the identity behind the kernels, and read the matrix off the dual vector."""

    tol: float
    max_iter: int

    def _kernel_stack(self, bank: KernelBank, problem: TaskProblem) -> Array:
        n = len(problem.rows)
        stack = np.zeros((len(bank) + 1, n, n))
        bank(problem.X, out=stack[:-1])
        np.fill_diagonal(stack[-1], 1.0 / problem.sample_weight)
        return stack

    def _solve_near(self, Ks: Array, problem: TaskProblem, rho: float) -> TaskSolution:
        """Minimise ``S(Khat) + (rho/2) |Khat - K_nu|^2``."""
        found = solve_neighborhood(Ks, problem.terms, rho, tol=self.tol, max_iter=self.max_iter)
        nu = found.weights[:-1]
        G, d = frobenius_gram(Ks[:-1], problem.sample_weight)
        own = _own_alignment(Ks[:-1], nu, G, found.v, problem.sample_weight, 0.5 / rho)
        return TaskSolution(found._replace(weights=nu), Neighborhood(nu, G, d, own))


def _own_alignment(
    Ks: Array, nu: Array, G: Array, v: Array, sample_weight: Array, c: float
) -> float:
    """Return the cosine between K_nu and K_nu + c vv'."""
    square = float(nu @ G @ nu)
    bend = c * float(nu @ ((Ks @ v) @ v))
    length = c * float(np.sum(v**2 / sample_weight))
    return cosine(square + bend, square, square + 2.0 * bend + length**2)
