"""The best lower bound that dual vectors give: alone, with parts shrunk, or averaged.

Every bound follows from a feasible dual vector. Near the optimum the SVMs of successive weights may
each violate the price of some kernel by a few percent. Where that kernel belongs to one task, only
this task's part of the vector is shrunk. Where it is not the same kernel each time, none of the
vectors bounds the optimal value well, while an average does. Products with the kernels are linear
in the vector, so that an average costs no kernel evaluation.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from kernelhood._typing import Array
from kernelhood.penalties import DualPoint, Linear
from kernelhood.solvers.block import BlockPoint
from kernelhood.solvers.problem import Problem, State

_WORTH_IT = 0.5
_CLOSE = 0.03


class LowerBound:
    """The best lower bound so far; minus infinity where the penalty is concave.

    Parameters
    ----------
    problem : Problem
        The SVMs and the penalty.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.value = -np.inf
        self._average: State | None = None

    def add(self, new: State, *, average: bool) -> None:
        """Take one more vector into account, and its averages with earlier ones where asked for."""
        penalty = self.problem.penalty
        if not penalty.convex:
            return
        if average:
            old = self._average
            new = new if old is None else self._best_between(old, new)
            self._average = new
        self.value = max(self.value, penalty.lower_bound(new.dual))
        if isinstance(penalty, Linear) and self._splits():
            self._add_trimmed(new, penalty)

    def _splits(self) -> bool:
        """Return whether the parts of single tasks can be shrunk: each has its own intercept."""
        return all(
            block.operator.separate
            and len(block.loss.group_starts) == len(block.operator.cells.starts)
            for block in self.problem.blocks
        )

    def _add_trimmed(self, new: State, penalty: Linear) -> None:
        """Shrink the parts of tasks whose own kernels are above their price."""
        problem = self.problem
        scale = np.ones(len(problem.kept))
        scale[problem.kept] = penalty.allowed_scale(new.dual.q)
        operator = problem.blocks[0].operator
        n_shared = operator.n_kernels * len(operator.matrices)
        by_task = scale[n_shared:].reshape(-1, operator.n_kernels).min(axis=1)
        # At best this is the bound of a vector that is shrunk for the sake of shared kernels alone.
        hoped = new.dual.gain_of(float(scale[:n_shared].min(initial=1.0)))
        # Far from the optimum a better bound ends nothing, and with many samples it costs much.
        far = problem.is_large and new.objective - hoped > _CLOSE * new.scale
        if not far and hoped - self.value > _WORTH_IT * (new.objective - self.value):
            points = [self._trimmed(number, one, by_task) for number, one in enumerate(new.points)]
            trimmed = problem._state(new.x, points)
            self.value = max(self.value, penalty.lower_bound(trimmed.dual))

    def _trimmed(self, number: int, point: BlockPoint, by_task: Array) -> BlockPoint:
        """Return a point with the gain and q of its vector with shrunk parts.

        They need the kernels between its support vectors alone, which matters where kernels are
        evaluated for them.
        """
        block, support = self.problem.blocks[number], np.arange(len(point.v))
        operator, cells = block.operator, block.operator.cells
        if operator.fill is not None:
            support = np.flatnonzero(point.v)
            operator = operator.at(support)
        v = point.v * by_task[cells.task][cells.cell]
        products = point.products[:, support]
        operator.add_products((v - point.v)[support], products)
        gain, bend = block.gain(v)
        q = operator.forms(products, v[support]) * block.units.box**2
        return point._replace(gain=gain, q=q, bend=bend)

    def _best_between(self, old: State, new: State) -> State:
        """Return the vectors with the best bound on the line from some to others."""
        penalty, problem = self.problem.penalty, self.problem

        def between(share: float) -> State:
            points = [
                block.point(
                    np.zeros(block.operator.n_weights),
                    (1.0 - share) * a.v + share * b.v,
                    (1.0 - share) * a.products + share * b.products,
                    0.0,
                )
                for block, a, b in zip(problem.blocks, old.points, new.points, strict=True)
            ]
            return problem._state(new.x, points)

        cross = 4.0 * between(0.5).dual.q - old.dual.q - new.dual.q

        def gain(share: float) -> tuple[float, float]:
            parts = [
                block.gain((1.0 - share) * a.v + share * b.v)
                for block, a, b in zip(problem.blocks, old.points, new.points, strict=True)
            ]
            return sum(part[0] for part in parts), sum(part[1] for part in parts)

        def loss(share: float) -> float:
            rest = 1.0 - share
            q = rest**2 * old.dual.q + share**2 * new.dual.q + share * rest * cross
            total, bend = gain(share)
            return -penalty.lower_bound(DualPoint(total, q, bend))

        inside = float(minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded").x)
        share = min((0.0, 1.0, inside), key=loss)
        return old if share == 0.0 else new if share == 1.0 else between(share)
