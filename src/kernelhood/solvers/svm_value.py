"""The values of an SVM's primal and dual problem, and the intercept between them."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.losses import DualTerms


@compiled
def best_intercept(Kv: Array, terms: DualTerms) -> float:
    """Return the intercept b that minimises the total loss of ``Kv + b``.

    The loss is piecewise linear in b: its slope is ``-sum(upper)`` far to the left and grows by
    ``upper_i`` at ``target_i - epsilon - Kv_i`` and by ``-lower_i`` at ``target_i + epsilon - Kv_i``.
    Where the slope is zero on an interval, its middle is returned.
    """
    n = Kv.shape[0]
    kinks = np.empty(2 * n)
    jumps = np.empty(2 * n)
    count = 0
    slope = 0.0
    for i in range(n):
        rest = terms.target[i] - Kv[i]
        slope -= terms.upper[i]
        if terms.upper[i] > 0.0:
            kinks[count] = rest - terms.epsilon
            jumps[count] = terms.upper[i]
            count += 1
        if terms.lower[i] < 0.0:
            kinks[count] = rest + terms.epsilon
            jumps[count] = -terms.lower[i]
            count += 1
    flat = 1e-12 * abs(slope)
    order = np.argsort(kinks[:count])
    for rank in range(count):
        slope += jumps[order[rank]]
        if slope > flat:
            return kinks[order[rank]]
        if slope >= -flat and rank + 1 < count:
            return 0.5 * (kinks[order[rank]] + kinks[order[rank + 1]])
    return kinks[order[count - 1]]


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
def svm_gap(v: Array, Kv: Array, terms: DualTerms) -> float:
    """Return the duality gap of a feasible v, with the best intercept for its function."""
    loss = total_loss(Kv, best_intercept(Kv, terms), terms)
    return np.dot(v, Kv) + loss - linear_term(v, terms)
