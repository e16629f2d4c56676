"""One SVM as a function of its kernel weights: value, gradient and Hessian."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.losses import (
    BoxLoss,
    RidgeLoss,
    SampleLoss,
    best_gap,
    dual_gain,
    ridge_gain,
    ridge_values,
    svm_values,
)
from kernelhood.operators import KernelOperator, LowRankKernels
from kernelhood.operators.base import Combined, combined_matrix
from kernelhood.operators.dense import centred
from kernelhood.solvers.hessian import (
    Factor,
    Slopes,
    free_entries,
    low_rank_hessian,
    value_hessian,
)
from kernelhood.solvers.interior_point import solve_interior_point
from kernelhood.solvers.low_rank_system import LowRankSystem
from kernelhood.solvers.svm import Part, part_of, solve_by_parts, solve_svm


class BlockPoint(NamedTuple):
    """The SVM at given weights; `v` and `products` are in the block's own units.

    Attributes
    ----------
    v : ndarray of shape (n_samples,)
        Signed dual vector, feasible.
    products : ndarray
        Its products with the kernels.
    ridge : float
        What the SVM added to the diagonal to single out one dual vector.
    intercepts : ndarray of shape (n_groups,)
        The intercepts.
    value : float
        The primal value of the SVM, an upper bound of S(weights).
    gain : float
        The linear part of the dual objective; ``gain - q'theta`` is a lower bound of S(theta) for
        every theta.
    q : ndarray of shape (n_weights,)
        ``1/2 v'K^m v``, minus the gradient of S.
    bend : float
        The quadratic part of the gain, which has been taken off it; 0 for a loss with a box.
    """

    v: Array
    products: Array
    ridge: float
    intercepts: Array
    value: float
    gain: float
    q: Array
    bend: float = 0.0

    def missing(self, weights: Array) -> float:
        """Return the duality gap of the SVM at the point's weights."""
        return self.value - self.gain + float(self.q @ weights)


