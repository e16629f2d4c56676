"""What RPKL and ONJKL share: a matrix near a combination of kernels, K + c vv'."""

from __future__ import annotations

from kernelhood._typing import Array
from kernelhood.alignment import cosine
from kernelhood.losses import BoxLoss
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.inspection import Neighborhood, NeighborhoodInspection
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.pipeline.task_kernels import TaskKernels
from kernelhood.solvers.neighborhood import solve_neighborhood


class NoiseStep(NeighborhoodInspection, MultiTaskKernelModel):
    """Stack the identity behind the kernels, and read the matrix off the dual vector."""

    _path_parameters = ("rho",)

    _with_noise = True

    def _solve_near(self, kernels: TaskKernels, problem: TaskProblem, rho: float) -> TaskSolution:
        """Minimise ``S(Khat) + (rho/2) |Khat - K_nu|^2``."""
        assert isinstance(problem.loss, BoxLoss)
        found = solve_neighborhood(
            kernels.Ks,
            problem.loss,
            rho,
            starts=problem.starts,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        nu, G = found.weights[:-1], kernels.gram[:-1, :-1]
        own = _own_alignment(nu, G, found.q, 0.5 / rho)
        neighborhood = Neighborhood(nu, G, kernels.traces[:-1], own)
        return TaskSolution(found._replace(weights=nu), neighborhood)


def _own_alignment(nu: Array, G: Array, q: Array, c: float) -> float:
    """Return the cosine between K_nu and K_nu + c vv', from the halves of v'K^m v and v'v."""
    square = float(nu @ G @ nu)
    bend = 2.0 * c * float(nu @ q[:-1])
    length = 2.0 * c * float(q[-1])
    return cosine(square + bend, square, square + 2.0 * bend + length**2)
