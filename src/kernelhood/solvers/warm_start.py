"""A solution carried to another box: the same samples and kernels with another C.

Along a path in C, support vectors at their bounds mostly stay at them and free ones hardly move.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.fixed import start_at
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.penalty import Penalty, certificate

_ROUNDING = 1e-9


def carried_start(
    Ks: Array, terms: DualTerms, solution: Solution, before: DualTerms
) -> Solution | None:
    """Return a solution as the start for another box, with its true values there.

    Parameters
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices; kernels beyond the solution's weights get weight 0.
    terms : DualTerms
        The loss to start.
    solution : Solution
        Of the same samples with another loss.
    before : DualTerms
        That loss.

    Returns
    -------
    Solution or None
        None where one box is no multiple of the other.
    """
    ratio = _box_ratio(terms, before)
    if ratio is None:
        return None
    weights = np.zeros(len(Ks))
    weights[: len(solution.weights)] = solution.weights
    v = np.clip(stretched(solution.v, before, ratio), terms.lower, terms.upper)
    return start_at(Ks, terms, weights, v)


def stretched(v: Array, before: DualTerms, ratio: float) -> Array:
    """Return a dual vector that is feasible in a box `ratio` times as wide.

    Entries at a bound go to the new one. Free entries stay where they can, but for those that
    have to make up for the sum.

    Parameters
    ----------
    v : ndarray of shape (n_samples,)
        Feasible, of sum zero.
    before : DualTerms
        The box it is in.
    ratio : float
        Positive.
    """
    if ratio < 1.0:
        return _shrunk(v, before, ratio)
    nearly = 1.0 - _ROUNDING
    bounded = (v <= nearly * before.lower) | (v >= nearly * before.upper)
    rest = float(np.sum(v[~bounded]))
    moved = ~bounded & (v * rest > 0.0)
    total = float(np.sum(v[moved]))
    found = np.where(bounded, ratio * v, v)
    # The entries of the rest's own sign sum to at least the rest: the factor is at most `ratio`.
    found[moved] *= 1.0 + (ratio - 1.0) * rest / total if total != 0.0 else 1.0
    return found


def _shrunk(v: Array, before: DualTerms, ratio: float) -> Array:
    """Return a dual vector that is feasible in a narrower box."""
    found = np.clip(v, ratio * before.lower, ratio * before.upper)
    rest = float(np.sum(found))
    surplus = found * rest > 0.0
    free = surplus & (found == v)
    if abs(float(np.sum(found[free]))) >= abs(rest):
        surplus = free
    total = float(np.sum(found[surplus]))
    found[surplus] *= 1.0 - rest / total if total != 0.0 else 1.0
    return found


def closest_start(starts: Sequence[Solution], penalty: Penalty) -> Solution | None:
    """Return the start with the smallest duality gap; None where no one keeps the budget.

    Parameters
    ----------
    starts : sequence of Solution
        With their true values for the SVM at hand.
    penalty : Penalty
        The price of the weights.
    """
    kept = [one for one in starts if keeps_budget(penalty, one.weights)]
    return min(kept, key=lambda one: _gap(penalty, one), default=None)


def keeps_budget(penalty: Penalty, weights: Array) -> bool:
    """Return whether weights are feasible."""
    return abs(float(penalty.row @ weights) - penalty.budget) <= _ROUNDING * penalty.budget


def _gap(penalty: Penalty, start: Solution) -> float:
    return certificate(penalty, start.weights, start.svm_value, start.gain, start.curvatures)


def _box_ratio(terms: DualTerms, before: DualTerms) -> float | None:
    """Return by which factor the box has grown, or None where it changed its shape."""
    ratio = float((terms.upper - terms.lower).sum() / (before.upper - before.lower).sum())
    sides = ((terms.upper, ratio * before.upper), (terms.lower, ratio * before.lower))
    same = all((np.abs(new - old) <= _ROUNDING * np.abs(old)).all() for new, old in sides)
    return ratio if same else None
