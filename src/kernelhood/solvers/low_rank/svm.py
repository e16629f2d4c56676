"""The SVM dual with kernels of low rank, and the Hessian of its value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.losses.box import BoxLoss, best_gap
from kernelhood.operators.low_rank import LowRankKernels
from kernelhood.solvers.least_squares.factor import Factor
from kernelhood.solvers.low_rank.interior_point import solve_interior_point
from kernelhood.solvers.low_rank.system import LowRankSystem

_SINGULAR = 1e-10
_FEW = 200
_MOST_NUMBERS = 2**24


class Slopes(NamedTuple):
    """How the solution of an SVM changes with the weights, up to the next bound.

    Attributes
    ----------
    free : ndarray of int
        The entries of v that change.
    by_weight : ndarray of shape (n_free, n_kept)
        Their derivatives.
    """

    free: Indices
    by_weight: Array


def solve_low_rank_svm(
    operator: LowRankKernels,
    weights: Array,
    loss: BoxLoss,
    v: Array,
    Kv: Array,
    ridge: float,
    gap_tol: float,
) -> Array:
    """Maximise ``target'v - epsilon |v|_1 - 1/2 v'Kv`` over the box with ``1'v = 0`` per group.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels.
    weights : ndarray of shape (n_weights,)
        Their weights.
    loss : BoxLoss
        Box and linear term, in units where both are of order one.
    v, Kv : ndarray of shape (n_samples,)
        A feasible start and its product with the kernel and the ridge.
    ridge : float
        Added to the diagonal of the kernel.
    gap_tol : float
        Absolute duality gap to reach.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    gap = best_gap(v, Kv, loss)
    if gap <= gap_tol:
        return v
    system = LowRankSystem(operator, weights, loss.group_starts)
    start = (v, Kv) if v.any() else None
    other, K_other = solve_interior_point(system, loss, ridge, gap_tol, start=start)
    return other if best_gap(other, K_other, loss) < gap else v


def low_rank_hessian(
    operator: LowRankKernels,
    weights: Array,
    ridge: float,
    v: Array,
    products: Array,
    loss: BoxLoss,
    kept: Flags | None = None,
) -> tuple[Array, Slopes | None]:
    """Return the Hessian of the SVM's value, and the slopes of its solution where there are many.

    See `solvers.hessian.value_hessian`.

    Parameters
    ----------
    operator, weights, ridge
        The kernel.
    v : ndarray of shape (n_samples,)
        Solution of the SVM.
    products : ndarray
        The operator's products with v.
    loss : BoxLoss
        Box of the dual.
    kept : ndarray of bool, shape (n_weights,), optional
        The weights that are wanted; all by default.
    """
    free = np.flatnonzero((v > loss.lower) & (v < loss.upper) & (v != 0.0))
    n_weights = operator.n_weights if kept is None else int(np.count_nonzero(kept))
    if len(free) < 2:
        return np.zeros((n_weights, n_weights)), None
    some = operator.restricted(free)
    starts = loss.group_starts if len(loss.group_starts) == 2 else some.cells.starts
    system = LowRankSystem(some, weights, starts)
    mean = system.trace() / len(free)
    if mean == 0.0:
        return np.zeros((n_weights, n_weights)), None
    ridge, U = max(ridge, _SINGULAR * mean), operator.columns(products, free, kept)
    if len(free) <= _FEW:  # Written out, the matrix loses fewer digits.
        kernel = some.combined(weights, ridge, some.row_buffer())
        groups = starts if len(starts) > 2 else np.array([0, len(free)])
        factor = Factor.of(some.block(kernel, np.arange(len(free))), groups)
        if factor is not None:
            return factor.form(U), None
    system.factorise(np.full(len(free), ridge))
    n_groups = 1 if len(loss.group_starts) == 2 else len(starts) - 1
    ZU, _ = system.solve_with_sums(U, np.zeros((n_groups, U.shape[1])))
    H = U.T @ ZU
    slopes = Slopes(free, -ZU) if ZU.size <= _MOST_NUMBERS else None
    return np.asarray(0.5 * (H + H.T)), slopes
