"""Sequential minimal optimisation on a kernel that gives its rows on demand."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.losses import DualTerms
from kernelhood.solvers.combined import CombinedKernel, kernel_row

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
    i: int, first: int, last: int, slopes: Array, row: Array, diagonal: Array, Kv: Array
) -> int:
    """Return the sample from first to last whose pair with i gains most, or -1."""
    steepest, shrink = slopes[0, i] - Kv[i], slopes[1]
    j, best = -1, 0.0
    for k in range(first, last):
        gain = steepest - shrink[k] + Kv[k]
        if gain > 0.0:
            gain *= gain / max(diagonal[i] + diagonal[k] - 2.0 * row[k], _FLAT)
            if gain > best:
                j, best = k, gain
    return j


@compiled
def _look(first: int, last: int, slopes: Array, Kv: Array) -> tuple[int, float, float]:
    """Return the steepest sample to grow from first to last, its slope, and the least to shrink."""
    grow, shrink = slopes[0], slopes[1]
    i, steepest, least = first, -np.inf, np.inf
    for k in range(first, last):
        least = min(least, shrink[k] - Kv[k])
        slope = grow[k] - Kv[k]
        if slope > steepest:
            i, steepest = k, slope
    return i, steepest, least


@compiled
def _spread(kernel: CombinedKernel, starts: Indices, group: int, i: int) -> tuple[int, int]:
    """Return the range of groups whose values a step of sample i can change."""
    first, last = starts[group], starts[group + 1]
    if np.any(kernel.shared != 0.0):
        reach = kernel.layout.reach[kernel.layout.cell[i]]
        first, last = min(first, reach[0]), max(last, reach[1])
    return np.searchsorted(starts, first), np.searchsorted(starts, last)


@compiled
def smo(
    kernel: CombinedKernel, terms: DualTerms, v: Array, Kv: Array, tol: float, max_steps: int
) -> tuple[Array, int, int]:
    """Improve v by pair steps until the largest KKT violation of every group is at most `tol`.

    Pairs are chosen by the second-order rule: in the group with the largest violation the steepest
    sample to grow, then the partner that promises the largest gain.

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
    edges : ndarray of shape (n_groups, 2)
        The interval that the violation of each group spans, the larger end first.
    n_steps : int
        Pair steps taken.
    missing : int
        The sample whose row is needed to go on, where rows are filled from outside; or -1.
    """
    starts, held = terms.starts, kernel.Ks.shape[0] > 0
    n_groups = starts.shape[0] - 1
    top, edges, slopes = np.empty(n_groups, np.intp), np.empty((n_groups, 2)), np.empty((2, len(v)))
    for k in range(len(v)):
        slopes[0, k], slopes[1, k] = _slopes(k, v, terms)
    for g in range(n_groups):
        top[g], edges[g, 0], edges[g, 1] = _look(starts[g], starts[g + 1], slopes, Kv)
    for step in range(max_steps):
        group = int(np.argmax(edges[:, 0] - edges[:, 1]))
        if edges[group, 0] - edges[group, 1] <= tol:
            return edges, step, -1
        i = top[group]
        if not (held or kernel.ready[i]):
            return edges, step, i
        row_i = kernel_row(kernel, i)
        j = _partner(i, starts[group], starts[group + 1], slopes, row_i, kernel.diagonal, Kv)
        if j < 0:
            return edges, step, -1
        if not (held or kernel.ready[j]):
            return edges, step, j
        row_j = kernel_row(kernel, j)
        bend = max(kernel.diagonal[i] + kernel.diagonal[j] - 2.0 * row_i[j], _FLAT)
        move = _pair_step(i, j, (edges[group, 0] - slopes[1, j] + Kv[j]) / bend, v, terms)
        slopes[0, i], slopes[1, i] = _slopes(i, v, terms)
        slopes[0, j], slopes[1, j] = _slopes(j, v, terms)
        first, last = _spread(kernel, starts, group, i)
        for k in range(starts[first], starts[last]):
            Kv[k] += move * (row_i[k] - row_j[k])
        for g in range(first, last):
            top[g], edges[g, 0], edges[g, 1] = _look(starts[g], starts[g + 1], slopes, Kv)
    return edges, max_steps, -1
