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
    target, lower, upper, epsilon, starts = terms
    intercepts = np.empty(starts.shape[0] - 1)
    kinks, jumps = np.empty(2 * Kv.shape[0]), np.empty(2 * Kv.shape[0])
    for g in range(intercepts.shape[0]):
        size, total = 0, 0.0
        for i in range(starts[g], starts[g + 1]):
            total += upper[i]
            if upper[i] > 0.0:
                kinks[size], jumps[size] = target[i] - epsilon - Kv[i], upper[i]
                size += 1
            if lower[i] < 0.0:
                kinks[size], jumps[size] = target[i] + epsilon - Kv[i], -lower[i]
                size += 1
        intercepts[g] = _crossing(kinks[:size], jumps[:size], total)
    return intercepts


@compiled
def _crossing(kinks: Array, jumps: Array, total: float) -> float:
    """Return where a slope that is -total at first and grows by a jump at each kink becomes zero.

    The kinks are not sorted: around one of them those before and after it are told apart, and the
    search goes on among those where the crossing is. Both arrays are reordered.
    """
    flat, slope, beyond = 1e-12 * total, -total, np.inf
    first, last = 0, kinks.shape[0]
    while True:
        middle = kinks[(first + last) // 2]
        before, after, k = first, last, first
        left, here = slope, 0.0
        while k < after:
            if kinks[k] > middle:
                after -= 1
                kinks[k], kinks[after] = kinks[after], kinks[k]
                jumps[k], jumps[after] = jumps[after], jumps[k]
                continue
            if kinks[k] < middle:
                left += jumps[k]
                kinks[k], kinks[before] = kinks[before], kinks[k]
                jumps[k], jumps[before] = jumps[before], jumps[k]
                before += 1
            else:
                here += jumps[k]
            k += 1
        if left >= -flat and before > first:
            last, beyond = before, middle
        elif left + here < -flat and after < last:
            first, slope = after, left + here
        else:
            break
    if left + here > flat:
        return middle
    for k in range(after, last):
        beyond = min(beyond, kinks[k])
    return 0.5 * (middle + beyond) if beyond < np.inf else middle


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


@compiled
def best_gap(v: Array, Kv: Array, terms: DualTerms) -> float:
    """Return the duality gap of a feasible v with the best intercepts."""
    return svm_gap(v, Kv, best_intercepts(Kv, terms), terms)


@compiled
def svm_values(v: Array, Kv: Array, terms: DualTerms) -> tuple[Array, float, float]:
    """Return the best intercepts, the primal value with them, and the linear term of the dual.

    Parameters
    ----------
    v, Kv : ndarray of shape (n_samples,)
        A dual vector and its product with the kernel.
    terms : DualTerms
        The loss.
    """
    intercepts = best_intercepts(Kv, terms)
    value = total_loss(Kv, intercepts, terms)
    for i in range(v.shape[0]):
        value += 0.5 * v[i] * Kv[i]
    return intercepts, value, linear_term(v, terms)
