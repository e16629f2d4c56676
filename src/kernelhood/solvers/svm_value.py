"""The values of an SVM's primal and dual problem, and the intercept between them."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.losses import DualTerms


def best_intercept(Kv: Array, terms: DualTerms) -> float:
    """Return the intercept b that minimises the total loss of ``Kv + b``.

    The loss is piecewise linear in b: its slope is ``-sum(upper)`` far to the left, grows by
    ``upper_i`` at ``target_i - epsilon - Kv_i`` and by ``-lower_i`` at
    ``target_i + epsilon - Kv_i``. Where it is zero on an interval, the middle is returned.

    Parameters
    ----------
    Kv : ndarray of shape (n_samples,)
        Function values without intercept.
    terms : DualTerms
        The loss.
    """
    rest = terms.target - Kv
    kinks = np.concatenate([rest - terms.epsilon, rest + terms.epsilon])
    jumps = np.concatenate([terms.upper, -terms.lower])
    kinks, jumps = kinks[jumps > 0.0], jumps[jumps > 0.0]
    order = np.argsort(kinks)
    total = float(np.sum(terms.upper))
    slopes = np.cumsum(jumps[order]) - total
    flat = 1e-12 * total
    first = int(np.argmax(slopes >= -flat))
    if slopes[first] <= flat and first + 1 < len(order):
        return float(0.5 * (kinks[order[first]] + kinks[order[first + 1]]))
    return float(kinks[order[first]])


@compiled
def total_loss(Kv: Array, intercept: float, terms: DualTerms) -> float:
    """Return the sum of the two-sided hinge losses of ``Kv + intercept``."""
    loss = 0.0
    for i in range(Kv.shape[0]):
        rest = terms.target[i] - Kv[i] - intercept
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
def svm_gap(v: Array, Kv: Array, intercept: float, terms: DualTerms) -> float:
    """Return the duality gap between a feasible v and the function ``Kv + intercept``."""
    squared_norm = 0.0
    for i in range(v.shape[0]):
        squared_norm += v[i] * Kv[i]
    return squared_norm + total_loss(Kv, intercept, terms) - linear_term(v, terms)
