"""The values of an SVM's primal and dual problem, and the intercepts between them."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.losses import DualTerms


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
    rest = terms.target - Kv
    return np.array(
        [
            _best_intercept(rest[own], terms.lower[own], terms.upper[own], terms.epsilon)
            for own in map(slice, terms.starts[:-1], terms.starts[1:])
        ]
    )


def _best_intercept(rest: Array, lower: Array, upper: Array, epsilon: float) -> float:
    kinks = np.concatenate([rest - epsilon, rest + epsilon])
    jumps = np.concatenate([upper, -lower])
    kinks, jumps = kinks[jumps > 0.0], jumps[jumps > 0.0]
    order = np.argsort(kinks)
    total = float(np.sum(upper))
    slopes = np.cumsum(jumps[order]) - total
    flat = 1e-12 * total
    first = int(np.argmax(slopes >= -flat))
    if slopes[first] <= flat and first + 1 < len(order):
        return float(0.5 * (kinks[order[first]] + kinks[order[first + 1]]))
    return float(kinks[order[first]])


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
