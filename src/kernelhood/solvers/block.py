"""One SVM as a function of its kernel weights: value, gradient and Hessian."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.losses import BoxLoss, SampleLoss
from kernelhood.losses.box import dual_gain, svm_values
from kernelhood.operators import KernelOperator
from kernelhood.operators.centring import centred
from kernelhood.operators.combined import Combined
from kernelhood.solvers.dense.svm import Part, part_of, solve_by_parts, solve_svm
from kernelhood.solvers.hessian import free_entries, value_hessian


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
        """Return the point that the Hessian at another one makes expect; None where none is known.

        Its values are true ones. What it costs is the product of its change with the kernels.
        """
        return None

    def _part_of(self, weights: Array, point: BlockPoint) -> Part:
        """Return the samples with the rows of a point's SVM, where that was the last one."""
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
