"""One task's SVM as a function of the kernel weights: value, gradient and Hessian."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.combined import add_products, combined_kernel
from kernelhood.solvers.mkl_loop import Solution, relative_gap
from kernelhood.solvers.svm_dual import solve_svm_dual
from kernelhood.solvers.svm_value import svm_values
from kernelhood.solvers.units import Units, units_of
from kernelhood.solvers.weight_step import value_hessian


class SvmPoint(NamedTuple):
    """The SVM at given weights; `v`, `products` and `ridge` are in the task's own units.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        The weights.
    v : ndarray of shape (n_samples,)
        Signed dual vector.
    products : ndarray of shape (n_kernels, n_samples)
        ``K^m v``.
    ridge : float
        What the SVM added to the diagonal to single out one dual vector.
    intercepts : ndarray of shape (1,)
        The intercept.
    value : float
        The primal value of the SVM, an upper bound of S(weights).
    gain : float
        The linear part of the dual objective; ``gain - curvatures'theta`` is a lower bound of
        S(theta) for every theta.
    curvatures : ndarray of shape (n_kernels,)
        ``1/2 v'K^m v``, minus the gradient of S.
    """

    weights: Array
    v: Array
    products: Array
    ridge: float
    intercepts: Array
    value: float
    gain: float
    curvatures: Array


class TaskSvm(NamedTuple):
    """The kernels and the loss of a task.

    Attributes
    ----------
    Ks : ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernel matrices, C-contiguous.
    terms : DualTerms
        The loss in `units`.
    units : Units
        Units in which box and target are of order one.
    """

    Ks: Array
    terms: DualTerms
    units: Units

    @classmethod
    def of(cls, Ks: Array, terms: DualTerms) -> Self:
        """Return the SVM of a loss that is given in the user's units."""
        units = units_of(terms)
        return cls(Ks, units.scaled_terms(terms), units)

    def at(self, weights: Array, v: Array | None = None) -> SvmPoint:
        """Return what a dual vector says of the weights, without solving; v = 0 by default."""
        n_kernels, n = self.Ks.shape[:2]
        products = np.zeros((n_kernels, n))
        start = np.zeros(n) if v is None else v / self.units.box
        add_products(self.Ks, start, products)
        return self._point(weights, start, products, 0.0)

    def _point(self, weights: Array, v: Array, products: Array, ridge: float) -> SvmPoint:
        units = self.units
        Kv = (weights / units.weight) @ products
        intercepts, value, gain = svm_values(v, Kv, self.terms)
        return SvmPoint(
            weights,
            v,
            products,
            ridge,
            intercepts * units.target + units.centre,
            value * units.value,
            gain * units.value,
            0.5 * (products @ v) * units.box**2,
        )

    def solve(
        self, weights: Array, start: SvmPoint, accuracy: float, ridge: float = 0.0
    ) -> SvmPoint:
        """Solve the SVM at the weights.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels,)
            Where.
        start : SvmPoint
            The point to start from.
        accuracy : float
            Gap to reach, as a share of the value at the start.
        ridge : float
            What a ridge on the diagonal may cost, as such a share.
        """
        scaled = weights / self.units.weight
        size = max(start.value / self.units.value, 1e-12)
        added = ridge * min(1.0, size / max(float(start.v @ start.v), 1e-300))
        Kv = scaled @ start.products + added * start.v
        kernel = combined_kernel(self.Ks, scaled, added)
        v, _ = solve_svm_dual(kernel, self.terms, start.v, Kv, accuracy * size)
        products = start.products.copy()
        add_products(self.Ks, v - start.v, products)
        return self._point(weights, v, products, added)

    def hessian(self, point: SvmPoint) -> Array:
        """Return the Hessian of S at the point, of shape (n_kernels, n_kernels)."""
        scaled = point.weights / self.units.weight
        kernel = combined_kernel(self.Ks, scaled, point.ridge)
        H = value_hessian(self.Ks, kernel, point.v, point.products, self.terms)
        return H * (self.units.value / self.units.weight**2)

    def solution(self, point: SvmPoint, trace: Array) -> Solution:
        """Return the point as the outcome for the task, with its value as the objective."""
        return Solution(
            point.weights,
            point.v * self.units.box,
            point.intercepts,
            point.value,
            point.value,
            point.gain,
            point.curvatures,
            len(trace),
            trace,
        )


def trace_row(value: float, dual: float) -> tuple[float, float]:
    """Return the value of SVMs and the duality gap as a share of it: a row of a trace."""
    return value, relative_gap(objective=value, svm_value=value, dual=dual)
