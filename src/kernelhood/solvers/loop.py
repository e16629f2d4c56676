"""The loop that solves every problem of the library: SVMs, a safe bound, a second-order step.

The objective never rises, and the loop ends on the gap alone.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.solvers.lower_bound import LowerBound
from kernelhood.solvers.problem import Problem, State
from kernelhood.solvers.solution import Solution, recertified
from kernelhood.solvers.step_control import StepControl, first_gap

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
        that is feasible here; returned with its new certificate where it solves this problem too.
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


def as_solution(problem: Problem, state: State, trace: Array) -> Solution:
    """Return a state in the user's units."""
    q = np.zeros(len(problem.kept))
    q[problem.kept] = state.dual.q / problem.unit
    pairs = list(zip(problem.blocks, state.points, strict=True))
    return Solution(
        problem.weights(state.x),
        np.concatenate([one.v * block.units.box for block, one in pairs]),
        np.concatenate([one.intercepts for one in state.points]),
        float(trace[-1, 0]),
        state.svm_value,
        state.dual.gain,
        q,
        len(trace),
        trace,
        state.dual.bend,
    )


def start_at(problem: Problem, weights: Array, v: Array | None = None) -> Solution:
    """Return any weights and dual vector as a solution to start from, with its true values.

    Parameters
    ----------
    problem : Problem
        The SVMs and the penalty.
    weights : ndarray of shape (n_weights,)
        Not negative.
    v : ndarray of shape (n_samples,), optional
        Feasible dual vector, 0 by default.
    """
    state = problem.at(problem.x_of(weights), v)
    return as_solution(problem, state, np.array([[state.objective, np.inf]]))
