"""Kernel weights with a shared and a specific part, each on a simplex.

    theta_t = mu + lambda_t,   mu >= 0, sum mu = c,   lambda_t >= 0, sum lambda_t = 1 - c

The coordinates are x = [mu; lambda_1; ...; lambda_T]. The step minimises the second-order model
of all tasks over the product of these simplices by a primal-dual interior-point method. A task's
lambda_t meets only mu in the equations, so that it is eliminated first and one iteration costs
T + 1 systems of the size of the bank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array, Flags

_CENTRE = 0.1
_NEARLY_ALL = 0.99
_ITERATIONS = 40
_CLOSE = 1e-13
_ZERO = 1e-9


class SharedSimplices(NamedTuple):
    """The weights ``mu + lambda_t`` of all tasks.

    Attributes
    ----------
    n_tasks, n_kernels : int
        Sizes.
    shared : float
        c in [0, 1], the sum of mu.
    """

    n_tasks: int
    n_kernels: int
    shared: float

    @property
    def _budgets(self) -> Array:
        return np.array([self.shared, *[1.0 - self.shared] * self.n_tasks])

    def start(self) -> Array:
        """Return equal weights, as coordinates of shape (1 + n_tasks, n_kernels)."""
        return np.repeat(self._budgets[:, None] / self.n_kernels, self.n_kernels, axis=1)

    def coordinates(self, weights: Array) -> Array:
        """Return x with these weights, or with some near them where they are outside the set.

        mu is the part that all tasks have in common, scaled to its budget.
        """
        common = weights.min(axis=0)
        if common.sum() <= 0.0:
            common = weights.mean(axis=0)
        mu = self.shared * common / common.sum()
        specific = np.maximum(weights - mu, 0.0)
        specific[specific.sum(axis=1) <= 0.0] = mu
        return self._cleaned(np.concatenate([mu[None], specific]))

    def weights(self, x: Array) -> Array:
        """Return ``mu + lambda_t``."""
        return x[0] + x[1:]

    def support(self, curvatures: Array) -> float:
        """Return ``c max_m sum_t q_t^m + (1 - c) sum_t max_m q_t^m``."""
        together = float(curvatures.sum(axis=0).max())
        return self.shared * together + (1.0 - self.shared) * float(curvatures.max(axis=1).sum())

    def step(self, x: Array, curvatures: Array, hessians: Array, damping: float) -> Array:
        """Return the minimiser of the damped second-order model."""
        slopes = -np.concatenate([curvatures.sum(axis=0)[None], curvatures])
        unit = 0.1 * self._budgets[:, None]
        bends = -2.0 * damping * slopes / (x + np.where(unit > 0.0, unit, 1.0))
        found = _minimise_model(hessians, bends, slopes, x, self._budgets)
        return self._cleaned(found)

    def between(self, x: Array, other: Array, fraction: float) -> Array:
        """Return a point of the segment."""
        return self._cleaned(x + fraction * (other - x))

    def _cleaned(self, x: Array) -> Array:
        """Return x with what is only rounding put to zero, and the budgets kept."""
        kept = np.where(x > _ZERO * x.sum(axis=1, keepdims=True), x, 0.0)
        total = kept.sum(axis=1, keepdims=True)
        budgets = self._budgets[:, None]
        return np.where(budgets > 0.0, kept * (budgets / np.where(total > 0.0, total, 1.0)), 0.0)


def _minimise_model(H: Array, bends: Array, slopes: Array, x: Array, budgets: Array) -> Array:
    """Minimise a quadratic model over a product of simplices that share one block.

        sum_t 1/2 u_t'H_t u_t + 1/2 d' diag(bends) d + slopes'd,   d = y - x,  u_t = d_0 + d_t,

    over y >= 0 with ``sum y_k = budgets_k`` in every block k. A block of budget 0 stays at 0.

    Parameters
    ----------
    H : ndarray of shape (n_tasks, n_kernels, n_kernels)
        Positive semi-definite.
    bends, slopes, x : ndarray of shape (1 + n_tasks, n_kernels)
        Curvature and gradient of the blocks, and where the model was made.
    budgets : ndarray of shape (1 + n_tasks,)
        Not negative.
    """
    n_kernels = x.shape[1]
    empty = budgets <= 0.0
    totals = np.where(empty, 1.0, budgets)[:, None]
    y = np.repeat(totals / n_kernels, n_kernels, axis=1)
    size = float(np.max(np.abs(slopes))) + 1e-300
    z = np.full_like(y, size)
    floor = 1e-14 * (np.einsum("tmm->", H) / len(H) + float(np.max(bends))) + 1e-300
    bends = bends + floor
    for _ in range(_ITERATIONS):
        gradient = _gradient(H, bends, slopes, np.where(empty[:, None], 0.0, y) - x)
        gradient[empty] = z[empty]
        centre = _CENTRE * float(np.vdot(y, z)) / y.size
        dy, dz = _direction(H, bends, gradient, y, z, centre, empty)
        length = min(_longest(y, dy), _longest(z, dz))
        y, z = y + length * dy, z + length * dz
        y *= totals / y.sum(axis=1, keepdims=True)
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
    H: Array, bends: Array, gradient: Array, y: Array, z: Array, centre: float, empty: Flags
) -> tuple[Array, Array]:
    """Solve the linearised optimality conditions, keeping the sum of every block."""
    rest = centre / y - gradient
    D = bends + z / y
    P = _sum_free_inverse(H + _diagonals(D[1:]))
    P[empty[1:]] = 0.0
    HP = H @ P
    A = (H - HP @ H).sum(axis=0) + np.diag(D[0])
    right = rest[0] - np.einsum("tmk,tk->m", HP, rest[1:])
    shared = np.zeros_like(right) if empty[0] else _sum_free_inverse(A[None])[0] @ right
    specific = np.einsum("tmk,tk->tm", P, rest[1:] - H @ shared)
    dy = np.concatenate([shared[None], specific])
    return dy, centre / y - z - z / y * dy


def _sum_free_inverse(A: Array) -> Array:
    """Return the matrices B with ``B r = argmin 1/2 d'Ad - r'd`` over d that sum to zero."""
    n_matrices, n = A.shape[:2]
    bordered = np.zeros((n_matrices, n + 1, n + 1))
    bordered[:, :n, :n] = A
    bordered[:, n, :n] = bordered[:, :n, n] = np.einsum("tmm->t", A)[:, None] / n
    return np.asarray(np.linalg.inv(bordered)[:, :n, :n])


def _diagonals(values: Array) -> Array:
    return np.asarray(values[:, :, None] * np.eye(values.shape[1]))


def _longest(value: Array, change: Array) -> float:
    """Return the largest length in (0, 1] that keeps the values positive."""
    worst = float(np.max(-change / value))
    return min(1.0, _NEARLY_ALL / worst) if worst > 0.0 else 1.0
