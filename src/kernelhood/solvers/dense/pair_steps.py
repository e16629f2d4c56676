"""Pair steps on the SVM dual (sequential minimal optimisation), with rows on demand."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import Array, Indices
from kernelhood.losses.box import BoxLoss, svm_gap
from kernelhood.operators.combined import Combined, fill_row

_FLAT = 1e-12
_ROUNDS_BETWEEN_LOOKS = 4
_ROUNDS_GROW_FROM = 100


@compiled
def _slopes(
    value: float, target: float, lower: float, upper: float, epsilon: float
) -> tuple[float, float]:
    """Return the parts of a sample's one-sided derivatives that do not depend on ``Kv``.

    The first is for growing its entry of v from `value` (minus infinity at the upper bound), the
    second for shrinking it (plus infinity at the lower bound); they differ at the kink of
    ``epsilon |v_i|``.
    """
    grow, shrink = -np.inf, np.inf
    if value < upper:
        grow = target - (epsilon if value >= 0.0 else -epsilon)
    if value > lower:
        shrink = target - (epsilon if value > 0.0 else -epsilon)
    return grow, shrink


@compiled
def _partner(
    steepest: float, own: float, row: Array, diagonal: Array, slack: Array, flat: float
) -> int:
    """Return the place of the sample whose pair with one of diagonal `own` gains most, or -1."""
    j, best = -1, 0.0
    for k in range(slack.shape[0]):
        gain = steepest - slack[k]
        if gain > 0.0:
            gain *= gain / max(own + diagonal[k] - 2.0 * row[k], flat)
            if gain > best:
                j, best = k, gain
    return j


@compiled
def _shift(
    Kv: Array, move: float, plus: Array, minus: Array, grow: Array, shrink: Array, slack: Array
) -> tuple[int, float, float]:
    """Add ``move * (plus - minus)`` to Kv, and put ``shrink - Kv`` into `slack`.

    Returns the steepest sample to grow, its slope, and the least slope of those to shrink.
    """
    # Two loops: the processor can do the first one for several samples at a time.
    for k in range(Kv.shape[0]):
        value = Kv[k] + move * (plus[k] - minus[k])
        Kv[k] = value
        slack[k] = shrink[k] - value
    i, steepest, least = 0, -np.inf, np.inf
    for k in range(Kv.shape[0]):
        least = min(least, slack[k])
        slope = grow[k] - Kv[k]
        if slope > steepest:
            i, steepest = k, slope
    return i, steepest, least


@compiled
def _steps_between_looks(n_samples: int) -> int:
    """Return how many steps have to halve the gap; the dearer what follows, the more."""
    return n_samples * max(_ROUNDS_BETWEEN_LOOKS, n_samples // _ROUNDS_GROW_FROM)


@compiled
def _flat_below(diagonal: Array) -> float:
    """Return the curvature that counts as none; NumPy's maximum takes much longer to compile."""
    largest = 0.0
    for k in range(diagonal.shape[0]):
        largest = max(largest, diagonal[k])
    return max(_FLAT * largest, 1e-300)


@compiled
def _worst(edges: Array) -> int:
    """Return the group with the largest violation."""
    worst = 0
    for g in range(1, edges.shape[0]):
        if edges[g, 0] - edges[g, 1] > edges[worst, 0] - edges[worst, 1]:
            worst = g
    return worst


@inlined
def _shift_groups(
    Kv: Array,
    move: float,
    plus: Array,
    minus: Array,
    grow: Array,
    shrink: Array,
    slack: Array,
    starts: Indices,
    begin: int,
    end: int,
    top: Indices,
    edges: Array,
) -> None:
    """Add ``move * (plus - minus)`` to Kv in some groups, and look for their steepest samples."""
    for g in range(begin, end):
        own = slice(starts[g], starts[g + 1])
        look = _shift(Kv[own], move, plus[own], minus[own], grow[own], shrink[own], slack[own])
        top[g], edges[g, 0], edges[g, 1] = starts[g] + look[0], look[1], look[2]


