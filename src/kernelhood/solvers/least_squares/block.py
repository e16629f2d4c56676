"""One problem with the squared loss as a function of its kernel weights.

Where an SVM takes pair steps, this takes one Cholesky factor of ``K + diag(1 / cost)``: it gives
the dual vector, the intercepts and, every sample being free, the Hessian.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.losses import RidgeLoss, SampleLoss
from kernelhood.losses.ridge import ridge_gain, ridge_values
from kernelhood.operators import KernelOperator, LowRankKernels
from kernelhood.operators.combined import combined_matrix
from kernelhood.solvers.block import Block, BlockPoint, Units, centred_targets
from kernelhood.solvers.least_squares.factor import Factor
from kernelhood.solvers.low_rank.block import LowRankBlock
from kernelhood.solvers.low_rank.system import LowRankSystem

_REFINEMENTS = 3
_JITTERS = (0.0, 1e-14, 1e-11, 1e-8)
_MEGABYTE = 2**20


def block_of(
    operator: KernelOperator, loss: SampleLoss, parts: tuple[Indices, ...] | None = None
) -> Block:
    """Return a problem as a function of its weights: an SVM, one of low rank, or a linear system.

    Parameters
    ----------
    operator : KernelOperator
        The kernels on its samples.
    loss : BoxLoss or RidgeLoss
        The loss at its samples.
    parts : tuple of ndarray of int, optional
        As `Block` takes them.
    """
    if not isinstance(loss, RidgeLoss):
        kind = LowRankBlock if isinstance(operator, LowRankKernels) else Block
        return kind(operator, loss, parts)
    kind = LowRankLeastSquares if isinstance(operator, LowRankKernels) else LeastSquares
    return kind(operator, loss, parts)


class LeastSquares(Block):
    """The kernels and the squared loss of one problem.

    Parameters
    ----------
    operator, parts
        As `Block` takes them.
    loss : RidgeLoss
        The loss at its samples.
    """

    def __init__(
        self, operator: KernelOperator, loss: SampleLoss, parts: tuple[Indices, ...] | None = None
    ) -> None:
        super().__init__(operator, loss, parts)
        self._factor: tuple[Array, Any] | None = None
        self._take_room()

    def _take_room(self) -> None:
        """Take the memory of one matrix between all samples, or say that there is not enough."""
        n, rows = self.n_samples, self.operator.row_buffer()
        if len(rows) < n:
            raise ValueError(no_room(n, rows.itemsize))
        self._rows = rows

    def _in_units(self, loss: Any) -> tuple[Any, Units]:
        target, size, centres = centred_targets(loss.target, loss.group_starts)
        cost = float(loss.cost.max())
        scaled = RidgeLoss(target, loss.cost / cost, loss.group_starts)
        return scaled, Units(cost * size, size, centres)

    def _values(self, v: Array, Kv: Array) -> tuple[Array, float, float, float]:
        return ridge_values(v, Kv, self.loss)

    def gain(self, v: Array) -> tuple[float, float]:
        """Return the gain of a dual vector in the block's units, and its bend."""
        gain, bend = ridge_gain(v, self.loss)
        return gain * self.units.value, bend * self.units.value

    def solve(
        self,
        weights: Array,
        start: BlockPoint,
        shrink: float,
        gap: float,
        ridge: float,
        exact: bool = False,
    ) -> BlockPoint:
        """Solve the problem at the weights, whatever the start.

        The system is solved again for what is missing where rounding has left more than the gap.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Where.
        gap : float
            Duality gap to reach.
        start, shrink, ridge, exact
            Of no use here: see `Block.solve`.
        """
        theta, loss, operator = weights / self.units.weight, self.loss, self.operator
        factor = self.factor_at(theta)
        products, v = operator.no_products(), np.zeros(self.n_samples)
        rest = loss.target
        for _ in range(_REFINEMENTS):
            change = loss.feasible(factor.solve(rest))
            v = v + change
            operator.add_products(change, products)
            Kv = operator.apply(theta, products)
            _, value, gain, _ = ridge_values(v, Kv, loss)
            if (value - gain + 0.5 * float(v @ Kv)) * self.units.value <= gap:
                break
            rest = loss.target - Kv - v / loss.cost
        return self.point(weights, v, products, 0.0)

    def hessian(self, weights: Array, point: BlockPoint, kept: Flags | None) -> Array:
        """Return the Hessian of S for the kept weights, ``U'ZU`` with all samples."""
        factor = self.factor_at(weights / self.units.weight)
        U = self.operator.columns(point.products, np.arange(self.n_samples), kept)
        H = factor.form(U)
        return np.asarray(H) * (self.units.value / self.units.weight**2)

    def in_double_precision(self) -> None:
        """Compute all factors in double precision, whatever the kernels are held in."""
        if self._rows.dtype != np.float64:
            self._rows, self._factor = np.empty(self._rows.shape), None

    def factor_at(self, theta: Array) -> Any:
        """Return the factor of the kernel matrix and the ridge; the last one is kept.

        Parameters
        ----------
        theta : ndarray of shape (n_weights,)
            The weights in the block's own units.
        """
        if self._factor is not None and np.array_equal(theta, self._factor[0]):
            return self._factor[1]
        self._factor = None
        for jitter in _JITTERS:
            A = self._matrix(theta, jitter)
            if jitter > 0.0:  # single precision may be what was missing
                A = A.astype(np.float64, copy=False)
            found = Factor.of(A, self.loss.group_starts)
            if found is not None:
                self._factor = theta, found
                return found
        raise ValueError(
            "kernels holds one that is not positive semidefinite: its matrix at the samples has a "
            "negative eigenvalue; use kernels that are, for example by clipping eigenvalues."
        )

    def _matrix(self, theta: Array, jitter: float) -> Array:
        """Return ``K + diag(1 / cost)`` in the room for rows, made definite where it has to be."""
        operator, rows = self.operator, self._rows
        assert rows is not None
        kernel = operator.combined(theta, 0.0, rows)
        if operator.fill is None:
            combined_matrix(kernel)
        else:
            operator.fill(kernel, np.arange(self.n_samples))
        diagonal = rows.reshape(-1)[:: self.n_samples + 1]
        diagonal += 1.0 / self.loss.cost + jitter * float(kernel.diagonal.sum())
        return rows


