"""The `normalized` problem: SVMs minus a convex quadratic, at a fixed trace.

    min over weights >= 0 with row'weights = budget  of   S(weights) - (w/2) weights'G weights

The path starts at w = 0, where the problem is convex, and follows w upwards with the steps of the
loop, which take the whole curvature, that of the SVM and that of the quadratic, where the
convex-concave procedure takes only the tangent of the latter and creeps. Only the last w is solved
to the gap: those before it are followed by a few SVMs each. There are many stationary points; the
one that the path leads to is given up for a lower one that is reached from a kernel alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.penalties import Concave, Fixed, Simplex
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, Solution, relative_gap
from kernelhood.solvers.warm_start import closest_start

_FIRST_SHARE = 0.05
_DOUBLINGS = 9
_ROUGH = 1e-2
_SVMS_AT_FIRST, _SVMS_ON_THE_WAY = 15, 3


class SingleKernels:
    """What is known of the SVMs with each kernel alone; it serves all rewards of one loss.

    A concave penalty has many local minima, and its steps end in the nearest one. The corners are
    the other candidates: without any SVM the penalty there is known, and every dual vector that was
    ever found bounds the SVM's part from below. Only corners that may be better are solved.

    Parameters
    ----------
    blocks : sequence of Block
        The SVMs. Weights of single tasks have no corners: they leave the others no kernel.
    row : ndarray of shape (n_weights,)
        Coefficients of the budget.
    budget : float
        What ``row'weights`` has to be.
    G : ndarray of shape (n_weights, n_weights)
        Frobenius products of the base kernels.
    """

    def __init__(self, blocks: Sequence[Block], row: Array, budget: float, G: Array) -> None:
        self.blocks, self.n_weights = blocks, len(row)
        operator = blocks[0].operator
        number = operator.n_kernels * len(operator.matrices)
        row = row[:number]
        self.weights = np.where(row > 0.0, budget / np.where(row > 0.0, row, 1.0), 0.0)
        self.norms = self.weights**2 * np.diagonal(G)[:number]
        self.bounds = np.where(row > 0.0, 0.0, np.inf)
        self.solved: dict[int, Solution] = {}

    def learn(self, found: Solution) -> None:
        """Raise the bounds of the SVMs' values by a dual vector of the same loss."""
        bounds = found.gain - found.q[: len(self.weights)] * self.weights
        self.bounds = np.maximum(self.bounds, bounds)

    def lowest(self, rewards: Array) -> tuple[Array, Array]:
        """Return for each reward the corner that may be lowest, and a bound of its objective."""
        bounds = self.bounds - 0.5 * np.asarray(rewards)[:, None] * self.norms
        which = np.argmin(bounds, axis=1)
        return which, bounds[np.arange(len(which)), which]

    def solve(self, corner: int) -> Solution:
        """Return the SVMs with one kernel alone, as accurate as a start has to be."""
        weights = np.zeros(self.n_weights)
        weights[corner] = self.weights[corner]
        found = solve(Problem(self.blocks, Fixed(weights)), max_iter=1)
        self.learn(found)
        self.solved[corner] = found
        return found


