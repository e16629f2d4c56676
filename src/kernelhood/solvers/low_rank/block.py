"""One SVM with kernels of low rank as a function of its kernel weights."""

from __future__ import annotations

from kernelhood._typing import Array, Flags
from kernelhood.operators import LowRankKernels
from kernelhood.solvers.block import Block, BlockPoint
from kernelhood.solvers.low_rank.svm import Slopes, low_rank_hessian, solve_low_rank_svm


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
        gap = gap / self.units.value
        found = solve_low_rank_svm(operator, theta, self.loss, v, Kv, ridge, gap)
        operator.add_products(found - v, products)
        return self.point(weights, found, products, ridge)

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