class LowRankLeastSquares(LeastSquares):
    """The squared loss with kernels of low rank, of which no matrix is formed.

    The system is that of `solvers.low_rank.system` with the ridge ``1 / cost`` as its diagonal.

    Parameters
    ----------
    operator, loss, parts
        As `LeastSquares` takes them.
    """

    operator: LowRankKernels

    def _take_room(self) -> None:
        """Take none."""

    def factor_at(self, theta: Array) -> FeatureFactor:
        """Return the system of the features and the ridge; the last one is kept."""
        if self._factor is None or not np.array_equal(theta, self._factor[0]):
            self._factor = None  # Two systems would take twice the memory.
            self._factor = theta, FeatureFactor(self.operator, theta, self.loss)
        found: FeatureFactor = self._factor[1]
        return found


class FeatureFactor:
    """``K + diag(1 / cost)`` factorised by features; see `Factor`.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels.
    theta : ndarray of shape (n_weights,)
        Their weights.
    loss : RidgeLoss
        The loss.
    """

    def __init__(self, operator: LowRankKernels, theta: Array, loss: RidgeLoss) -> None:
        self._system = LowRankSystem(operator, theta, loss.group_starts)
        self._n_groups = len(loss.group_starts) - 1
        self._system.factorise(1.0 / loss.cost)

    def _solved(self, right: Array) -> Array:
        sums = np.zeros((self._n_groups, right.shape[1]))
        return self._system.solve_with_sums(right, sums)[0]

    def solve(self, right: Array) -> Array:
        """Return ``Z right`` for one vector of shape (n_samples,)."""
        return self._solved(right[:, None])[:, 0]

    def form(self, right: Array) -> Array:
        """Return ``right' Z right``."""
        H = right.T @ self._solved(right)
        return np.asarray(0.5 * (H + H.T))


def no_room(n_samples: int, itemsize: int) -> str:
    """Return what to say if one matrix between all samples does not fit into the cache."""
    size = n_samples**2 * itemsize / _MEGABYTE
    return (
        "cache_size is too small for loss='squared', which holds one matrix between all "
        f"{n_samples} samples: set cache_size to {np.ceil(size):.0f} megabytes or more, half of "
        "that with storage='float32', or use a loss that needs only some of its rows, such as "
        "'epsilon_insensitive'."
    )
