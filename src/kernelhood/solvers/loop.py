"""The best lower bound that dual vectors give: alone, with parts shrunk, or averaged.

Every bound follows from a feasible dual vector. Near the optimum the SVMs of successive weights may
each violate the price of some kernel by a few percent. If that kernel belongs to one task, only
this task's part of the vector is shrunk. If it is not the same kernel each time, none of the
vectors bounds the optimal value well, while an average does. Products with the kernels are linear
in the vector, so that an average costs no kernel evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from kernelhood._typing import Array, Flags
from kernelhood.penalties import DualPoint, Proposal
from kernelhood.penalties.base import bends, line_minimum
from kernelhood.solvers.block import BlockPoint
from kernelhood.solvers.hessian import bounded_hessian, secant_hessian
from kernelhood.solvers.problem import (
    FINEST_GAP,
    Problem,
    Solution,
    State,
    as_solution,
    recertified,
    relative_gap,
    svm_gap,
)

_WORTH_IT = 0.5
_CLOSE = 0.03


class LowerBound:
    """The best lower bound so far; minus infinity if the penalty is concave.

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
        """Take one more vector into account, and its averages with earlier ones if asked for."""
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
            Relative gap that is asked for: a better bound of the tangent is looked for if it
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

        They need the kernels between its support vectors alone, which matters if kernels are
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


# Which weights to try next, and what to make of the answer.
#
# Steps are judged by the ratio of what they gained to what the slope promised. Good ones lower the
# damping and let rays grow again; poor ones raise it. A step that gains nothing is shortened, taken
# anew from a fresh Hessian, or answered by solving the SVMs better, whichever its slope asks for.
# If the gap does not fall for many SVMs, another way is taken.


_STEP_RIDGE = 0.001
_FIRST_GAP, _FIRST_GAP_OF_MANY = 1e-3, 3e-3
#: How accurate SVMs are beside what the step before them is expected to leave of the gap.
_AHEAD, _AHEAD_OF_MANY = 0.015, 0.15
_FARTHEST, _WORTH_GOING_ON = 3, 0.75
_FIRST_DAMPING = 0.01
_LEAST_DAMPING = 1e-4
_MOST_DAMPING = 10.0
_MANY = 64
_WIDEST_RAY = 10.0
_SHORT_RAY = 1.0
_NO_RAY = 1e-3
_SHORT_STEP = 0.1
_GOOD, _POOR = 0.25, 0.1
_FINEST = 1e-14
_PATIENCE = 10
_LAST_TRIES = 4
_STEP_ROUNDING = 1e-12
#: What an objective cannot show.
_FLAT = 1e-14


def first_gap(problem: Problem) -> float:
    """Return the accuracy of the first SVMs: with many samples, digits cost more than a step."""
    return _FIRST_GAP_OF_MANY if problem.is_large else _FIRST_GAP


class Move(Enum):
    """What the next SVM is for."""

    NEWTON = 0
    BACKTRACK = 1
    RESOLVE = 2