class Block:
    """The kernels and the loss of one SVM.

    Parameters
    ----------
    operator : KernelOperator
        The kernels on its samples.
    loss : BoxLoss
        The loss at its samples.
    parts : tuple of ndarray of int, optional
        Where the block's weights come from: they are the sum over these of ``weights[part]``. By
        default they are all weights of the problem.
    """

    #: Whether a Hessian costs little beside an SVM, and tells where the next one leads to.
    predicts = False

    def __init__(
        self, operator: KernelOperator, loss: SampleLoss, parts: tuple[Indices, ...] | None = None
    ) -> None:
        self._centred, self.parts = centred(operator, loss.group_starts), parts
        self.operator = self._centred.operator
        self.loss: Any
        self.loss, self.units = self._in_units(loss)
        self._last: tuple[Array, Part] | None = None
        self._known: tuple[Array, Array] | None = None

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return self.operator.n_samples

    def _in_units(self, loss: Any) -> tuple[Any, Units]:
        return in_units(loss)

    def _values(self, v: Array, Kv: Array) -> tuple[Array, float, float, float]:
        """Return the best intercepts, the value, the gain and its bend, in the block's units."""
        return *svm_values(v, Kv, self.loss), 0.0

    def gain(self, v: Array) -> tuple[float, float]:
        """Return the gain of a dual vector in the block's units, and its bend."""
        return dual_gain(v, self.loss) * self.units.value, 0.0

    def at(self, weights: Array, v: Array | None = None) -> BlockPoint:
        """Return what a dual vector says of the weights, without solving; v = 0 by default."""
        products = self.operator.no_products()
        start = np.zeros(self.n_samples)
        if v is not None:
            start = v / self.units.box
            products = self._products_of(start)
        return self.point(weights, start, products, 0.0)

    def _products_of(self, v: Array) -> Array:
        """Return the products with a vector; a start is valued first and then started from."""
        if self._known is None or not np.array_equal(v, self._known[0]):
            products = self.operator.no_products()
            self.operator.add_products(v, products)
            self._known = v.copy(), products
        return self._known[1].copy()

    def point(self, weights: Array, v: Array, products: Array, ridge: float) -> BlockPoint:
        """Return a dual vector in the block's units with its values at the weights."""
        units = self.units
        Kv = self.operator.apply(weights / units.weight, products)
        intercepts, value, gain, bend = self._values(v, Kv)
        return BlockPoint(
            v,
            products,
            ridge,
            self._raised(intercepts, weights, v) * units.target + units.centres,
            value * units.value,
            gain * units.value,
            self.operator.forms(products, v) * units.box**2,
            bend * units.value,
        )

    def _raised(self, intercepts: Array, weights: Array, v: Array) -> Array:
        """Return the intercepts of the kernels as they were given, before they were centred."""
        if self._centred.means is None:
            return intercepts
        shifts = self._centred.shifts(weights / self.units.weight, v)
        return intercepts - (shifts if len(shifts) == len(intercepts) else shifts[:1])

    def solve(
        self,
        weights: Array,
        start: BlockPoint,
        shrink: float,
        gap: float,
        ridge: float,
        exact: bool = False,
    ) -> BlockPoint:
        """Solve the SVM at the weights.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Where.
        start : BlockPoint
            The point to start from.
        shrink : float
            What to multiply its dual vector with.
        gap : float
            Duality gap to reach.
        ridge : float
            What is added to the diagonal of the kernel, in the block's units.
        exact : bool
            Whether to go for an interior point at once.
        """
        units, operator = self.units, self.operator
        theta = weights / units.weight
        v, products = start.v, start.products
        if shrink != 1.0:
            v, products = shrink * v, shrink * products
        if operator.fill is not None:
            found, products, part = solve_by_parts(
                operator,
                theta,
                ridge,
                self.loss,
                v,
                products,
                gap / units.value,
                self._row_buffer,
                exact,
            )
            self._last = None if part is None else (found, part)
            return self.point(weights, found, products, ridge)
        kernel = operator.combined(theta, ridge, self._row_buffer)
        Kv = operator.apply(theta, products) + ridge * v
        found, _ = solve_svm(kernel, self.loss, v, Kv, gap / units.value, exact=exact)
        products = products.copy()
        operator.add_products(found - v, products)
        self._last = found, self._whole(kernel)
        return self.point(weights, found, products, ridge)

    @cached_property
    def _row_buffer(self) -> Array:
        return self.operator.row_buffer()

    def _whole(self, kernel: Combined) -> Part:
        return Part(slice(None), self.operator, kernel, self.loss)

    def hessian(self, weights: Array, point: BlockPoint, kept: Flags | None) -> Array:
        """Return the Hessian of S for the kept weights."""
        part = self._part_of(weights, point)
        v, products = point.v[part.samples], point.products[:, part.samples]
        H = value_hessian(part.operator, part.kernel, v, products, part.loss, kept)
        return H * (self.units.value / self.units.weight**2)

    def predicted(self, weights: Array, point: BlockPoint) -> BlockPoint | None:
        """Return the point that the Hessian at another one makes expect; None if none is known.

        Its values are true ones. What it costs is the product of its change with the kernels.
        """
        return None

    def _part_of(self, weights: Array, point: BlockPoint) -> Part:
        """Return the samples with the rows of a point's SVM, if that was the last one."""
        if self._last is not None and self._last[0] is point.v:
            return self._last[1]
        theta = weights / self.units.weight
        if self.operator.fill is None:
            part = self._whole(self.operator.combined(theta, point.ridge, self._row_buffer))
        else:
            free = np.flatnonzero(free_entries(point.v, self.loss))
            part = part_of(self.operator, theta, point.ridge, self.loss, free, self._row_buffer)
        self._last = point.v, part
        return part


class Units(NamedTuple):
    """Sizes of the box and the target, and the centre of each group: the solver sees 1, 1 and 0.

    Every group has an intercept, so that moving its targets changes nothing else.
    """

    box: float
    target: float
    centres: Array

    @property
    def weight(self) -> float:
        """The unit of the kernel weights."""
        return self.target / self.box

    @property
    def value(self) -> float:
        """The unit of the objective."""
        return self.target * self.box


