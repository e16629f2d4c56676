"""Weights on the boundary of what a radius allows, between some inside and some outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from kernelhood._typing import Array
from kernelhood.parallel import map_in_threads
from kernelhood.penalties import Distance, Fixed
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, Solution, relative_gap, start_at

_SMALLEST = 1e-300


class Ball(NamedTuple):
    """One task: its SVMs, and the distance of its kernel from a given matrix.

    Attributes
    ----------
    blocks : list of Block
        The SVMs.
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the kernels.
    centre, slack : ndarray of shape (n_kernels,)
        The weights nearest to the matrix, and their slack; see `penalties.distance`.
    """

    blocks: list[Block]
    G: Array
    centre: Array
    slack: Array

    def penalty(self, eta: float) -> Distance:
        """Return ``(eta/2) |K - Khat|^2`` beyond its smallest value."""
        return Distance(eta, self.G, self.centre, self.slack)

    def distance(self, weights: Array) -> float:
        """Return ``|K - Khat|^2`` beyond its smallest value."""
        return 2.0 * self.penalty(1.0).value(weights)


class Boundary:
    """The weights nearest to the boundary on either side, at first the nearest to the matrices.

    Parameters
    ----------
    balls : sequence of Ball
        The tasks.
    room : float
        The largest sum of squared distances beyond their smallest values.
    """

    def __init__(self, balls: Sequence[Ball], room: float) -> None:
        self.balls, self.room = balls, room
        self.inside = [one.centre for one in balls], 0.0
        self.outside: tuple[list[Array], float] | None = None

    @property
    def is_open_outside(self) -> bool:
        """Whether the weights outside are farther from the boundary than those inside."""
        if self.outside is None:
            return True
        return self.outside[1] - self.room > self.room - self.inside[1]

    def distance(self, weights: Sequence[Array]) -> float:
        """Return the sum of the tasks' squared distances beyond their smallest values."""
        pairs = zip(self.balls, weights, strict=True)
        return sum(ball.distance(own) for ball, own in pairs)

    def place(self, weights: list[Array]) -> float:
        """Keep weights that are nearest to the boundary on either side; return their distance."""
        distance = self.distance(weights)
        if distance <= self.room:
            if distance >= self.inside[1]:
                self.inside = weights, distance
        elif self.outside is None or distance <= self.outside[1]:
            self.outside = weights, distance
        return distance

    def allowed(self) -> list[Array]:
        """Return the last weights on the line from inside to outside that are allowed.

        On it the distance is ``begin + t slope + t^2 bend``.
        """
        if self.outside is None:
            return self.inside[0]
        (near, begin), (far, end) = self.inside, self.outside
        moves = [one - other for one, other in zip(far, near, strict=True)]
        bend = sum(
            float(move @ (ball.G @ move)) for ball, move in zip(self.balls, moves, strict=True)
        )
        slope, left = end - begin - bend, self.room - begin
        reach = slope + np.sqrt(max(slope**2 + 4.0 * bend * left, 0.0))
        t = min(2.0 * left / max(reach, _SMALLEST), 1.0)
        return [one + t * move for one, move in zip(near, moves, strict=True)]


# All tasks' kernels within one distance of their neighborhoods.
#
#     min over weights >= 0 of   sum_t S_t(K_t)   subject to   sum_t |K_t - Khat_t|_F^2 <= rho
#
# One multiplier, eta/2, belongs to the constraint: if it is known, the tasks are independent and
# each is S_t + (eta/2) |K_t - Khat_t|^2. The distance falls as eta rises, which a safeguarded
# secant
# method in logarithms uses. For every eta >= 0 the sum of the penalised problems' lower bounds,
# less eta rho / 2, is a lower bound of the constrained problem. Between weights of two multipliers,
# one too small and one too large, there are some whose distance is rho; what they cost too much is
# of
# second order, so that a rough eta suffices.


_ROUNDS = 40
_SHARE = 0.1  # of the tolerance that the penalised problems may use at first
_LEAST_SHARE = 1e-4
_ASIDE = 0.1  # times sqrt(tol): by how much a distance should be too large, or too small
_PROGRESS = 0.3
_NEAR = 0.5  # largest logarithm of distance / room for which weights on the boundary are tried
_LARGEST_STEP = np.log(1e4)
_WIDEST = np.log(1e8)


