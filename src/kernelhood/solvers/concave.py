"""The `normalized` problem: an SVM minus a convex quadratic, at a fixed trace.

    min over weights >= 0 with d'weights = n  of   S(weights) - (w/2) weights'G weights

The path starts at w = 0, where the problem is convex, and follows w upwards with the steps of
`mkl_loop`, which take the whole curvature, that of the SVM and that of the quadratic, where the
convex-concave procedure takes only the tangent of the latter and creeps. A point is stationary
when it solves the convex problem with the tangent at this point in the quadratic's place, an MKL
problem with the prices -w G weights: the gap of that problem is the certificate. There are many
stationary points; the one that the path leads to is given up for a lower one that is reached from
a kernel alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.corners import Corners
from kernelhood.solvers.family import KernelFamily
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.mkl_loop import Solution, relative_gap
from kernelhood.solvers.penalty import Penalty
from kernelhood.solvers.warm_start import closest_start

_FIRST_SHARE = 0.05


def solve_concave(
    kernels: KernelFamily | Array,
    terms: DualTerms,
    penalty: Penalty,
    G: Array,
    reward: float,
    *,
    start: Solution | None = None,
    carried: Solution | None = None,
    corners: Corners | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Minimise the SVM's value minus ``reward/2 weights'G weights`` at a fixed budget.

    Parameters
    ----------
    kernels : KernelFamily, or ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernels.
    terms : DualTerms
        Box and linear term of the SVM dual.
    penalty : Penalty
        Holds the budget; its prices are 0.
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the base kernels.
    reward : float
        w, at least 0.
    start : Solution, optional
        The solution of the same problem with a smaller w, to follow from there; by default the
        path starts at w = 0.
    carried : Solution, optional
        The solution of the same problem with a larger C, as a start for this one: where C falls,
        the reward rises against the SVM's value.
    corners : Corners, optional
        What is known of the kernels alone, kept for all rewards of one loss.
    tol : float
        Relative gap of the tangent problem that a stationary point has to solve.
    max_iter : int
        Largest number of SVMs for each w.

    Returns
    -------
    Solution
        Its trace has one row for each SVM at the final w: the objective, which never rises, and
        the gap of the tangent problem.
    """
    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
    if corners is None:
        corners = Corners(kernels, terms, penalty, G)
    n_solved, levels = 0, np.array([reward])
    last = penalty._replace(quadratic=-reward * G)
    start = closest_start([one for one in (start, carried) if one is not None], last)
    if start is None:
        start = solve_mkl(kernels, terms, penalty, **limits)
        n_solved, levels = start.n_iter, _levels(start, G, reward)
    found = start
    for level in levels:
        bent = penalty._replace(quadratic=-level * G)
        found = solve_mkl(kernels, terms, bent, start=found, **limits)
        n_solved += found.n_iter
    return _best_corner(found, corners, reward, last, n_solved, **limits)


def _best_corner(
    found: Solution,
    corners: Corners,
    reward: float,
    penalty: Penalty,
    n_solved: int,
    **limits: Any,
) -> Solution:
    """Return the solution, or the one that starts from a corner where that is lower."""
    tried: set[int] = set()
    corners.learn(found)
    while True:
        (corner,), (bound,) = corners.lowest(np.array([reward]))
        better = relative_gap(found.objective, found.svm_value, bound) > limits["tol"]
        if not better or corner in tried:
            return found._replace(n_iter=n_solved)
        if corner not in corners.solved:
            n_solved += corners.solve(corner).n_iter
            continue
        tried.add(corner)
        start = corners.solved[corner]
        other = solve_mkl(corners.kernels, corners.terms, penalty, start=start, **limits)
        corners.learn(other)
        n_solved += other.n_iter
        found = min(found, other, key=lambda one: one.objective)


def solved_rewards(
    found: Solution,
    G: Array,
    row: Array,
    rewards: Array,
    tol: float,
    corners: Corners | None = None,
) -> int:
    """Return for how many of the leading rewards the solution holds, without any SVM.

    Parameters
    ----------
    found : Solution
        A stationary point for some reward.
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the base kernels.
    row : ndarray of shape (n_kernels,)
        The budget's coefficients.
    rewards : ndarray of shape (n_rewards,)
        Values of w.
    tol : float
        Relative gap to accept.
    corners : Corners, optional
        The solution must not be beaten by one of them.
    """
    pull = G @ found.weights
    norm = float(pull @ found.weights)
    objective = found.svm_value - rewards * norm
    held = row > 0.0
    surplus = (found.curvatures[held] + rewards[:, None] * pull[held]) / row[held]
    dual = found.gain - float(row @ found.weights) * surplus.max(axis=1)
    gaps = (objective - dual) / np.maximum(np.abs(objective), max(found.svm_value, 1e-12))
    solved = gaps <= tol
    if corners is not None:
        objective = found.svm_value - 0.5 * rewards * norm
        size = np.maximum(np.abs(objective), found.svm_value)
        solved &= corners.lowest(rewards)[1] >= objective - tol * size
    return len(rewards) if solved.all() else int(np.argmin(solved))


def _levels(found: Solution, G: Array, reward: float) -> Array:
    """Return the values of w to follow, each twice the one before, up to `reward`."""
    norm = float(found.weights @ G @ found.weights)
    first = _FIRST_SHARE * found.objective / max(norm, 1e-300)
    n_levels = max(1, int(np.ceil(np.log2(max(reward, 1e-300) / max(first, 1e-300)))) + 1)
    return reward * 2.0 ** -np.arange(n_levels - 1, -1, -1, dtype=np.float64)
