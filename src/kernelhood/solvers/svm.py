"""Pair steps on the SVM dual (sequential minimal optimisation), with rows on demand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import Array, Indices
from kernelhood.losses import BoxLoss, RidgeLoss, SampleLoss, best_gap
from kernelhood.operators.base import Combined, Fill, KernelOperator, combined_matrix, fill_row
from kernelhood.solvers.hessian import free_entries
from kernelhood.solvers.interior_point import DenseSystem, solve_interior_point

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


# The SVM dual at bounded cost: pair steps first, an interior point if they stall.
#
# If the kernel is evaluated when needed, few samples take part at a time. Most stay at a bound
# or
# at zero with a margin, and an SVM on the others needs only the kernel between these. The
# products that the weights need anyway then tell which of the samples that were left out have to
# take
# part after all.


_PAIR_STEPS_PER_SAMPLE = 20
_STEPS_GROW_FROM = 20
_FEWEST_STEPS = 4000
_FIRST_VIOLATION = 0.3
_ROWS_AT_ONCE = 256
#: Rows that are computed at a time at least: where all can be kept, and where they take turns.
_FEWEST_ROWS, _FEWEST_IN_TURN = 160, 16
_WORTH_A_ROW = 0.2
#: Of the free entries' violations, the share below what is called likely: at first, and later.
_MOST, _HALF = 0.9, 0.5
_PROGRESS = 0.5
_SHARE = 0.5


def solve_svm(
    kernel: Combined,
    loss: BoxLoss,
    v: Array,
    Kv: Array,
    gap_tol: float,
    fill: Fill | None = None,
    exact: bool = False,
    whole: bool = True,
) -> tuple[Array, Array]:
    """Maximise ``target'v - epsilon |v|_1 - 1/2 v'Kv`` over the box with ``1'v = 0`` per group.

    Parameters
    ----------
    kernel : Combined
        The kernel.
    loss : BoxLoss
        Box and linear term, in units in which both are of order one.
    v, Kv : ndarray of shape (n_samples,)
        A feasible start, for example the solution for a similar kernel, and its product with
        the kernel matrix.
    gap_tol : float
        Absolute duality gap to reach.
    fill : callable, optional
        Computes rows of the kernel, if its base kernels are not in memory.
    exact : bool
        Whether to leave pair steps at once for an interior point, if samples allow it.
    whole : bool
        Whether these are all samples. If others are held fixed, the entries of v sum to what
        they did before, and pair steps are all there is.

    Returns
    -------
    v, Kv : ndarray of shape (n_samples,)
        The solution and its product with K.
    """
    v, Kv = v.copy(), Kv.copy()
    budget = _most_steps(len(v))
    while True:
        edges, n_steps, missing = pair_steps(kernel, loss, v, Kv, _FIRST_VIOLATION, budget, gap_tol)
        if fill is None or missing < 0:
            break
        budget -= 1 + n_steps
        fill(kernel, _next_samples(kernel, loss, v, Kv, edges, missing))
    if not whole or len(kernel.rows) < len(v):
        return v, Kv
    gap = best_gap(v, Kv, loss)
    if gap <= gap_tol and not exact:
        return v, Kv
    if fill is not None:
        fill(kernel, np.flatnonzero(kernel.slot < 0))
    held = combined_matrix(kernel) if fill is None else kernel.rows[kernel.slot]
    system = DenseSystem(np.asarray(held, dtype=np.float64), loss.group_starts)
    # The last digits are found from afar: near the end a path leaves its centre.
    start = None if exact else (v, Kv)
    other, K_other = solve_interior_point(system, loss, gap_tol, start=start)
    return (other, K_other) if best_gap(other, K_other, loss) < gap else (v, Kv)


def _most_steps(n_samples: int) -> int:
    """Return after how many pair steps an interior point is the better bargain.

    A step costs n operations, a factorisation n^3: the more samples, the longer steps are worth it.
    """
    most = n_samples * max(_PAIR_STEPS_PER_SAMPLE, n_samples // _STEPS_GROW_FROM)
    return max(_FEWEST_STEPS, most)


def _next_samples(
    kernel: Combined, loss: BoxLoss, v: Array, Kv: Array, edges: Array, missing: int
) -> Indices:
    """Return the sample that is missing, and those that are likely to be the next ones.

    Free entries of a warm start will move. Of the others those that violate optimality most.
    """
    rest = loss.target - Kv - np.repeat(edges.mean(axis=1), np.diff(loss.group_starts))
    grow = np.where(v < loss.upper, rest - loss.epsilon, -np.inf)
    shrink = np.where(v > loss.lower, -rest - loss.epsilon, -np.inf)
    absent = kernel.slot < 0
    violation = np.where(absent, np.maximum(grow, shrink), -np.inf)
    free = absent & (v != 0.0) & (v > loss.lower) & (v < loss.upper)
    n_rows = len(kernel.rows)
    if n_rows == len(v) or np.count_nonzero(free) + _ROWS_AT_ONCE <= n_rows // 2:
        violation[free] = -np.inf
    else:
        free[:] = False
    free[missing] = True
    likely = int(np.count_nonzero(violation > _WORTH_A_ROW * max(0.0, float(violation.max()))))
    # A call costs as much as a few rows, and those that are closest to a violation come next.
    fewest = _FEWEST_ROWS if n_rows == len(v) else _FEWEST_IN_TURN
    n_wanted: int = min(max(likely, fewest), _ROWS_AT_ONCE, len(v))
    wanted = np.argpartition(-violation, n_wanted - 1)[:n_wanted]
    free[wanted[violation[wanted] > -np.inf]] = True
    return np.flatnonzero(free)


class Part(NamedTuple):
    """Some samples of an SVM.

    Attributes
    ----------
    samples : ndarray of int, or slice
        Their numbers, ascending; a slice for all.
    operator : KernelOperator
        The kernels on them.
    kernel : Combined
        The combination of these.
    loss : BoxLoss
        The loss at them.
    """

    samples: Indices | slice
    operator: KernelOperator
    kernel: Combined
    loss: BoxLoss


def part_of(
    operator: KernelOperator,
    weights: Array,
    ridge: float,
    loss: BoxLoss,
    samples: Indices,
    room: Array,
) -> Part:
    """Return some of the samples, without any row of their kernel.

    Parameters
    ----------
    operator, weights, ridge, loss
        As for `solve_by_parts`.
    samples : ndarray of int
        Those that are wanted, ascending.
    room : ndarray
        Buffer for the rows of all samples; shorter rows are more.
    """
    some, size = operator.at(samples), max(len(samples), 1)
    n_rows = min(size, room.size // size)
    rows = room.reshape(-1)[: n_rows * size].reshape(n_rows, size)
    kernel = some.combined(weights, ridge, rows)
    starts = np.searchsorted(samples, loss.group_starts)
    part = loss._replace(
        target=loss.target[samples],
        lower=loss.lower[samples],
        upper=loss.upper[samples],
        group_starts=np.unique(starts).astype(np.intp),
    )
    return Part(samples, some, kernel, part)


def solve_by_parts(
    operator: KernelOperator,
    weights: Array,
    ridge: float,
    loss: BoxLoss,
    v: Array,
    products: Array,
    gap_tol: float,
    room: Array,
    exact: bool = False,
) -> tuple[Array, Array, Part | None]:
    """Solve an SVM on growing knowledge of the samples that take part.

    Parameters
    ----------
    operator : KernelOperator
        The kernels on all samples.
    weights : ndarray of shape (n_weights,)
        Their weights.
    ridge : float
        What is added to the diagonal of their combination.
    loss : BoxLoss
        The loss at all samples.
    v : ndarray of shape (n_samples,)
        A feasible start.
    products : ndarray
        The operator's products with it.
    gap_tol : float
        Absolute duality gap to reach.
    room : ndarray
        Buffer for rows of the kernel.
    exact : bool
        Whether to go for an interior point at once.

    Returns
    -------
    v : ndarray of shape (n_samples,)
        The solution.
    products : ndarray
        The products with it.
    part : Part or None
        The samples that took part last, with the rows of the kernel that they needed; None if
        the start is a solution.
    """
    part, before, whole = None, np.inf, exact
    while True:
        Kv = operator.apply(weights, products) + ridge * v
        gap = best_gap(v, Kv, loss)
        if gap <= gap_tol and not (exact and part is None):
            return v, products, part
        if part is not None and whole:
            return v, products, part
        whole = whole or gap > _PROGRESS * before
        share = _MOST if part is None else _HALF
        samples = np.arange(len(v)) if whole else _taking_part(v, Kv, loss, share)
        part, before = part_of(operator, weights, ridge, loss, samples, room), gap
        asked = gap_tol if whole else _SHARE * gap_tol
        found, _ = solve_svm(
            part.kernel,
            part.loss,
            v[samples],
            Kv[samples],
            asked,
            part.operator.fill,
            exact,
            whole,
        )
        change = np.zeros(len(v))
        change[samples] = found - v[samples]
        v, products = v.copy(), products.copy()
        v[samples] = found
        operator.add_products(change, products)


def _taking_part(v: Array, Kv: Array, loss: BoxLoss, share: float) -> Indices:
    """Return the samples that violate optimality, or could if function values change a little.

    By how much they will change is seen at free entries, which have to come back to the edge.
    """
    grow, shrink, edges = first_look(v, Kv, loss)
    free = free_entries(v, loss)
    with np.errstate(invalid="ignore"):  # a group with one side only has no intercept
        middle = np.repeat(edges.mean(axis=1), np.diff(loss.group_starts))
        violation = np.fmax(grow - Kv - middle, Kv + middle - shrink)
    reach = float(np.quantile(violation[free], share)) if free.any() else 0.0
    return np.flatnonzero(free | (violation > -reach))


# A problem whose intercept is given: coordinate ascent on its dual, one sample at a time.
#
#     max over v of   target'v - epsilon |v|_1 - 1/2 v'Kv,    lower <= v <= upper
#
# Without an intercept the dual has no constraint between samples, and each step is a clipped
# number.
# With the squared loss there is no box, and the dual is one linear system.


def solve_without_intercept(
    K: Array, loss: SampleLoss, *, tol: float = 1e-6, max_passes: int = 10_000
) -> Array:
    """Return the dual vector of a problem without intercept.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The kernel matrix.
    loss : BoxLoss or RidgeLoss
        The loss; its groups of intercepts play no part.
    tol : float
        Relative duality gap to reach.
    max_passes : int
        Largest number of passes over the samples.
    """
    if isinstance(loss, RidgeLoss):
        return np.asarray(solve(K + np.diag(1.0 / loss.cost), loss.target, assume_a="pos"))
    v, f = np.zeros(len(K)), np.zeros(len(K))
    for _ in range(max_passes):
        _one_pass(K, loss, v, f)
        if _gap_without_intercept(loss, v, f) <= tol:
            break
    return v


@compiled
def _one_pass(K: Array, loss: BoxLoss, v: Array, f: Array) -> None:
    """Move every entry of v to the best place for it, and keep f = Kv."""
    for i in range(v.shape[0]):
        slope, old = loss.target[i] - f[i] + K[i, i] * v[i], v[i]
        away = max(abs(slope) - loss.epsilon, 0.0)
        if away == 0.0:
            best = 0.0
        elif K[i, i] > 0.0:
            best = np.sign(slope) * away / K[i, i]
        else:
            best = np.sign(slope) * np.inf
        v[i] = min(max(best, loss.lower[i]), loss.upper[i])
        if v[i] != old:
            f += (v[i] - old) * K[i]


def _gap_without_intercept(loss: BoxLoss, v: Array, f: Array) -> float:
    """Return the duality gap over the primal value."""
    size = 0.5 * float(v @ f)
    miss = loss.target - f
    over = loss.upper * np.maximum(miss - loss.epsilon, 0.0)
    under = -loss.lower * np.maximum(-miss - loss.epsilon, 0.0)
    primal = size + float(np.sum(over + under))
    dual = float(loss.target @ v) - loss.epsilon * float(np.abs(v).sum()) - size
    return (primal - dual) / primal if primal > 0.0 else 0.0
