"""The values of an SVM's primal and dual problem, and the intercepts between them."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.losses import DualTerms


@compiled
def best_intercepts(Kv: Array, terms: DualTerms) -> Array:
    """Return for every group the intercept b that minimises the total loss of ``Kv + b``.

    The loss is piecewise linear in b: its slope is ``-sum(upper)`` far to the left, grows by
    ``upper_i`` at ``target_i - epsilon - Kv_i`` and by ``-lower_i`` at
    ``target_i + epsilon - Kv_i``. Where it is zero on an interval, the middle is returned.

    Parameters
    ----------
    Kv : ndarray of shape (n_samples,)
        Function values without intercept.
    terms : DualTerms
        The loss.

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    intercepts = np.empty(len(terms.starts) - 1)
    for g in range(len(intercepts)):
        first, last = terms.starts[g], terms.starts[g + 1]
        upper, lower = terms.upper[first:last], terms.lower[first:last]
        rest = terms.target[first:last] - Kv[first:last]
        kinks = np.concatenate((rest - terms.epsilon, rest + terms.epsilon))
        jumps = np.concatenate((upper, -lower))
        intercepts[g] = _where_slope_vanishes(kinks, jumps, np.sum(upper))
    return intercepts


@compiled
def _where_slope_vanishes(kinks: Array, jumps: Array, total: float) -> float:
    """Return where a slope that starts at -total and jumps at the kinks comes to zero."""
    order = np.argsort(kinks)
    slope, flat = -total, 1e-12 * total
    left = np.nan
    for place in order:
        if jumps[place] > 0.0:
            if not np.isnan(left):
                return 0.5 * (left + kinks[place])
            slope += jumps[place]
            if slope > flat:
                return kinks[place]
            if slope >= -flat:
                left = kinks[place]
    return left


@compiled
def total_loss(Kv: Array, intercepts: Array, terms: DualTerms) -> float:
    """Return the sum of the two-sided hinge losses of ``Kv`` plus each group's intercept."""
    loss = 0.0
    for g in range(intercepts.shape[0]):
        for i in range(terms.starts[g], terms.starts[g + 1]):
            rest = terms.target[i] - Kv[i] - intercepts[g]
            loss += terms.upper[i] * max(0.0, rest - terms.epsilon)
            loss -= terms.lower[i] * max(0.0, -rest - terms.epsilon)
    return loss


@compiled
def linear_term(v: Array, terms: DualTerms) -> float:
    """Return ``target'v - epsilon |v|_1``, the dual objective without its quadratic part."""
    value = 0.0
    for i in range(v.shape[0]):
        value += terms.target[i] * v[i] - terms.epsilon * abs(v[i])
    return value


@compiled
def svm_gap(v: Array, Kv: Array, intercepts: Array, terms: DualTerms) -> float:
    """Return the duality gap between a feasible v and the function ``Kv`` plus intercepts."""
    squared_norm = 0.0
    for i in range(v.shape[0]):
        squared_norm += v[i] * Kv[i]
    return squared_norm + total_loss(Kv, intercepts, terms) - linear_term(v, terms)
