"""The `normalized` problem: SVMs minus a convex quadratic, at a fixed trace.

    min over weights >= 0 with row'weights = budget  of   S(weights) - (w/2) weights'G weights

The path starts at w = 0, where the problem is convex, and follows w upwards with the steps of the
loop, which take the whole curvature, that of the SVM and that of the quadratic, whereas the
convex-concave procedure takes only the tangent of the latter and creeps. Only the last w is solved
to the gap: those before it are followed by a few SVMs each. There are many stationary points; the
one that the path leads to is given up for a lower one that is reached from a kernel alone, or from
two kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.penalties import Concave, Fixed, Simplex
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, Solution, closest_start, relative_gap

_FIRST_SHARE = 0.05
_DOUBLINGS = 9
_ROUGH = 1e-2
_SVMS_AT_FIRST, _SVMS_ON_THE_WAY = 15, 3

#: Where candidates lie between two kernels.
SHARES: tuple[float, ...] = (0.5,)


class SingleKernels:
    """What is known of the SVMs with one or two kernels; it serves all rewards of one loss.

    A concave penalty has many local minima, and its steps end in the nearest one. The other
    candidates are the corners, each kernel alone, and points between two corners. Without any SVM
    the penalty there is known, and every dual vector that was ever found bounds the SVM's part from
    below. Only candidates that may be better are solved.

    Parameters
    ----------
    blocks : sequence of Block
        The SVMs. Weights of single tasks are not among the candidates: they leave the others no
        kernel. Nor are two kernels if tasks are solved together, since each costs a large SVM.
    row : ndarray of shape (n_weights,)
        Coefficients of the budget.
    budget : float
        What ``row'weights`` has to be.
    G : ndarray of shape (n_weights, n_weights)
        Frobenius products of the base kernels.

    Attributes
    ----------
    weights : ndarray of shape (n_candidates, n_weights)
        The candidates, the corners first.
    norms : ndarray of shape (n_candidates,)
        Squared Frobenius norms of their kernels.
    bounds : ndarray of shape (n_candidates,)
        Lower bounds of the SVM's value.
    """

    def __init__(self, blocks: Sequence[Block], row: Array, budget: float, G: Array) -> None:
        self.blocks = blocks
        operator = blocks[0].operator
        alone = np.flatnonzero(row[: operator.n_kernels * len(operator.matrices)] > 0.0)
        corners = np.zeros((len(alone), len(row)))
        corners[np.arange(len(alone)), alone] = budget / row[alone]
        first, second = np.triu_indices(len(alone), 1)
        shares = SHARES if len(operator.matrices) == 1 else ()
        mixed = [(1.0 - share) * corners[first] + share * corners[second] for share in shares]
        self.weights = np.vstack([corners, *mixed])
        self.norms = np.einsum("cm,ml,cl->c", self.weights, G, self.weights)
        self.bounds = np.zeros(len(self.weights))
        self.solved: dict[int, Solution] = {}

    def learn(self, found: Solution) -> None:
        """Raise the bounds of the SVMs' values by a dual vector of the same loss."""
        self.bounds = np.maximum(self.bounds, found.gain - self.weights @ found.q)

    def lowest(self, rewards: Array) -> tuple[Array, Array]:
        """Return for each reward the candidate that may be lowest, and a bound of its objective."""
        bounds = self.bounds - 0.5 * np.asarray(rewards)[:, None] * self.norms
        which = np.argmin(bounds, axis=1)
        return which, bounds[np.arange(len(which)), which]

    def solve(self, candidate: int) -> Solution:
        """Return the SVMs at a candidate, as accurate as a start has to be."""
        found = solve(Problem(self.blocks, Fixed(self.weights[candidate])), max_iter=1)
        self.learn(found)
        self.solved[candidate] = found
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
        The solution of the same problem with a larger C, as a start for this one: if C falls,
        the reward rises against the SVM's value.
    corners : SingleKernels, optional
        What is known of one or two kernels, kept for all rewards of one loss.
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
    return _best_start(found, corners, penalty, n_solved, tol=tol, max_iter=max_iter)


def _best_start(
    found: Solution, corners: SingleKernels, penalty: Concave, n_solved: int, **limits: Any
) -> Solution:
    """Return the solution, or the one that starts from a candidate if that is lower."""
    tried: set[int] = set()
    corners.learn(found)
    while True:
        (candidate,), (bound,) = corners.lowest(np.array([penalty.reward]))
        missing = max(found.objective - bound, 0.0)
        better = relative_gap(missing, found.objective, found.svm_value) > limits["tol"]
        if not better or candidate in tried:
            return found._replace(n_iter=n_solved)
        if candidate not in corners.solved:
            n_solved += corners.solve(candidate).n_iter
            continue
        tried.add(candidate)
        problem = Problem(corners.blocks, penalty)
        other = solve(problem, start=corners.solved[candidate], **limits)
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
        The solution must not be beaten by one of their candidates.
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
