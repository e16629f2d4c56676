"""Which weights to try next, and what to make of the answer.

Steps are judged by the ratio of what they gained to what the slope promised. Good ones lower the
damping and let rays grow again; poor ones raise it. A step that gains nothing is shortened, taken
anew from a fresh Hessian, or answered by solving the SVMs better, whichever its slope asks for.
Where the gap does not fall for many SVMs, another way is taken.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties import Proposal
from kernelhood.penalties.free_step import bends, line_minimum
from kernelhood.solvers.hessian import bounded_hessian, secant_hessian
from kernelhood.solvers.lower_bound import LowerBound
from kernelhood.solvers.problem import Problem, State
from kernelhood.solvers.solution import FINEST_GAP

_RIDGE = 0.001
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
_ROUNDING = 1e-12
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
            Where a prediction of these SVMs closes the gap to it, none is solved.
        """
        ahead = _AHEAD_OF_MANY if self.problem.is_large else _AHEAD
        self.gap = min(self.gap, ahead * max(gap, 0.5 * self.tol) ** 1.5)
        x, shrink = self._next_weights(here)
        if self.move is Move.NEWTON and shrink == 1.0:
            here, x, left = self._look_ahead(here, x, gap, bound)
            if left <= self.tol:
                return here
        accuracy = max(self.precision * self.gap, _FINEST)
        ridge = self.precision * _RIDGE * max(gap, self.tol)
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
            if change > _ROUNDING * here.x.sum():
                return self.proposal.weights, self.proposal.shrink
            self.move = Move.RESOLVE
            self.precision *= 0.1
        if self.move is Move.BACKTRACK:
            assert self.refused is not None
            return _cleaned(here.x + self.fraction * (self.refused.x - here.x)), 1.0
        return here.x, 1.0

    def _propose(self, here: State) -> Proposal:
        found = self._newton_step(here)
        if not self.problem.separate:
            return found
        least = self.problem.penalty.least(here.x, here.dual.q)
        return found._replace(weights=np.maximum(found.weights, least))

    def _newton_step(self, here: State) -> Proposal:
        penalty, q = self.problem.penalty, here.dual.q
        kept = penalty.candidates(here.x, q)
        self._update_hessian(here, kept)
        assert self.hessian is not None
        unit = self.problem.small_unit(here)
        arguments = self.hessian, self.damping, self.reach, unit
        if kept is None:
            return penalty.step(here.x, q, *arguments)
        some = penalty.restricted(kept, np.ones(int(kept.sum())))
        found = some.step(here.x[kept], q[kept], *arguments)
        x = np.zeros(len(kept))
        x[kept] = found.weights
        return found._replace(weights=x)

    def _update_hessian(self, here: State, kept: Flags | None) -> None:
        """Bring the Hessian to where we are.

        After a short step, that step corrects the last one well enough, and with many free support
        vectors a new one costs more than the SVM. Where the step tells too little, it is new.
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
        noise = self.precision * here.scale * (self.gap + _RIDGE * max(gap, self.tol))
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
        By convexity the slope promises at least what a step can gain. Where that is less than the
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
        """Take another way where the gap has not been halved for many SVMs."""
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