class StepControl:
    """The state of the steps: damping, length of rays, precision, Hessian.

    Parameters
    ----------
    problem : Problem
        The SVMs and the penalty.
    tol : float
        Relative duality gap to reach.
    """

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.many = len(problem.unit) > _MANY
        self.damping, self.reach = _FIRST_DAMPING, _WIDEST_RAY
        self.gap, self.precision = first_gap(problem), 1.0
        self.move, self.proposal, self.fraction = Move.NEWTON, Proposal(np.empty(0)), 1.0
        self.hessian: Array | None = None
        self.kept: Flags | None = None
        self.is_secant = False
        self.made_at: State | None = None
        self.refused: State | None = None
        self.level, self.mark, self.waited, self.by_slope = 0, np.inf, 0, False

    @property
    def careful(self) -> bool:
        """Whether dual vectors are averaged."""
        return self.precision < 1.0

    def try_step(self, here: State, gap: float, bound: LowerBound | None = None) -> State:
        """Return the SVMs at the weights to try next.

        Parameters
        ----------
        here : State
            Where we are.
        gap : float
            The relative gap there.
        bound : LowerBound, optional
            If a prediction of these SVMs closes the gap to it, none is solved.
        """
        ahead = _AHEAD_OF_MANY if self.problem.is_large else _AHEAD
        self.gap = min(self.gap, ahead * max(gap, 0.5 * self.tol) ** 1.5)
        x, shrink = self._next_weights(here)
        if self.move is Move.NEWTON and shrink == 1.0:
            here, x, left = self._look_ahead(here, x, gap, bound)
            if left <= self.tol:
                return here
        accuracy = max(self.precision * self.gap, _FINEST)
        ridge = self.precision * _STEP_RIDGE * max(gap, self.tol)
        exact = self.level > 1 and not self.problem.is_large
        return self.problem.solve(x, here, accuracy, ridge, shrink=shrink, exact=exact)

    def _look_ahead(
        self, here: State, x: Array, gap: float, bound: LowerBound | None
    ) -> tuple[State, Array, float]:
        """Return the last of a few predictions, where they lead to, and the gap that is left.

        Predicted vectors have their true values, from which the next weights follow with the same
        Hessian, as long as that lowers the gap.
        """
        solved = here
        for _ in range(_FARTHEST):
            ahead = self.problem.predicted(here, x)
            if ahead is None or bound is None:
                break
            here, before, gap = ahead, gap, bound.reached(solved, ahead, self.tol)
            if gap <= self.tol or gap > _WORTH_GOING_ON * before:
                break
            self.made_at = ahead
            self.proposal = self._propose(ahead)
            x = self.proposal.weights
        return here, x, gap

    def _next_weights(self, here: State) -> tuple[Array, float]:
        if self.move is Move.NEWTON:
            self.proposal = self._propose(here)
            change = np.abs(self.proposal.weights - here.x).sum()
            if change > _STEP_ROUNDING * here.x.sum():
                return self.proposal.weights, self.proposal.shrink
            self.move = Move.RESOLVE
            self.precision *= 0.1
        if self.move is Move.BACKTRACK:
            assert self.refused is not None
            return _cleaned(here.x + self.fraction * (self.refused.x - here.x)), 1.0
        return here.x, 1.0

    def _propose(self, here: State) -> Proposal:
        penalty, q = self.problem.penalty, here.dual.q
        kept = penalty.candidates(here.x, q)
        self._update_hessian(here, kept)
        assert self.hessian is not None
        arguments = self.hessian, self.damping, self.reach, self.problem.small_unit(here)
        if kept is None:
            found = penalty.step(here.x, q, *arguments)
        else:
            some = penalty.restricted(kept, np.ones(int(kept.sum())))
            found = some.step(here.x[kept], q[kept], *arguments)
            x = np.zeros(len(kept))
            x[kept] = found.weights
            found = found._replace(weights=x)
        if not self.problem.separate:
            return found
        return found._replace(weights=np.maximum(found.weights, penalty.least(here.x, q)))

    def _update_hessian(self, here: State, kept: Flags | None) -> None:
        """Bring the Hessian to where we are.

        After a short step, that step corrects the last one well enough, and with many free support
        vectors a new one costs more than the SVM. If the step tells too little, it is new.
        """
        last, self.made_at = self.made_at, here
        if last is here and self.hessian is not None and _same(kept, self.kept):
            return
        fresh: Array | None = None
        some = slice(None) if kept is None else kept
        if last is not None and self.hessian is not None and _same(kept, self.kept):
            step, fall = here.x - last.x, last.dual.q - here.dual.q
            short = np.abs(step).sum() <= _SHORT_STEP * last.x.sum()
            if short and not self.problem.predicts:
                fresh = secant_hessian(self.hessian, step[some], fall[some])
        self.is_secant = fresh is not None
        if fresh is None:
            found = self.problem.hessian(here, kept)
            fresh = bounded_hessian(found, here.x[some], here.dual.q[some])
        if self.by_slope:
            fresh, self.by_slope = np.zeros_like(fresh), False
        self.hessian, self.kept = fresh, kept

    def judge(self, here: State, trial: State, gap: float, left: float = np.inf) -> State:
        """Return where to go on from, and choose the next move; `left` is the trial's gap."""
        step = trial.x - here.x
        slope = float((self.problem.penalty.slope(here.x) - here.dual.q) @ step)
        fall = here.objective - trial.objective
        move, self.move = self.move, Move.NEWTON
        if move is Move.RESOLVE:
            self._forget_hessian()
            return trial
        if fall > 0.0:
            self._accept(move, fall / -slope if slope < 0.0 else 0.0)
            return trial
        if max(-fall, abs(slope)) <= _FLAT * here.scale and move is Move.NEWTON:
            # Too short for the objective to tell, a step may still halve the gap.
            return trial
        noise = self.precision * here.scale * (self.gap + _STEP_RIDGE * max(gap, self.tol))
        within = max(-fall, abs(slope)) <= 3.0 * noise and not self.problem.penalty.convex
        if within and left < _WORTH_GOING_ON * gap:
            return trial
        self._refuse(here, trial, slope, noise)
        if self.many and move is Move.NEWTON and self.move is Move.BACKTRACK:
            # Among many weights another direction is better than less of the same.
            wanted = min(self._fitted_damping(here, step, slope, fall), _MOST_DAMPING)
            if wanted > 2.0 * self.damping:
                self.move, self.damping = Move.NEWTON, wanted
        return here

    def _fitted_damping(self, here: State, step: Array, slope: float, fall: float) -> float:
        """Return the damping with which the model would have bent as the objective did.

        Along its own step a model's curvature is minus the slope. What the objective has more of is
        put down to the majoriser's curvature, of which the damping is a share.
        """
        unit = max(0.1 * float(here.x.sum()), self.problem.small_unit(here))
        share = float(bends(here.x, here.dual.q, unit) @ step**2)
        excess = -2.0 * (fall + slope) + slope
        return self.damping + excess / max(share, 1e-300)

    def _accept(self, move: Move, quality: float) -> None:
        if move is Move.NEWTON and quality >= _GOOD:
            self.damping *= 0.3 if self.many else 0.1
            self.reach = min(_WIDEST_RAY, 2.0 * self.reach)
        elif quality < _POOR:
            self.damping = max(3.0 * self.damping, _LEAST_DAMPING)
            if self.is_secant:
                self._forget_hessian()

    def _refuse(self, here: State, trial: State, slope: float, noise: float) -> None:
        """Choose what to do when the trial's objective is not lower.

        A ray that was too long, or that with the Newton step does not lead downwards, is shortened.
        By convexity the slope promises at least what a step can gain. If that is less than the
        accuracy of the SVMs, they have to be solved better; otherwise the best point between the
        two is guessed from both slopes.
        """
        uphill, flat, ray = slope > 3.0 * noise, slope > -3.0 * noise, abs(self.proposal.ray)
        self.damping = max(3.0 * self.damping, 0.1 if uphill else _LEAST_DAMPING)
        if ray > (_NO_RAY if flat else _SHORT_RAY):
            self.reach = 0.3 * ray
        elif flat and self.is_secant:
            self._forget_hessian()
        elif uphill:
            self.reach = 0.0
        elif flat:
            self.move, self.precision = Move.RESOLVE, 0.1 * self.precision
        else:
            next_slope = self.problem.penalty.slope(trial.x) - trial.dual.q
            ahead = float(next_slope @ (trial.x - here.x))
            self.fraction = line_minimum(here.objective, slope, trial.objective, ahead)
            self.move, self.refused = Move.BACKTRACK, trial

    def _forget_hessian(self) -> None:
        self.hessian, self.made_at = None, None

    @property
    def is_exhausted(self) -> bool:
        """Whether the gap is at the level of rounding, and no longer falls."""
        return self.mark <= FINEST_GAP and self.waited >= _LAST_TRIES

    def look_back(self, here: State, best: State, gap: float) -> State:
        """Take another way if the gap has not been halved for many SVMs."""
        self.waited += 1
        if gap <= 0.5 * self.mark:
            self.mark, self.waited = gap, 0
            return here
        if self.waited < _PATIENCE:
            return here
        self.mark, self.waited, self.level = gap, 0, self.level + 1
        self.precision = min(self.precision, 0.1**self.level)
        self.damping, self.reach = _FIRST_DAMPING * 10.0**self.level, _WIDEST_RAY
        self.move = Move.NEWTON
        self._forget_hessian()
        # If a kernel has a low rank, the value has a kink. The Hessian there is as large as the
        # ridge is small, and leads nowhere: every other time the slope alone is followed.
        self.by_slope = self.level % 2 == 1
        return best