def solve_concave(
    blocks: Sequence[Block],
    penalty: Concave,
    *,
    start: Solution | None = None,
    carried: Solution | None = None,
    corners: SingleKernels | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Return a stationary point of the problem, followed from smaller w.

    Parameters
    ----------
    blocks : sequence of Block
        The SVMs.
    penalty : Concave
        The budget and the reward w.
    start : Solution, optional
        The solution of the same problem with a smaller w, to follow from there; by default the
        path starts at w = 0.
    carried : Solution, optional
        The solution of the same problem with a larger C, as a start for this one: where C falls,
        the reward rises against the SVM's value.
    corners : SingleKernels, optional
        What is known of the kernels alone, kept for all rewards of one loss.
    tol : float
        Relative gap of the tangent problem that a stationary point has to solve.
    max_iter : int
        Largest number of SVMs at the final w.

    Returns
    -------
    Solution
        Its trace has one row for each SVM at the final w: the objective, which never rises, and
        the gap of the tangent problem.
    """
    row, budget, G = penalty.row, penalty.budget, penalty.G
    if corners is None:
        corners = SingleKernels(blocks, row, budget, G)
    n_solved = 0
    known = closest_start([one for one in (start, carried) if one is not None], penalty)
    if known is None:
        plain, few = Problem(blocks, Simplex(row, budget)), min(max_iter, _SVMS_AT_FIRST)
        known = solve(plain, tol=max(tol, _ROUGH), max_iter=few)
        n_solved = known.n_iter
        for level in _levels(known, penalty):
            bent = Problem(blocks, Concave(row, budget, G, level))
            known = solve(bent, start=known, tol=tol, max_iter=_SVMS_ON_THE_WAY)
            n_solved += known.n_iter
    found = solve(Problem(blocks, penalty), start=known, tol=tol, max_iter=max_iter)
    n_solved += found.n_iter
    return _best_corner(found, corners, penalty, n_solved, tol=tol, max_iter=max_iter)


def _best_corner(
    found: Solution, corners: SingleKernels, penalty: Concave, n_solved: int, **limits: Any
) -> Solution:
    """Return the solution, or the one that starts from a corner where that is lower."""
    tried: set[int] = set()
    corners.learn(found)
    while True:
        (corner,), (bound,) = corners.lowest(np.array([penalty.reward]))
        missing = max(found.objective - bound, 0.0)
        better = relative_gap(missing, found.objective, found.svm_value) > limits["tol"]
        if not better or corner in tried:
            return found._replace(n_iter=n_solved)
        if corner not in corners.solved:
            n_solved += corners.solve(corner).n_iter
            continue
        tried.add(corner)
        problem = Problem(corners.blocks, penalty)
        other = solve(problem, start=corners.solved[corner], **limits)
        corners.learn(other)
        n_solved += other.n_iter
        found = min(found, other, key=lambda one: one.objective)


def solved_rewards(
    found: Solution,
    penalty: Concave,
    rewards: Array,
    tol: float,
    corners: SingleKernels | None = None,
) -> int:
    """Return for how many of the leading rewards the solution holds, without any SVM.

    Parameters
    ----------
    found : Solution
        A stationary point for some reward.
    penalty : Concave
        The budget; its own reward does not matter.
    rewards : ndarray of shape (n_rewards,)
        Values of w.
    tol : float
        Relative gap to accept.
    corners : SingleKernels, optional
        The solution must not be beaten by one of them.
    """
    row, pull = penalty.row, penalty.G @ found.weights
    norm = float(pull @ found.weights)
    objective = found.svm_value - rewards * norm
    held = row > 0.0
    surplus = (found.q[held] + rewards[:, None] * pull[held]) / row[held]
    dual = found.gain - float(row @ found.weights) * surplus.max(axis=1)
    gaps = (objective - dual) / np.maximum(np.abs(objective), max(found.svm_value, 1e-12))
    solved = gaps <= tol
    if corners is not None:
        objective = found.svm_value - 0.5 * rewards * norm
        size = np.maximum(np.abs(objective), found.svm_value)
        solved &= corners.lowest(rewards)[1] >= objective - tol * size
    return len(rewards) if solved.all() else int(np.argmin(solved))


def _levels(found: Solution, penalty: Concave) -> Array:
    """Return the values of w to follow before the last, each twice the one before.

    They begin where the reward is a small share of the SVM's value, and end where it is many times
    that: from there on the SVM hardly matters.
    """
    norm = float(found.weights @ penalty.G @ found.weights)
    balance = found.objective / max(norm, 1e-300)
    levels = balance * _FIRST_SHARE * 2.0 ** np.arange(_DOUBLINGS, dtype=np.float64)
    return levels[levels < 0.75 * penalty.reward]