class Within(NamedTuple):
    """The outcome: a solution for each task, and the multiplier as an eta."""

    solutions: list[Solution]
    eta: float


def solve_within(
    balls: Sequence[Ball],
    room: float,
    *,
    starts: Sequence[Solution | None],
    tol: float = 1e-3,
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> Within:
    """Minimise the SVMs' values over all weights within a distance.

    Parameters
    ----------
    balls : sequence of Ball
        The tasks.
    room : float
        The largest sum of squared distances beyond their smallest values; positive.
    starts : sequence of (Solution or None)
        For each task the solution of a problem with the same SVMs.
    tol : float
        Relative duality gap to reach, of all tasks together.
    max_iter : int
        Largest number of SVMs to solve for a task.
    n_jobs : int, optional
        Threads over tasks.

    Returns
    -------
    Within
        Every solution's last gap is that of all tasks together.
    """
    search = _Search(balls, room, tol, max_iter, n_jobs)
    search.begin(starts)
    while search.wants_more:
        search.round()
    return search.outcome()


class _Search:
    """The multiplier so far, its bracket, and the best feasible weights and lower bound."""

    def __init__(
        self, balls: Sequence[Ball], room: float, tol: float, max_iter: int, n_jobs: int | None
    ) -> None:
        self.balls, self.room, self.tol = list(balls), room, tol
        self.max_iter, self.n_jobs = max_iter, n_jobs
        self.low, self.high = -np.inf, np.inf
        self.last: tuple[float, float] | None = None
        self.eta, self.bound_eta, self.rounds, self.share = 0.0, 0.0, 0, _SHARE
        self.boundary = Boundary(self.balls, room)
        self.best: list[Solution] = []
        self.bound = -np.inf
        self.floors = [Problem(one.blocks, Fixed(one.centre)).floor for one in balls]
        self.counts = np.zeros(len(balls), dtype=np.intp)
        self.traces: list[list[tuple[float, float]]] = [[] for _ in balls]

    @property
    def value(self) -> float:
        """The SVMs' values at the best weights."""
        return sum(one.svm_value for one in self.best)

    @property
    def gap(self) -> float:
        """The relative gap of the best weights."""
        size = max(self.value, sum(self.floors))
        return relative_gap(self.value - self.bound, self.value, size)

    @property
    def wants_more(self) -> bool:
        """Whether to go on."""
        spent = self.rounds >= _ROUNDS or int(self.counts.max()) >= self.max_iter
        return self.gap > self.tol and not spent

    def begin(self, starts: Sequence[Solution | None]) -> None:
        """Solve the SVMs at the start's weights, moved to where they are allowed."""
        weights = [
            ball.centre if one is None else one.weights
            for ball, one in zip(self.balls, starts, strict=True)
        ]
        # The start belongs to another problem: it is not on this one's boundary.
        moved = Boundary(self.balls, self.room)
        moved.place(weights)
        self._offer(self._svms(moved.allowed(), starts))
        if not any(np.any(one.q > 0.0) for one in self.best):
            self._raise_bound(sum(one.gain for one in self.best), 0.0)
        else:
            self.eta = self._best_eta()
            self._raise_bound(self._bound_of(self.best, self.eta), self.eta)
        self._note()

    def round(self) -> None:
        """Solve the penalised problems at one eta, bound the value, and try feasible weights."""
        self.rounds += 1
        eta, before = self.eta, self.gap
        found = self._each(lambda t: self._penalised(t, eta, self.best[t]))
        distance = self.boundary.place([one.weights for one in found])
        lower = sum(map(_least, found, self.floors)) - 0.5 * eta * self.room
        self._raise_bound(max(lower, self._bound_of(found, eta)), eta)
        if distance <= self.room:
            self._offer(found)
        if abs(np.log(max(distance, _SMALLEST) / self.room)) < _NEAR:
            self._offer(self._svms(self.boundary.allowed(), found))
        self._note()
        self._next_eta(distance)
        if self.last is not None and abs(self.last[1]) < _NEAR and self.gap > _PROGRESS * before:
            # Distances were not exact enough to tell which multiplier is too large.
            self.share = max(0.1 * self.share, _LEAST_SHARE)
            self.low, self.high = -np.inf, np.inf

    def outcome(self) -> Within:
        """Return every task's part, with the gap of all of them."""
        solutions = [
            one._replace(objective=one.svm_value, n_iter=int(count), trace=np.array(trace))
            for one, count, trace in zip(self.best, self.counts, self.traces, strict=True)
        ]
        return Within(solutions, self.bound_eta)

    def _each(self, work: Callable[[int], Solution]) -> list[Solution]:
        found: list[Solution] = map_in_threads(work, range(len(self.balls)), self.n_jobs)
        self.counts += [one.n_iter for one in found]
        return found

    def _penalised(self, number: int, eta: float, start: Solution) -> Solution:
        ball = self.balls[number]
        problem = Problem(ball.blocks, ball.penalty(eta))
        limits: dict[str, Any] = {"tol": self.share * self.tol, "max_iter": self.max_iter}
        # The dual vector of a kernel of zeros says little about where to go.
        return solve(problem, start=start if start.weights.any() else None, **limits)

    def _svms(self, weights: Sequence[Array], starts: Sequence[Solution | None]) -> list[Solution]:
        """Return the SVMs at weights that are given."""

        def work(t: int) -> Solution:
            problem = Problem(self.balls[t].blocks, Fixed(weights[t]))
            before = starts[t]
            start = None if before is None else start_at(problem, weights[t], before.v)
            return solve(problem, start=start, tol=self.share * self.tol, max_iter=self.max_iter)

        return self._each(work)

    def _offer(self, found: list[Solution]) -> None:
        """Keep feasible solutions that are better than the best."""
        if not self.best or sum(one.svm_value for one in found) < self.value:
            self.best = found

    def _raise_bound(self, value: float, eta: float) -> None:
        if value > self.bound:
            self.bound, self.bound_eta = value, eta

    def _bound_of(self, found: Sequence[Solution], eta: float) -> float:
        """Return the lower bound that dual vectors give with a multiplier."""
        pairs = zip(self.balls, found, strict=True)
        each = sum(ball.penalty(eta).lower_bound(one.dual) for ball, one in pairs)
        return each - 0.5 * eta * self.room

    def _best_eta(self) -> float:
        """Return the multiplier with the best bound for the best dual vectors so far."""
        norms = [np.sqrt(np.maximum(np.diagonal(ball.G), 0.0)) for ball in self.balls]
        sizes = [
            float(np.max(one.q[norm > 0.0] / norm[norm > 0.0], initial=0.0))
            for one, norm in zip(self.best, norms, strict=True)
        ]
        middle = np.log(max(np.linalg.norm(sizes), _SMALLEST) / np.sqrt(self.room))
        found = minimize_scalar(
            lambda x: -self._bound_of(self.best, float(np.exp(x))),
            bounds=(middle - _WIDEST, middle + _WIDEST),
            method="bounded",
            options={"xatol": 0.01},
        )
        return float(np.exp(found.x))

    def _note(self) -> None:
        """Write down where every task stands, with the gap of all."""
        gap = self.gap
        for trace, one in zip(self.traces, self.best, strict=True):
            trace.append((one.svm_value, gap))

    @property
    def _aside(self) -> float:
        """By how much the next distance should miss: towards the side that is known less well."""
        aside = min(0.01, _ASIDE * float(np.sqrt(self.tol)))
        return aside if self.boundary.is_open_outside else -aside

    def _next_eta(self, distance: float) -> None:
        """Choose the next multiplier: by a secant if there are two, inside the bracket."""
        x, y = np.log(self.eta), np.log(max(distance, _SMALLEST) / self.room) - self._aside
        if y > 0.0:
            self.low = max(self.low, x)
        else:
            self.high = min(self.high, x)
        power = 1.0  # of 1 / eta that the distance falls with; it is at most 2
        if self.last is not None and self.last[0] != x:
            power = min(2.0, max(0.01, -(y - self.last[1]) / (x - self.last[0])))
        self.last = x, y
        new = x + np.clip(y / power, -_LARGEST_STEP, _LARGEST_STEP)
        if not self.low < new < self.high:
            low, high = max(self.low, self.high - _ASIDE), min(self.high, self.low + _ASIDE)
            new = 0.5 * (low + high)
        self.eta = float(np.exp(new))


def _least(found: Solution, floor: float) -> float:
    """Return the lower bound of a problem that its relative gap was measured by."""
    return found.objective - found.gap * max(abs(found.objective), found.svm_value, floor)