def _same(kept: Flags | None, other: Flags | None) -> bool:
    if kept is None or other is None:
        return kept is other
    return bool(np.array_equal(kept, other))


def _cleaned(x: Array) -> Array:
    """Return the weights with what is only rounding put to zero."""
    return np.where(x < 1e-12 * x.sum(), 0.0, x)


# The loop that solves every problem of the library: SVMs, a safe bound, a second-order step.
#
# The objective never rises, and the loop ends on the gap alone.


_RIDGE = 1e-3
_ROUNDING = 1e-14


def solve(
    problem: Problem,
    *,
    start: Solution | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Minimise the SVMs' values plus the penalty of the weights.

    Parameters
    ----------
    problem : Problem
        The SVMs and the penalty.
    start : Solution, optional
        The solution of the same SVMs with another penalty or from another box, with a dual vector
        that is feasible here; returned with its new certificate if it solves this problem too.
        By default the loop starts from the penalty's own weights.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of SVMs to solve for a block.

    Returns
    -------
    Solution
        With the gap that was reached as the last entry of its trace.
    """
    x, v = problem.start(), None
    if start is not None:
        again = recertified(start, problem.user_penalty, tol)
        if again is not None:
            return again
        x, v = problem.x_of(start.weights), start.v
    before = problem.at(x, v)
    before = before._replace(objective=before.svm_value)
    here = problem.solve(x, before, first_gap(problem), _RIDGE * max(tol, 0.01))
    best, bound, control = here, LowerBound(problem), StepControl(problem, tol)
    bound.add(here, average=problem.is_large)
    trace = [(here.objective, bound.gap(here, tol))]
    while trace[-1][1] > tol and len(trace) < max_iter and not control.is_exhausted:
        trial = control.try_step(here, trace[-1][1], bound)
        bound.add(trial, average=control.careful or problem.is_large)
        best = trial if _is_better(problem, trial, best) else best
        trace.append((best.objective, bound.gap(best, tol)))
        here = control.judge(here, trial, trace[-2][1], trace[-1][1])
        here = control.look_back(here, best, trace[-1][1])
    return as_solution(problem, best, np.array(trace))


def _is_better(problem: Problem, trial: State, best: State) -> bool:
    """Return whether the objective is lower, or the same but for rounding with a smaller gap.

    Of a convex penalty only vectors at the same weights are compared: the bound is that of all.
    """
    if trial.objective < best.objective:
        return True
    if trial.objective - best.objective > _ROUNDING * best.scale:
        return False
    if problem.penalty.convex:
        return np.array_equal(trial.x, best.x) and trial.dual_value > best.dual_value
    missing = [problem.penalty.gap(one.x, one.svm_value, one.dual) for one in (trial, best)]
    return missing[0] < missing[1]
