"""Sequential minimal optimisation on a kernel that gives its rows on demand."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.combined import CombinedKernel, kernel_diagonal, kernel_row

_FLAT = 1e-12


@compiled
def _slopes(i: int, v: Array, terms: DualTerms) -> tuple[float, float]:
    """Return the parts of sample i's one-sided derivatives that do not depend on ``Kv``.

    The first is for growing v_i (minus infinity at the upper bound), the second for shrinking it
    (plus infinity at the lower bound); they differ at the kink of ``epsilon |v_i|``.
    """
    grow, shrink = -np.inf, np.inf
    if v[i] < terms.upper[i]:
        grow = terms.target[i] - (terms.epsilon if v[i] >= 0.0 else -terms.epsilon)
    if v[i] > terms.lower[i]:
        shrink = terms.target[i] - (terms.epsilon if v[i] > 0.0 else -terms.epsilon)
    return grow, shrink


@compiled
def _next_stop(i: int, sign: float, v: Array, terms: DualTerms) -> float:
    """Return the value at which v_i, moving up (sign 1) or down (-1), meets its bound or kink."""
    if sign * v[i] < 0.0:
        return 0.0
    return terms.upper[i] if sign > 0.0 else terms.lower[i]


@compiled
def _pair_step(i: int, j: int, move: float, v: Array, terms: DualTerms) -> float:
    """Grow v_i and shrink v_j by at most `move`, landing exactly on bounds; return the move."""
    stop_i, stop_j = _next_stop(i, 1.0, v, terms), _next_stop(j, -1.0, v, terms)
    move = min(move, stop_i - v[i], v[j] - stop_j)
    v[i] = stop_i if move >= stop_i - v[i] else v[i] + move
    v[j] = stop_j if move >= v[j] - stop_j else v[j] - move
    return move


@compiled
def _partner(
    i: int, steepest: float, row: Array, diagonal: Array, shrink: Array, Kv: Array
) -> tuple[int, float]:
    """Return the sample whose pair with i gains most, and the least slope of all."""
    j, best, least = -1, 0.0, np.inf
    for k in range(Kv.shape[0]):
        slope = shrink[k] - Kv[k]
        least = min(least, slope)
        gain = steepest - slope
        if gain > 0.0:
            gain *= gain / max(diagonal[i] + diagonal[k] - 2.0 * row[k], _FLAT)
            if gain > best:
                j, best = k, gain
    return j, least


@compiled
def smo(
    kernel: CombinedKernel, terms: DualTerms, v: Array, Kv: Array, tol: float, max_steps: int
) -> tuple[float, float, int]:
    """Improve v by pair steps until the largest KKT violation is at most `tol`.

    Pairs are chosen by the second-order rule: the steepest sample to grow, then the partner that
    promises the largest gain.

    Parameters
    ----------
    kernel : CombinedKernel
        The kernel; rows of the samples that take part are computed.
    terms : DualTerms
        Box and linear term.
    v, Kv : ndarray of shape (n_samples,)
        A feasible dual vector and its product with K; both are updated in place.
    tol : float
        Largest violation to accept, in units of the target.
    max_steps : int
        Give up after this many pair steps.

    Returns
    -------
    violation : float
        The violation reached.
    intercept : float
        The middle of the interval that the violation spans.
    n_steps : int
        Pair steps taken.
    """
    n = v.shape[0]
    grow, shrink, diagonal = np.empty(n), np.empty(n), kernel_diagonal(kernel)
    i, steepest = 0, -np.inf
    for k in range(n):
        grow[k], shrink[k] = _slopes(k, v, terms)
        if grow[k] - Kv[k] > steepest:
            i, steepest = k, grow[k] - Kv[k]
    for step in range(max_steps):
        row_i = kernel_row(kernel, i)
        j, least = _partner(i, steepest, row_i, diagonal, shrink, Kv)
        if steepest - least <= tol or j < 0:
            return steepest - least, 0.5 * (steepest + least), step
        bend = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], _FLAT)
        move = _pair_step(i, j, (steepest - shrink[j] + Kv[j]) / bend, v, terms)
        grow[i], shrink[i] = _slopes(i, v, terms)
        grow[j], shrink[j] = _slopes(j, v, terms)
        row_j = kernel_row(kernel, j)
        i, steepest = 0, -np.inf
        for k in range(n):
            Kv[k] += move * (row_i[k] - row_j[k])
            slope = grow[k] - Kv[k]
            if slope > steepest:
                i, steepest = k, slope
    least = _partner(i, steepest, kernel_row(kernel, i), diagonal, shrink, Kv)[1]
    return steepest - least, 0.5 * (steepest + least), max_steps
