"""What a solver returns, and when a solution serves another penalty as well."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.penalties import DualPoint, Penalty

_ROUNDING = 1e-10
#: Gaps below this are at the mercy of rounding: they are asked for, but no promise.
FINEST_GAP = 1e-11


class Solution(NamedTuple):
    """The outcome of one problem.

    Attributes
    ----------
    weights : ndarray of shape (n_weights,)
        Kernel weights; kernels that do not take part have exactly 0.
    v : ndarray of shape (n_samples,)
        Signed dual vector, one block after the other.
    intercepts : ndarray of shape (n_groups,)
        Intercepts of the decision functions.
    objective : float
        Value of the primal problem.
    svm_value, gain : float
        The SVMs' part of the objective, and the linear part of their dual.
    q : ndarray of shape (n_weights,)
        ``1/2 v'K^m v``.
    n_iter : int
        SVMs that were solved.
    trace : ndarray of shape (n_iter, 2)
        Objective and relative duality gap after each of them.
    bend : float
        The part of the gain that grows with the square of v; 0 where losses have a box.
    noise_scale : float
        What the inverse costs of a squared loss are multiplied by, where their scale was learned.
    """

    weights: Array
    v: Array
    intercepts: Array
    objective: float
    svm_value: float
    gain: float
    q: Array
    n_iter: int
    trace: Array
    bend: float = 0.0
    noise_scale: float = 1.0

    @property
    def gap(self) -> float:
        """The relative duality gap that was reached."""
        return float(self.trace[-1, 1])

    @property
    def dual(self) -> DualPoint:
        """Gain and q of the dual vector."""
        return DualPoint(self.gain, self.q, self.bend)

    @property
    def svm_gap(self) -> float:
        """The relative duality gap of the SVMs alone, whatever their weights cost."""
        return svm_gap(self.svm_value, self.dual, self.weights)


def svm_gap(svm_value: float, dual: DualPoint, weights: Array, floor: float = 0.0) -> float:
    """Return the relative duality gap of SVMs at given weights.

    Parameters
    ----------
    svm_value : float
        Their primal value.
    dual : DualPoint
        Of their dual vectors.
    weights : ndarray of shape (n_weights,)
        In the units of the dual point.
    floor : float
        What counts as the value where that is less.
    """
    missing = svm_value - dual.gain + float(dual.q @ weights)
    return relative_gap(missing, svm_value, max(svm_value, floor))


def relative_gap(gap: float, objective: float, svm_value: float) -> float:
    """Return a gap relative to the objective, or to the SVMs' part where that is more.

    Rounding may leave a gap below zero by a trace of its size, which is none. Where it is below by
    more, rounding hides where the optimum is, and its distance from zero is what is known.
    """
    size = max(abs(objective), svm_value, 1e-300)
    return 0.0 if -_ROUNDING * size <= gap < 0.0 else abs(gap) / size


def recertified(solution: Solution, penalty: Penalty, tol: float) -> Solution | None:
    """Return the solution with its certificate for another penalty, or None where it has none.

    The same weights and dual vector often solve the neighbours on a path as well; to see it takes
    no SVM.

    Parameters
    ----------
    solution : Solution
        Of the same SVMs with some penalty.
    penalty : Penalty
        The other penalty.
    tol : float
        Relative duality gap to accept.
    """
    if not penalty.contains(solution.weights):
        return None
    objective = solution.svm_value + penalty.value(solution.weights)
    missing = penalty.gap(solution.weights, solution.svm_value, solution.dual)
    gap = relative_gap(missing, objective, solution.svm_value)
    if not penalty.convex:
        gap = max(gap, solution.svm_gap)
    if gap > tol:
        return None
    return solution._replace(objective=objective, n_iter=0, trace=np.array([[objective, gap]]))


def solved_ahead(
    solution: Solution, penalty_of: Callable[[int], Penalty], count: int, tol: float
) -> int:
    """Return how many of the next penalties on a line the solution solves, without any SVM.

    Along a line of convex penalties the duality gap of fixed weights and a fixed dual vector is
    convex, and the value it is measured against is linear: what the solution solves follows each
    other, and only the ends are looked at.

    Parameters
    ----------
    solution : Solution
        Of the same SVMs.
    penalty_of : callable
        Returns a penalty by its number, 0 for the next one.
    count : int
        How many there are.
    tol : float
        Relative duality gap to accept.
    """

    def missed(number: int) -> bool:
        return recertified(solution, penalty_of(number), tol) is None

    if count == 0 or missed(0):
        return 0
    if not missed(count - 1):
        return count
    return bisect_left(range(count), True, key=missed)
