"""Sequential minimal optimisation on a kernel that gives its rows on demand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.losses import DualTerms
from kernelhood.solvers.combined import CombinedKernel, kernel_row
from kernelhood.solvers.layout import Layout

_FLAT = 1e-12


class _State(NamedTuple):
    """What every step needs to know of all samples.

    Attributes
    ----------
    Kv : ndarray of shape (n_samples,)
        The product with the kernel.
    grow, shrink : ndarray of shape (n_samples,)
        The parts of the one-sided derivatives that do not depend on it.
    slack : ndarray of shape (n_samples,)
        ``shrink - Kv``.
    """

    Kv: Array
    grow: Array
    shrink: Array
    slack: Array


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
def _partner(steepest: float, own: float, row: Array, diagonal: Array, slack: Array) -> int:
    """Return the place of the sample whose pair with one of diagonal `own` gains most, or -1."""
    j, best = -1, 0.0
    for k in range(slack.shape[0]):
        gain = steepest - slack[k]
        if gain > 0.0:
            gain *= gain / max(own + diagonal[k] - 2.0 * row[k], _FLAT)
            if gain > best:
                j, best = k, gain
    return j


@compiled
def _shift(
    first: int, last: int, move: float, plus: Array, minus: Array, state: _State
) -> tuple[int, float, float]:
    """Add ``move * (plus - minus)`` to Kv from first to last.

    Returns the steepest sample to grow there, its slope, and the least slope of those to shrink.
    """
    # Slices, because loops that start at zero are compiled to better code.
    Kv, grow, shrink = state.Kv[first:last], state.grow[first:last], state.shrink[first:last]
    slack, plus, minus = state.slack[first:last], plus[first:last], minus[first:last]
    i, steepest, least = 0, -np.inf, np.inf
    for k in range(Kv.shape[0]):
        value = Kv[k] + move * (plus[k] - minus[k])
        Kv[k] = value
        slack[k] = shrink[k] - value
        least = min(least, slack[k])
        slope = grow[k] - value
        if slope > steepest:
            i, steepest = k, slope
    return first + i, steepest, least


@compiled
def _worst(edges: Array) -> int:
    """Return the group with the largest violation."""
    worst = 0
    for g in range(1, edges.shape[0]):
        if edges[g, 0] - edges[g, 1] > edges[worst, 0] - edges[worst, 1]:
            worst = g
    return worst


@compiled
def _spread(layout: Layout, starts: Indices, group: int, i: int, far: bool) -> tuple[int, int]:
    """Return the range of groups whose values a step of sample i can change.

    `far` says whether the kernel reaches beyond the sample's cell.
    """
    if not far or starts.shape[0] == 2:
        return group, group + 1
    cell = layout.cell[i]
    begin, end = group, group + 1
    while starts[begin] > layout.reach[cell, 0]:
        begin -= 1
    while starts[end] < layout.reach[cell, 1]:
        end += 1
    return begin, end


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
    starts, held, diagonal = terms.starts, kernel.Ks.shape[0] > 0, kernel.diagonal
    n, n_groups, far = len(v), starts.shape[0] - 1, kernel.active.shape[0] > 0
    state = _State(Kv, np.empty(n), np.empty(n), np.empty(n))
    top, edges = np.empty(n_groups, np.intp), np.empty((n_groups, 2))
    for k in range(n):
        state.grow[k], state.shrink[k] = _slopes(k, v, terms)
    for g in range(n_groups):
        look = _shift(starts[g], starts[g + 1], 0.0, diagonal, diagonal, state)
        top[g], edges[g, 0], edges[g, 1] = look
    for step in range(max_steps):
        group = _worst(edges)
        steepest, i = edges[group, 0], top[group]
        if steepest - edges[group, 1] <= tol:
            return edges, step, -1
        if not (held or kernel.ready[i]):
            return edges, step, i
        row_i = kernel_row(kernel, i)
        here = slice(starts[group], starts[group + 1])
        j = _partner(steepest, diagonal[i], row_i[here], diagonal[here], state.slack[here])
        if j < 0:
            return edges, step, -1
        j += starts[group]
        if not (held or kernel.ready[j]):
            return edges, step, j
        row_j = kernel_row(kernel, j)
        bend = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], _FLAT)
        move = _pair_step(i, j, (steepest - state.slack[j]) / bend, v, terms)
        state.grow[i], state.shrink[i] = _slopes(i, v, terms)
        state.grow[j], state.shrink[j] = _slopes(j, v, terms)
        first, last = _spread(kernel.layout, starts, group, i, far)
        for g in range(first, last):
            look = _shift(starts[g], starts[g + 1], move, row_i, row_j, state)
            top[g], edges[g, 0], edges[g, 1] = look
    return edges, max_steps, -1
