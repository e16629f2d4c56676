"""SVMs whose kernel weights are free within a convex set.

    min over (theta_1, ..., theta_T) in W  of   sum_t S_t(theta_t)

Every S_t falls and is convex in its weights, with gradient -q_t, the negative curvatures. Any
dual vectors give the lower bound ``sum_t gain_t - support(q)``, where

    support(q) = max over theta in W of   sum_t q_t'theta_t

is all that has to be known of W for a certificate. The loop takes second-order steps, which are
W's own affair, and ends on the gap alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.parallel import map_in_threads
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.task_svm import SvmPoint, TaskSvm, trace_row
from kernelhood.solvers.weight_step import line_minimum

_RIDGE = 1e-3
_FIRST_INNER = 1e-3
_FIRST_DAMPING = 0.01
_UPHILL_DAMPING = 0.1


class WeightSet(Protocol):
    """A convex set of weights, and the coordinates x in which it is searched."""

    def start(self) -> Array:
        """Return the x to start from."""

    def coordinates(self, weights: Array) -> Array:
        """Return an x of the set whose weights are these or near them."""

    def weights(self, x: Array) -> Array:
        """Return theta of shape (n_tasks, n_kernels)."""

    def support(self, curvatures: Array) -> float:
        """Return the largest ``sum_t q_t'theta_t`` over the set."""

    def step(self, x: Array, curvatures: Array, hessians: Array, damping: float) -> Array:
        """Return the x that a damped second-order model of the values prefers."""

    def between(self, x: Array, other: Array, fraction: float) -> Array:
        """Return a point of the set on the way from x to the other."""


class _Round(NamedTuple):
    """One SVM for every task."""

    x: Array
    points: list[SvmPoint]
    objective: float
    gain: float

    @classmethod
    def of(cls, x: Array, points: list[SvmPoint]) -> Self:
        return cls(x, points, sum(one.value for one in points), sum(one.gain for one in points))

    @property
    def weights(self) -> Array:
        return np.array([point.weights for point in self.points])

    @property
    def curvatures(self) -> Array:
        return np.array([point.curvatures for point in self.points])


class _Search(NamedTuple):
    """The tasks and the set."""

    svms: list[TaskSvm]
    weight_set: WeightSet
    n_jobs: int | None

    def round(self, x: Array, starts: list[SvmPoint], accuracy: float, ridge: float) -> _Round:
        """Solve every task's SVM at x."""
        jobs = list(zip(self.svms, self.weight_set.weights(x), starts, strict=True))
        points = map_in_threads(
            lambda job: job[0].solve(job[1], job[2], accuracy, ridge), jobs, self.n_jobs
        )
        return _Round.of(x, points)

    def begin(self, starts: Sequence[Solution] | None) -> _Round:
        """Return what is known before any SVM is solved."""
        vs: list[Array | None] = [None] * len(self.svms)
        if starts is None:
            x = self.weight_set.start()
        else:
            x = self.weight_set.coordinates(np.array([start.weights for start in starts]))
            vs = [start.v for start in starts]
        jobs = zip(self.svms, self.weight_set.weights(x), vs, strict=True)
        return _Round.of(x, [svm.at(theta, v) for svm, theta, v in jobs])

    def bound(self, found: _Round) -> float:
        """Return the lower bound that the dual vectors of a round give."""
        return found.gain - self.weight_set.support(found.curvatures)

    def propose(self, here: _Round, damping: float) -> Array:
        """Return the next x to try."""
        pairs = list(zip(self.svms, here.points, strict=True))
        hessians = map_in_threads(lambda pair: pair[0].hessian(pair[1]), pairs, self.n_jobs)
        return self.weight_set.step(here.x, here.curvatures, np.array(hessians), damping)


def _fraction(here: _Round, trial: _Round, noise: float) -> float:
    """Return how far to go towards a trial that was no better.

    0 stands for solving the SVMs better, where noise hides the gain; 1 for another step, where
    the last one led uphill.
    """
    step = trial.weights - here.weights
    slope = -float(np.vdot(here.curvatures, step))
    if slope > 3.0 * noise:
        return 1.0
    if slope > -3.0 * noise:
        return 0.0
    next_slope = -float(np.vdot(trial.curvatures, step))
    return line_minimum(here.objective, slope, trial.objective, next_slope)


def solve_over_set(
    Ks: Sequence[Array],
    terms: Sequence[DualTerms],
    weight_set: WeightSet,
    *,
    starts: Sequence[Solution] | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> tuple[Array, list[Solution]]:
    """Minimise the sum of the tasks' SVM values over a set of weights.

    Parameters
    ----------
    Ks : sequence of ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices of every task, C-contiguous.
    terms : sequence of DualTerms
        Their losses.
    weight_set : WeightSet
        Where the weights may be.
    starts : sequence of Solution, optional
        Every task's solution of a similar problem on the same samples, with a dual vector that
        is feasible here; returned with its own certificate where it solves this problem too.
    tol : float
        Duality gap to reach, relative to the sum of the values.
    max_iter : int
        Largest number of SVMs to solve for a task.
    n_jobs : int, optional
        Threads over tasks.

    Returns
    -------
    x : ndarray
        The solution in the coordinates of the set.
    solutions : list of Solution
        One per task: its own value, and the objective and gap of the whole problem as its trace.
    """
    svms = [TaskSvm.of(K, term) for K, term in zip(Ks, terms, strict=True)]
    search = _Search(svms, weight_set, n_jobs)
    inner, precision, damping = _FIRST_INNER, 1.0, _FIRST_DAMPING
    here = search.begin(starts)
    dual = search.bound(here)
    trace = [trace_row(here.objective, dual)]
    if trace[-1][1] > tol:
        here = search.round(here.x, here.points, inner, _RIDGE * max(tol, 0.01))
        dual = max(dual, search.bound(here))
        trace = [trace_row(here.objective, dual)]
    best, trial, fraction = here, here, 1.0
    while trace[-1][1] > tol and len(trace) < max_iter:
        loose = max(trace[-1][1], tol)
        inner = min(inner, 0.03 * max(trace[-1][1], 0.5 * tol) ** 1.5)
        if fraction == 1.0:
            x = search.propose(here, damping)
        elif fraction > 0.0:
            x = weight_set.between(here.x, trial.x, fraction)
        else:
            x, precision = here.x, 0.1 * precision
        again = fraction == 0.0
        trial = search.round(x, here.points, precision * inner, precision * _RIDGE * loose)
        dual = max(dual, search.bound(trial))
        if trial.objective < here.objective or again:
            here, fraction, damping = trial, 1.0, 0.1 * damping
        else:
            noise = precision * (inner + _RIDGE * loose) * here.objective
            fraction = _fraction(here, trial, noise)
            damping = max(3.0 * damping, _UPHILL_DAMPING if fraction == 1.0 else 1e-4)
        best = trial if trial.objective < best.objective else best
        trace.append(trace_row(best.objective, dual))
    steps = np.array(trace)
    pairs = zip(svms, best.points, strict=True)
    return best.x, [svm.solution(point, steps) for svm, point in pairs]
