"""The SVM dual at bounded cost: pair steps first, an interior point where they stall.

Where the kernel is evaluated when needed, few samples take part at a time. Most stay at a bound or
at zero with room to spare, and an SVM on the others needs only the kernel between these. The
products that the weights need anyway then tell which of the samples that were left out have to take
part after all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.losses.box import BoxLoss, best_gap
from kernelhood.operators.base import Fill, KernelOperator
from kernelhood.operators.combined import Combined, combined_matrix
from kernelhood.solvers.dense.interior_point import solve_interior_point
from kernelhood.solvers.dense.pair_steps import first_look, pair_steps
from kernelhood.solvers.hessian import free_entries

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
        Box and linear term, in units where both are of order one.
    v, Kv : ndarray of shape (n_samples,)
        A feasible start, for example the solution for a similar kernel, and its product with
        the kernel matrix.
    gap_tol : float
        Absolute duality gap to reach.
    fill : callable, optional
        Computes rows of the kernel, where its base kernels are not in memory.
    exact : bool
        Whether to leave pair steps at once for an interior point, where samples allow it.
    whole : bool
        Whether these are all samples. Where others are held fixed, the entries of v sum to what
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
    K = np.asarray(held, dtype=np.float64)
    # The last digits are found from afar: near the end a path leaves its centre.
    start = None if exact else (v, Kv)
    other = solve_interior_point(K, loss, gap_tol, start=start)
    K_other = K @ other
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
        Room for the rows of all samples; shorter rows are more.
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
        Room for rows of the kernel.
    exact : bool
        Whether to go for an interior point at once.

    Returns
    -------
    v : ndarray of shape (n_samples,)
        The solution.
    products : ndarray
        The products with it.
    part : Part or None
        The samples that took part last, with the rows of the kernel that they needed; None where
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