def in_units(loss: BoxLoss) -> tuple[BoxLoss, Units]:
    """Return a loss in the units that suit it, and these units."""
    target, size, centres = centred_targets(loss.target, loss.group_starts)
    box = float(max(loss.upper.max(), -loss.lower.min()))
    scaled = BoxLoss(
        target, loss.lower / box, loss.upper / box, loss.epsilon / size, loss.group_starts
    )
    return scaled, Units(box, size, centres)


def centred_targets(target: Array, starts: Indices) -> tuple[Array, float, Array]:
    """Return targets of mean zero in every group and of size one, their size, and the means."""
    n = len(target)
    if len(starts) == 2:
        centres = np.array([target.sum() / n])
        centred = target - centres[0]
    else:
        sizes = np.diff(starts)
        centres = np.add.reduceat(target, starts[:-1]) / sizes
        centred = target - np.repeat(centres, sizes)
    spread = float(np.sqrt(centred @ centred / n))
    # Targets that differ by rounding alone are constant.
    size = spread if spread > 1e-14 * float(np.abs(centres).max()) else 1.0
    return centred / size, size, centres


# One problem with the squared loss as a function of its kernel weights.
#
# Instead of pair steps, this takes one Cholesky factor of ``K + diag(1 / cost)``: it gives
# the dual vector, the intercepts and, every sample being free, the Hessian.


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

        The system is solved again for what is missing if rounding has left more than the gap.

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
        """Return ``K + diag(1 / cost)`` in the buffer for rows, made definite if it has to be."""
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


class LowRankBlock(Block):
    """The kernels of low rank and the loss of one SVM, of which no matrix is formed.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels on its samples.
    loss, parts
        As `Block` takes them.
    """

    operator: LowRankKernels
    predicts = True
    _known_slopes: tuple[Array, Array, Flags | None, Slopes] | None = None

    def solve(
        self,
        weights: Array,
        start: BlockPoint,
        shrink: float,
        gap: float,
        ridge: float,
        exact: bool = False,
    ) -> BlockPoint:
        """Solve the SVM at the weights; see `Block.solve`."""
        operator, theta = self.operator, weights / self.units.weight
        v, products = shrink * start.v, shrink * start.products
        Kv = operator.apply(theta, products) + ridge * v
        before, gap = best_gap(v, Kv, self.loss), gap / self.units.value
        if before > gap:
            system = LowRankSystem(operator, theta, self.loss.group_starts)
            near = (v, Kv) if v.any() else None
            found, K_found = solve_interior_point(system, self.loss, gap, ridge=ridge, start=near)
            if best_gap(found, K_found, self.loss) < before:
                operator.add_products(found - v, products)
                v = found
        return self.point(weights, v, products, ridge)

    def hessian(self, weights: Array, point: BlockPoint, kept: Flags | None) -> Array:
        """Return the Hessian of S for the kept weights."""
        theta, at = weights / self.units.weight, (point.v, point.products, self.loss, kept)
        H, slopes = low_rank_hessian(self.operator, theta, point.ridge, *at)
        self._known_slopes = None if slopes is None else (point.v, weights, kept, slopes)
        return H * (self.units.value / self.units.weight**2)

    def predicted(self, weights: Array, point: BlockPoint) -> BlockPoint | None:
        """Return the point to expect at other weights; see `Block.predicted`."""
        if self._known_slopes is None or self._known_slopes[0] is not point.v:
            return None
        _, before, kept, slopes = self._known_slopes
        step = (weights - before) / self.units.weight
        v, products = point.v.copy(), point.products.copy()
        v[slopes.free] += slopes.by_weight @ (step if kept is None else step[kept])
        v = self.loss.feasible(v)
        self._known_slopes = v, weights, kept, slopes
        self.operator.add_products(v - point.v, products)
        return self.point(weights, v, products, point.ridge)
