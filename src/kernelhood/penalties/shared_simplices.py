"""Weights with a shared and a specific part, each on a simplex.

    theta_t = mu + lambda_t,   mu >= 0, sum mu = c,   lambda_t >= 0, sum lambda_t = 1 - c

The weights are [mu; lambda_1; ...; lambda_T]: mu multiplies the kernels within every task, lambda_t
those within task t. The step minimises the second-order model over the product of these simplices
by a primal-dual interior-point method. A task's lambda_t meets only mu in the equations, so that it
is eliminated first and one iteration costs T + 1 systems of the size of the bank.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.penalties.base import DualPoint, Penalty, Proposal

_CENTRE = 0.1
_NEARLY_ALL = 0.99
_ITERATIONS = 40
_CLOSE = 1e-13
_ZERO = 1e-9


class SharedSimplices(Penalty):
    """The weights mu and lambda_t of all tasks.

    Parameters
    ----------
    n_tasks : int
        Their number.
    shared : float
        c in [0, 1], the budget of mu.
    row : ndarray of shape (n_kernels,)
        Coefficients of all budgets; ones for plain sums.
    """

    def __init__(self, n_tasks: int, shared: float, row: Array) -> None:
        self.n_tasks, self.shared, self.row = n_tasks, shared, row
        self._budgets = np.array([shared, *[1.0 - shared] * n_tasks])

    def _blocks(self, weights: Array) -> Array:
        """Return a row for mu and for each task."""
        return weights.reshape(1 + self.n_tasks, len(self.row))

    def value(self, weights: Array) -> float:
        """Return 0."""
        return 0.0

    def slope(self, weights: Array) -> Array:
        """Return zeros."""
        return np.zeros(len(weights))

    def lower_bound(self, dual: DualPoint) -> float:
        """Return the bound with every budget on its best kernel: the conjugate is exact."""
        best = (self._blocks(dual.q) / self.row).max(axis=1)
        return dual.gain - float(self._budgets @ best)

    def start(self) -> Array:
        """Return equal weights."""
        return np.asarray(np.outer(self._budgets / len(self.row), 1.0 / self.row).ravel())

    def step(
        self, weights: Array, q: Array, hessian: Array, damping: float, reach: float, unit: float
    ) -> Proposal:
        """Return the minimiser of the damped second-order model."""
        x, slopes = self._blocks(weights), -self._blocks(q)
        unit_weights = 0.1 * self._budgets[:, None] / self.row.mean()
        bends = -2.0 * damping * slopes / (x + np.where(unit_weights > 0.0, unit_weights, 1.0))
        n = len(self.row)
        places = [slice(n * t, n * (t + 1)) for t in range(1, 1 + self.n_tasks)]
        hessians = np.array([hessian[own, own] for own in places])
        found = _minimise_model(hessians, bends, slopes, x, self._budgets, self.row)
        return Proposal(self._cleaned(found).ravel())

    def units(self, mean_diagonals: Array, size: float) -> tuple[Flags, Array]:
        """Measure weights by the budgets, and keep all kernels."""
        return np.ones(len(mean_diagonals), dtype=np.bool_), np.tile(
            1.0 / self.row, 1 + self.n_tasks
        )

    def restricted(self, kept: Flags, scale: Array) -> Self:
        """Return the penalty in other units."""
        return type(self)(self.n_tasks, self.shared, self.row * scale[: len(self.row)])

    def contains(self, weights: Array) -> bool:
        """Return whether all budgets are kept."""
        spent = self._blocks(weights) @ self.row
        return super().contains(weights) and bool(
            np.allclose(spent, self._budgets, rtol=0.0, atol=1e-9)
        )

    def nearest(self, weights: Array) -> Array:
        """Return the weights with every budget kept; equal ones if a task has none."""
        return self._cleaned(self._blocks(np.maximum(weights, 0.0))).ravel()

    def _cleaned(self, x: Array) -> Array:
        """Return x with what is only rounding put to zero, and the budgets kept."""
        spent = x * self.row
        kept = np.where(spent > _ZERO * spent.sum(axis=1, keepdims=True), x, 0.0)
        kept[~kept.any(axis=1)] = 1.0
        return kept * (self._budgets / (kept @ self.row))[:, None]


def _minimise_model(
    H: Array, bends: Array, slopes: Array, x: Array, budgets: Array, row: Array
) -> Array:
    """Minimise a quadratic model over a product of simplices that share one block.

        sum_t 1/2 u_t'H_t u_t + 1/2 d' diag(bends) d + slopes'd,   d = y - x,  u_t = d_0 + d_t,

    over y >= 0 with ``row'y_k = budgets_k`` in every block k. A block of budget 0 stays at 0.

    Parameters
    ----------
    H : ndarray of shape (n_tasks, n_kernels, n_kernels)
        Positive semi-definite.
    bends, slopes, x : ndarray of shape (1 + n_tasks, n_kernels)
        Curvature and gradient of the blocks, and where the model was made.
    budgets : ndarray of shape (1 + n_tasks,)
        Not negative.
    row : ndarray of shape (n_kernels,)
        Positive.
    """
    empty = budgets <= 0.0
    totals = np.where(empty, 1.0, budgets)[:, None]
    y = totals * np.ones_like(x) / row.sum()
    size = float(np.max(np.abs(slopes))) + 1e-300
    z = np.full_like(y, size)
    floor = 1e-14 * (np.einsum("tmm->", H) / len(H) + float(np.max(bends))) + 1e-300
    bends = bends + floor
    for _ in range(_ITERATIONS):
        gradient = _gradient(H, bends, slopes, np.where(empty[:, None], 0.0, y) - x)
        gradient[empty] = z[empty]
        centre = _CENTRE * float(np.vdot(y, z)) / y.size
        dy, dz = _direction(H, bends, gradient, y, z, centre, empty, row)
        length = min(_longest(y, dy), _longest(z, dz))
        y, z = y + length * dy, z + length * dz
        y *= totals / (y @ row)[:, None]
        if float(np.vdot(y, z)) <= _CLOSE * size:
            break
    y[empty] = 0.0
    return y


def _gradient(H: Array, bends: Array, slopes: Array, d: Array) -> Array:
    together = np.einsum("tmk,tk->tm", H, d[0] + d[1:])
    gradient = slopes + bends * d
    gradient[0] += together.sum(axis=0)
    gradient[1:] += together
    return np.asarray(gradient)


def _direction(
    H: Array,
    bends: Array,
    gradient: Array,
    y: Array,
    z: Array,
    centre: float,
    empty: Flags,
    row: Array,
) -> tuple[Array, Array]:
    """Solve the linearised optimality conditions, keeping the total of every block."""
    rest = centre / y - gradient
    D = bends + z / y
    P = _level_inverse(H + _diagonals(D[1:]), row)
    P[empty[1:]] = 0.0
    HP = H @ P
    A = (H - HP @ H).sum(axis=0) + np.diag(D[0])
    right = rest[0] - np.einsum("tmk,tk->m", HP, rest[1:])
    shared = np.zeros_like(right) if empty[0] else _level_inverse(A[None], row)[0] @ right
    specific = np.einsum("tmk,tk->tm", P, rest[1:] - H @ shared)
    dy = np.concatenate([shared[None], specific])
    return dy, centre / y - z - z / y * dy


def _level_inverse(A: Array, row: Array) -> Array:
    """Return the matrices B with ``B r = argmin 1/2 d'Ad - r'd`` over d with ``row'd = 0``."""
    n_matrices, n = A.shape[:2]
    bordered = np.zeros((n_matrices, n + 1, n + 1))
    bordered[:, :n, :n] = A
    bordered[:, n, :n] = bordered[:, :n, n] = (
        np.einsum("tmm->t", A)[:, None] / n * (row / row.mean())
    )
    return np.asarray(np.linalg.inv(bordered)[:, :n, :n])


def _diagonals(values: Array) -> Array:
    return np.asarray(values[:, :, None] * np.eye(values.shape[1]))


def _longest(value: Array, change: Array) -> float:
    """Return the largest length in (0, 1] that keeps the values positive."""
    worst = float(np.max(-change / value))
    return min(1.0, _NEARLY_ALL / worst) if worst > 0.0 else 1.0