@compiled
def first_look(v: Array, Kv: Array, loss: BoxLoss) -> tuple[Array, Array, Array, Indices, Array]:
    """Return the slopes and slacks of all samples, and the steepest one and edges of each group."""
    n, n_groups = len(v), loss.group_starts.shape[0] - 1
    grow, shrink, slack = np.empty(n), np.empty(n), np.empty(n)
    top, edges = np.empty(n_groups, np.intp), np.empty((n_groups, 2))
    for k in range(n):
        grow[k], shrink[k] = _slopes(
            v[k], loss.target[k], loss.lower[k], loss.upper[k], loss.epsilon
        )
    starts = loss.group_starts
    _shift_groups(Kv, 0.0, Kv, Kv, grow, shrink, slack, starts, 0, n_groups, top, edges)
    return grow, shrink, slack, top, edges


@compiled
def gap_within(v: Array, Kv: Array, edges: Array, loss: BoxLoss) -> float:
    """Return what some of the samples add to the duality gap; all of them have all of it.

    The intercepts are in the middle of the edges. They drop out where the entries of v sum to zero.
    """
    intercepts = 0.5 * (edges[:, 0] + edges[:, 1])
    gap = svm_gap(v, Kv, intercepts, loss)
    for g in range(edges.shape[0]):
        total = 0.0
        for i in range(loss.group_starts[g], loss.group_starts[g + 1]):
            total += v[i]
        if total != 0.0:
            gap += intercepts[g] * total
    return gap


@inlined
def _move_pair(
    v: Array,
    grow: Array,
    shrink: Array,
    target: Array,
    lower: Array,
    upper: Array,
    epsilon: float,
    i: int,
    j: int,
    wanted: float,
) -> float:
    """Grow sample i and shrink sample j by the same; return by how much.

    Both move to their next bound or kink at most, and land on it exactly.
    """
    stop_i, stop_j = 0.0 if v[i] < 0.0 else upper[i], 0.0 if v[j] > 0.0 else lower[j]
    move = min(wanted, stop_i - v[i], v[j] - stop_j)
    v[i] = stop_i if move >= stop_i - v[i] else v[i] + move
    v[j] = stop_j if move >= v[j] - stop_j else v[j] - move
    grow[i], shrink[i] = _slopes(v[i], target[i], lower[i], upper[i], epsilon)
    grow[j], shrink[j] = _slopes(v[j], target[j], lower[j], upper[j], epsilon)
    return move


@compiled
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

    Where the duality gap is then still larger than `gap_tol`, smaller violations are asked for.
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
        The sample whose row is needed to go on, where rows are filled from outside; or -1.
    """
    # The loop works on plain arrays: to hand a tuple to a function counts references to all parts.
    target, lower, upper, epsilon, starts = loss
    held, rows, slot, diagonal = kernel.Ks.shape[0] > 0, kernel.rows, kernel.slot, kernel.diagonal
    n, n_groups = len(v), starts.shape[0] - 1
    apart = kernel.active.shape[0] == 0 and kernel.joins.shape[0] == 0
    flat = _flat_below(diagonal)
    grow, shrink, slack, top, edges = first_look(v, Kv, loss)
    gap, looked = np.inf, 0
    wait = _steps_between_looks(n) if gap_tol < np.inf else max_steps
    for step in range(max_steps):
        group = _worst(edges)
        steepest, i = edges[group, 0], top[group]
        done = steepest - edges[group, 1] <= tol
        if done or step - looked == wait:
            before, gap = gap, gap_within(v, Kv, edges, loss)
            if gap <= gap_tol or not (done or gap <= 0.5 * before):
                return edges, step, -1
            looked = step
            if done:
                tol *= min(0.5, max(0.01, 0.5 * gap_tol / gap))
                continue
        if slot[i] < 0:
            if not held:
                return edges, step, i
            fill_row(kernel, i)
        here = slice(starts[group], starts[group + 1])
        j = _partner(steepest, diagonal[i], rows[slot[i], here], diagonal[here], slack[here], flat)
        if j < 0:
            return edges, step, -1
        j += starts[group]
        if slot[j] < 0:
            if not held:
                return edges, step, j
            fill_row(kernel, j)
        row_i, row_j = rows[slot[i]], rows[slot[j]]
        wanted = (steepest - slack[j]) / max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], flat)
        move = _move_pair(v, grow, shrink, target, lower, upper, epsilon, i, j, wanted)
        begin, end = (group, group + 1) if apart else (0, n_groups)
        _shift_groups(Kv, move, row_i, row_j, grow, shrink, slack, starts, begin, end, top, edges)
    return edges, max_steps, -1
