"""The best lower bound that dual vectors give: alone, with parts shrunk, or averaged.

Every bound follows from a feasible dual vector. Near the optimum the SVMs of successive weights may
each violate the price of some kernel by a few percent. Where that kernel belongs to one task, only
this task's part of the vector is shrunk. Where it is not the same kernel each time, none of the
vectors bounds the optimal value well, while an average does. Products with the kernels are linear
in the vector, so that an average costs no kernel evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from kernelhood._typing import Array
from kernelhood.penalties import DualPoint
from kernelhood.solvers.block import BlockPoint
from kernelhood.solvers.problem import Problem, State
from kernelhood.solvers.solution import relative_gap, svm_gap

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
        self._duals: list[DualPoint] = []
        self._tangent: tuple[State, int, float] | None = None

    def add(self, new: State, *, average: bool) -> None:
        """Take one more vector into account, and its averages with earlier ones where asked for."""
        penalty = self.problem.penalty
        self._duals.append(new.dual)
        if average:
            old = self._average
            new = new if old is None else self._best_between(old, new)
            self._average = new
            self._duals.append(new.dual)
        if not penalty.convex:
            return
        self.value = max(self.value, penalty.lower_bound(new.dual))
        self.value = max(self.value, self._trimmed_bound(new, penalty.lower_bound, self.value))

    def gap(self, point: State, tol: float) -> float:
        """Return the relative gap of a point to the best bound so far.

        For a concave penalty it is that of its tangent. Its reward may be far larger than the SVMs'
        values, which are to be found all the same: their own gap counts as well.
        """
        problem = self.problem
        size = max(point.svm_value, problem.floor)
        gap = relative_gap(self.missing(point, tol), point.objective, size)
        if problem.penalty.convex:
            return gap
        return max(gap, svm_gap(point.svm_value, point.dual, point.x, problem.floor))

    def reached(self, here: State, ahead: State, tol: float) -> float:
        """Return the gap that is left with dual vectors that are predicted; they are added."""
        if not self.problem.penalty.convex:
            return self.gap(ahead, tol) if ahead.objective < here.objective else np.inf
        self.add(ahead, average=True)
        return min(self.gap(here, tol), self.gap(ahead, tol))

    def missing(self, point: State, tol: float) -> float:
        """Return the duality gap of a point: to the best bound, or of a concave penalty's tangent.

        Every vector so far bounds the tangent problem. The point's own may bound it badly: if its
        kernel has a low rank, many vectors solve the SVM, and few of them suit the other kernels.

        Parameters
        ----------
        point : State
            Weights and dual vectors.
        tol : float
            Relative gap that is asked for: a better bound of the tangent is looked for where it
            may end the loop.
        """
        if self.problem.penalty.convex:
            return point.objective - self.value
        if self._tangent is None or self._tangent[0] is not point:
            self._tangent = point, 0, -np.inf
            known = max(map(self._bound_of, [point.dual, *self._duals]))
            size = max(abs(point.objective), point.svm_value)
            if point.objective - known > tol * size:
                enough = point.objective - tol * size
                known = max(known, self._trimmed_bound(point, self._bound_of, known, enough))
        else:
            _, seen, known = self._tangent
            known = max([known, *map(self._bound_of, self._duals[seen:])])
        self._tangent = point, len(self._duals), known
        return point.objective - known

    def _bound_of(self, dual: DualPoint) -> float:
        """Return what a vector bounds: the objective, or that of the tangent at the last point."""
        penalty = self.problem.penalty
        if penalty.convex or self._tangent is None:
            return penalty.lower_bound(dual)
        point = self._tangent[0]
        return point.objective - penalty.gap(point.x, point.svm_value, dual)

    @cached_property
    def _splits(self) -> bool:
        """Whether the parts of single tasks can be shrunk: each has its own intercept."""
        return all(
            block.operator.separate
            and len(block.loss.group_starts) == len(block.operator.cells.starts)
            for block in self.problem.blocks
        )

    def _trimmed_bound(
        self,
        new: State,
        bound_of: Callable[[DualPoint], float],
        known: float,
        enough: float = -np.inf,
    ) -> float:
        """Return the bound by a vector with the parts of tasks shrunk whose own kernels ask for it.

        Parameters
        ----------
        new : State
            The vector.
        bound_of : callable
            What a vector's gain and q bound.
        known, enough : float
            The bound that is known, and what a better one has to reach to be of use.
        """
        problem = self.problem
        allowed = problem.penalty.allowed_scale(new.x, new.dual.q) if self._splits else None
        if allowed is None:
            return known
        operator = problem.blocks[0].operator
        n_shared = operator.n_kernels * len(operator.matrices)
        # At best only shared kernels are left to be paid for by the vector as a whole.
        own = np.flatnonzero(problem.kept) >= n_shared
        hoped = bound_of(new.dual._replace(q=np.where(own, allowed**2, 1.0) * new.dual.q))
        # Far from the optimum a better bound ends nothing, and with many samples it costs much.
        far = problem.is_large and new.objective - hoped > _CLOSE * new.scale
        if hoped < enough or far or hoped - known <= _WORTH_IT * (new.objective - known):
            return known
        scale = np.ones(len(problem.kept))
        scale[problem.kept] = allowed
        by_task = scale[n_shared:].reshape(-1, operator.n_kernels).min(axis=1)
        points = [self._trimmed(number, one, by_task) for number, one in enumerate(new.points)]
        return bound_of(problem._state(new.x, points).dual)

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
        problem = self.problem

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
            return -self._bound_of(DualPoint(total, q, bend))

        inside = float(minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded").x)
        share = min((0.0, 1.0, inside), key=loss)
        return old if share == 0.0 else new if share == 1.0 else between(share)
