"""Pair steps on the SVM dual (sequential minimal optimisation), with rows on demand."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import Array, Indices
from kernelhood.losses.box import BoxLoss
from kernelhood.operators.combined import Combined, fill_row

_FLAT = 1e-12
_ROUNDS_BETWEEN_LOOKS = 4
_ROUNDS_GROW_FROM = 100
#: The rows of the array that the loop works on. One array compiles much faster than nine.
_V, _KV, _TARGET, _LOWER, _UPPER, _DIAGONAL, _GROW, _SHRINK, _SLACK = range(9)


@inlined
def _set_slopes(state: Array, epsilon: float, k: int) -> None:
    """Write a sample's slack, and the parts of its derivatives that do not depend on ``Kv``.

    The first is for growing its entry of v (minus infinity at the upper bound), the second for
    shrinking it (plus infinity at the lower bound); they differ at the kink of ``epsilon |v_i|``.
    """
    value, grow, shrink = state[_V, k], -np.inf, np.inf
    if value < state[_UPPER, k]:
        grow = state[_TARGET, k] - (epsilon if value >= 0.0 else -epsilon)
    if value > state[_LOWER, k]:
        shrink = state[_TARGET, k] - (epsilon if value > 0.0 else -epsilon)
    state[_GROW, k], state[_SHRINK, k], state[_SLACK, k] = grow, shrink, shrink - state[_KV, k]


@inlined
def _partner(state: Array, rows: Array, at: int, i: int, begin: int, end: int, flat: float) -> int:
    """Return the sample from `begin` to `end` whose pair with sample i gains most, or -1."""
    j, best = np.intp(-1), 0.0
    steepest, own = state[_GROW, i] - state[_KV, i], state[_DIAGONAL, i]
    for k in range(np.uintp(begin), np.uintp(end)):
        gain = steepest - state[_SLACK, k]
        if gain > 0.0:
            bend = own + state[_DIAGONAL, k] - 2.0 * rows[at, k]
            gain *= gain / (bend if bend > flat else flat)
            if gain > best:
                j, best = np.intp(k), gain
    return int(j)


@inlined
def _shift(state: Array, rows: Array, a: int, b: int, move: float, begin: int, end: int) -> None:
    """Bring Kv and the slacks of some samples up to date after a move along two rows.

    Unsigned numbers cannot count from the end of an array. That is a test less for each sample, and
    the processor can do several samples at a time.
    """
    for k in range(np.uintp(begin), np.uintp(end)):
        value = state[_KV, k] + move * (rows[a, k] - rows[b, k])
        state[_KV, k], state[_SLACK, k] = value, state[_SHRINK, k] - value


@inlined
def _look(state: Array, groups: Indices, begin: int, end: int, top: Indices, edges: Array) -> int:
    """Bring the steepest samples and the edges of some groups up to date; return the worst one."""
    for g in range(begin, end):
        i, steepest, least = groups[g], -np.inf, np.inf
        for k in range(np.uintp(groups[g]), np.uintp(groups[g + 1])):
            slack, slope = state[_SLACK, k], state[_GROW, k] - state[_KV, k]
            least = slack if slack < least else least
            if slope > steepest:
                i, steepest = np.intp(k), slope
        top[g], edges[g, 0], edges[g, 1] = i, steepest, least
    worst = 0
    for g in range(1, edges.shape[0]):
        if edges[g, 0] - edges[g, 1] > edges[worst, 0] - edges[worst, 1]:
            worst = g
    return worst


@inlined
def _tighter(tol: float, share: float) -> float:
    """Return the violation to ask for next, if the gap has to shrink to a share of it."""
    share *= 0.5
    return tol * (0.5 if share > 0.5 else share if share > 0.01 else 0.01)


@inlined
def _gap(state: Array, epsilon: float, groups: Indices, edges: Array) -> float:
    """Return the duality gap with the intercepts in the middle of the edges.

    Of some samples, what they add to it: the intercepts drop out if the entries of v sum to zero.
    """
    gap = 0.0
    for g in range(edges.shape[0]):
        intercept, total = 0.5 * (edges[g, 0] + edges[g, 1]), 0.0
        for k in range(groups[g], groups[g + 1]):
            value, rest = state[_V, k], state[_TARGET, k] - state[_KV, k]
            gap += epsilon * abs(value) - value * rest
            above, below = rest - intercept - epsilon, intercept - rest - epsilon
            if above > 0.0:
                gap += state[_UPPER, k] * above
            if below > 0.0:
                gap -= state[_LOWER, k] * below
            total += value
        if total != 0.0:
            gap += intercept * total
    return gap


@inlined
def _move_pair(state: Array, epsilon: float, i: int, j: int, joint: float, flat: float) -> float:
    """Grow sample i and shrink sample j by the same; return by how much.

    Both move to their next bound or kink at most, and land on it exactly.
    """
    v_i, v_j = state[_V, i], state[_V, j]
    stop_i = 0.0 if v_i < 0.0 else state[_UPPER, i]
    stop_j = 0.0 if v_j > 0.0 else state[_LOWER, j]
    bend = state[_DIAGONAL, i] + state[_DIAGONAL, j] - 2.0 * joint
    slope = state[_GROW, i] - state[_KV, i] - state[_SLACK, j]
    move = slope / (bend if bend > flat else flat)
    move = move if move < stop_i - v_i else stop_i - v_i
    move = move if move < v_j - stop_j else v_j - stop_j
    state[_V, i] = stop_i if move >= stop_i - v_i else v_i + move
    state[_V, j] = stop_j if move >= v_j - stop_j else v_j - move
    _set_slopes(state, epsilon, i)
    _set_slopes(state, epsilon, j)
    return move


def first_look(v: Array, Kv: Array, loss: BoxLoss) -> tuple[Array, Array, Array]:
    """Return the slopes of all samples to grow and to shrink, and the edges of each group."""
    grow = loss.target - np.where(v >= 0.0, loss.epsilon, -loss.epsilon)
    shrink = loss.target - np.where(v > 0.0, loss.epsilon, -loss.epsilon)
    grow[v >= loss.upper], shrink[v <= loss.lower] = -np.inf, np.inf
    starts = loss.group_starts[:-1]
    steepest = np.maximum.reduceat(grow - Kv, starts)
    return grow, shrink, np.stack([steepest, np.minimum.reduceat(shrink - Kv, starts)], axis=1)


def pair_steps(
    kernel: Combined,
    loss: BoxLoss,
    v: Array,
    Kv: Array,
    tol: float,
    max_steps: int,
    gap_tol: float = np.inf,
) -> tuple[Array, int, int]:
    """Improve v by pair steps until the largest KKT violation of every group is at most `tol`.

    If the duality gap is then still larger than `gap_tol`, smaller violations are asked for.
    Steps that do not halve the gap in a few rounds through the samples have stalled, and are left.

    Pairs are chosen by the second-order rule: in the group with the largest violation the steepest
    sample to grow, then the partner that promises the largest gain.

    Parameters
    ----------
    kernel : Combined
        The kernel; rows of the samples that take part are computed.
    loss : BoxLoss
        Box and linear term.
    v, Kv : ndarray of shape (n_samples,)
        A feasible dual vector and its product with K; both are updated in place.
    tol : float
        Largest violation to accept, in units of the target.
    max_steps : int
        Give up after this many pair steps and looks at the gap.
    gap_tol : float
        Absolute duality gap to reach; by default any.

    Returns
    -------
    edges : ndarray of shape (n_groups, 2)
        The interval that the violation of each group spans, the larger end first.
    n_steps : int
        Pair steps taken, looks at the gap included.
    missing : int
        The sample whose row is needed to go on, if rows are filled from outside; or -1.
    """
    n, n_groups = len(v), len(loss.group_starts) - 1
    state = np.empty((9, n))
    state[_V], state[_KV], state[_DIAGONAL] = v, Kv, kernel.diagonal
    state[_TARGET], state[_LOWER], state[_UPPER] = loss[:3]
    wait = n * max(_ROUNDS_BETWEEN_LOOKS, n // _ROUNDS_GROW_FROM) if gap_tol < np.inf else max_steps
    flat = max(_FLAT * float(kernel.diagonal.max(initial=0.0)), 1e-300)
    top, edges = np.empty(n_groups, dtype=np.intp), np.empty((n_groups, 2))
    apart = not (kernel.far.any() or len(kernel.joins))
    limits = float(tol), float(gap_tol), max_steps, wait
    work = state, loss.epsilon, loss.group_starts, top, edges, flat, apart
    arguments: tuple[Any, ...] = (*limits, *work, *kernel.to_fill(), kernel.rows, kernel.slot)
    n_steps, missing = _take_steps(*arguments)
    v[:], Kv[:] = state[_V], state[_KV]
    return edges, n_steps, missing


@compiled
def _take_steps(
    tol: float,
    gap_tol: float,
    max_steps: int,
    wait: int,
    state: Array,
    epsilon: float,
    groups: Indices,
    top: Indices,
    edges: Array,
    flat: float,
    apart: bool,
    weights: Array,
    joins: Array,
    point: Indices,
    starts: Indices,
    stacked: Array,
    room: Array,
    where: Indices,
    rows: Array,
    slot: Indices,
) -> tuple[int, int]:
    """Take the steps of `pair_steps`; return their number and the sample whose row is missing."""
    begin, end, step, looked, gap = groups[0], groups.shape[0] - 1, 0, 0, np.inf
    for k in range(state.shape[1]):
        _set_slopes(state, epsilon, k)
    group = _look(state, groups, begin, end, top, edges)
    while step < max_steps:
        i, j, done = top[group], top[group], edges[group, 0] - edges[group, 1] <= tol
        if done or step - looked == wait:
            before, gap, looked = gap, _gap(state, epsilon, groups, edges), step
            if gap <= gap_tol or not (done or gap <= 0.5 * before):
                return step, -1
            if done:
                tol, step = _tighter(tol, gap_tol / gap), step + 1
                continue
        if slot[i] >= 0:
            j = _partner(state, rows, slot[i], i, groups[group], groups[group + 1], flat)
            if j < 0:
                return step, -1
        if slot[j] < 0:
            if stacked.shape[0] == 0:
                return step, j
            fill_row(j, weights, joins, point, starts, stacked, room, where, rows)
            rows[j, j], slot[j] = state[_DIAGONAL, j], j
            continue
        move = _move_pair(state, epsilon, i, j, rows[slot[i], j], flat)
        begin, end = (group, group + 1) if apart else (begin, end)
        _shift(state, rows, slot[i], slot[j], move, groups[begin], groups[end])
        group, step = _look(state, groups, begin, end, top, edges), step + 1
    return step, -1
