"""The loop that solves problem (P): an SVM, its dual bound, a second-order step on the weights.

The objective never rises, and the loop ends on the gap alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.losses import DualTerms
from kernelhood.solvers.combined import CombinedKernel
from kernelhood.solvers.dual_average import DualVector, LowerBound
from kernelhood.solvers.family import KernelFamily
from kernelhood.solvers.penalty import (
    Penalty,
    certificate,
    is_concave,
    penalty_slope,
    penalty_value,
)
from kernelhood.solvers.svm_dual import solve_svm_dual
from kernelhood.solvers.svm_value import svm_values
from kernelhood.solvers.weight_step import (
    line_minimum,
    newton_weights,
    ray_step,
    secant_hessian,
    straightened,
    value_hessian,
)

_RIDGE = 0.001
_FIRST_INNER = 1e-3
_FIRST_DAMPING = 0.01
_WIDEST_RAY = 10.0
_SHORT_RAY = 1.0
_NO_RAY = 1e-3
_SHORT_STEP = 0.1
_MOSTLY_FREE = 1.9
_NEWTON, _CLOSER, _AGAIN = 0, 1, 2


class Solution(NamedTuple):
    """The outcome for one task.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        Kernel weights; kernels that do not take part have exactly 0.
    v : ndarray of shape (n_samples,)
        Signed dual vector.
    intercepts : ndarray of shape (n_groups,)
        Intercepts of the decision function: one, or one for each group of samples.
    objective : float
        Value of the primal problem.
    svm_value, gain : float
        The SVM's part of the objective, and the linear part of its dual.
    curvatures : ndarray of shape (n_kernels,)
        ``1/2 v'K^m v``.
    n_iter : int
        SVMs that were solved.
    trace : ndarray of shape (n_iter, 2)
        Objective and relative duality gap after each of them.
    """

    weights: Array
    v: Array
    intercepts: Array
    objective: float
    svm_value: float
    gain: float
    curvatures: Array
    n_iter: int
    trace: Array

    @property
    def gap(self) -> float:
        """The relative duality gap that was reached."""
        return float(self.trace[-1, 1])


class _Point(NamedTuple):
    """The weights, their SVM, and what the next step needs to know of it."""

    weights: Array
    v: Array
    products: Array
    curvatures: Array
    intercepts: Array
    svm_value: float
    objective: float
    gain: float

    @property
    def dual(self) -> DualVector:
        """What a lower bound needs to know."""
        return DualVector(self.v, self.products, self.gain, self.curvatures)


def _evaluate(
    family: KernelFamily,
    weights: Array,
    kernel: CombinedKernel,
    terms: DualTerms,
    penalty: Penalty,
    v: Array,
    products: Array,
    gap_tol: float,
) -> _Point:
    """Solve the SVM with the weights, whose combination is `kernel`, from a start v."""
    Kv = family.apply(weights, products) + kernel.ridge * v
    solution, _ = solve_svm_dual(kernel, terms, v, Kv, gap_tol, family.fill)
    products = products.copy()
    family.add_products(solution - v, products)
    Kv = family.apply(weights, products)
    curvatures = family.curvatures(products, solution)
    intercepts, svm_value, gain = svm_values(solution, Kv, terms)
    objective = svm_value + penalty_value(penalty, weights)
    return _Point(weights, solution, products, curvatures, intercepts, svm_value, objective, gain)


def _hessian(
    family: KernelFamily,
    kernel: CombinedKernel,
    terms: DualTerms,
    here: _Point,
    last: _Point | None,
    hessian: Array,
) -> Array:
    """Return the Hessian of S at a point whose SVM was just solved.

    After a short step from the last point, that step corrects its Hessian well enough, and with
    many free support vectors a new one costs more than the SVM.
    """
    if last is not None:
        step = here.weights - last.weights
        if np.sum(np.abs(step)) <= _SHORT_STEP * np.sum(last.weights):
            return secant_hessian(hessian, step, last.curvatures - here.curvatures)
    return value_hessian(family, kernel, here.v, here.products, terms)


def _propose(
    penalty: Penalty, here: _Point, hessian: Array, damping: float, radius: float
) -> tuple[Array, float, float]:
    """Return the next weights to try, a scale for v to start from, and the log of the ray."""
    factor, power = ray_step(here.weights, here.curvatures, hessian, penalty, radius)
    ahead = factor * here.weights
    unit = max(0.1 * ahead.sum(), 1.0 / max(np.max(np.abs(here.products)), 1e-300))
    weights = newton_weights(
        ahead,
        straightened(penalty, ahead, here.curvatures * factor**-power),
        hessian * factor ** (-power - 1.0),
        penalty,
        damping,
        unit,
    )
    # Free support vectors shrink as the weights grow; those at their bounds stay there.
    shrink = min(1.0, factor ** (-0.5 * power)) if power > _MOSTLY_FREE else 1.0
    return weights, shrink, float(np.log(factor))


def relative_gap(objective: float, svm_value: float, dual: float) -> float:
    """Return the duality gap relative to the objective, or to the SVM's part where that is more."""
    return (objective - dual) / max(abs(objective), svm_value, 1e-12)


def _gap(penalty: Penalty, point: _Point, dual: float) -> float:
    """Return the relative gap to the best bound so far; for a concave penalty, to its own."""
    if is_concave(penalty):
        dual = point.objective - certificate(
            penalty, point.weights, point.svm_value, point.gain, point.curvatures
        )
    return relative_gap(point.objective, point.svm_value, dual)


def _scale(point: _Point) -> float:
    return max(abs(point.objective), point.svm_value)


def _after_failure(
    penalty: Penalty, here: _Point, trial: _Point, ray: float, noise: float
) -> tuple[int, float]:
    """Return what to do when the trial's objective is not lower, and how far to go back.

    A ray that was too long, or that with the Newton step does not lead downwards, is shortened.
    By convexity the gradient promises at least what a step along it can gain. Where that is less
    than the accuracy of the SVMs, they have to be solved better; otherwise the best point between
    the two is guessed from both slopes.
    """
    step = trial.weights - here.weights
    slope = np.dot(penalty_slope(penalty, here.weights) - here.curvatures, step)
    flat = -slope < 3.0 * noise
    if abs(ray) > (_NO_RAY if flat else _SHORT_RAY):
        return _NEWTON, 0.3
    if flat:
        return _AGAIN, 1.0
    next_slope = np.dot(penalty_slope(penalty, trial.weights) - trial.curvatures, step)
    return _CLOSER, line_minimum(here.objective, slope, trial.objective, next_slope)


def minimise(
    family: KernelFamily,
    terms: DualTerms,
    penalty: Penalty,
    weights: Array,
    v: Array,
    tol: float,
    max_iter: int,
) -> Solution:
    """Solve (P) for terms whose box and target are of order one; see `mkl.solve_mkl`.

    The SVMs carry a ridge that costs a small part of `tol`: where the combined kernel is singular
    it picks a short one among many dual vectors, without which no bound on the weights of the
    other kernels can be had. Objective and gap are computed without it.
    """
    n = len(v)
    rows, trace = family.room(), np.empty((max_iter, 2))
    inner, precision, ridge = _FIRST_INNER, 1.0, _RIDGE * max(tol, 0.01)
    damping, radius, ray, shrink = _FIRST_DAMPING, _WIDEST_RAY, 0.0, 1.0
    products = family.no_products()
    family.add_products(v, products)
    kernel = family.kernel(weights, ridge, rows)
    here = _evaluate(family, weights, kernel, terms, penalty, v, products, inner * n)
    best, trial, move, fraction = here, here, _NEWTON, 1.0
    bound = LowerBound(family, terms, penalty)
    bound.add(here.dual, average=False)
    trace[0] = here.objective, _gap(penalty, here, bound.value)
    n_solved, size = 1, 1.0
    last: _Point | None = None
    hessian = np.zeros((family.n_weights, family.n_weights))
    while trace[n_solved - 1, 1] > tol and n_solved < max_iter:
        inner = min(inner, 0.03 * max(trace[n_solved - 1, 1], 0.5 * tol) ** 1.5)
        if move == _NEWTON:
            if here is trial:
                hessian = _hessian(family, kernel, terms, here, last, hessian)
            weights, shrink, ray = _propose(penalty, here, hessian, damping, radius)
        elif move == _CLOSER:
            weights = _cleaned(here.weights + fraction * (trial.weights - here.weights))
        else:
            weights, shrink, precision = here.weights, 1.0, 0.1 * precision
        scale = _scale(here)
        size = min(2.0 * size, scale / max(np.dot(here.v, here.v), 1e-300))
        ridge = precision * _RIDGE * max(trace[n_solved - 1, 1], tol) * size
        gap_tol = precision * inner * scale
        kernel = family.kernel(weights, ridge, rows)
        start = shrink * here.v, shrink * here.products
        trial = _evaluate(family, weights, kernel, terms, penalty, *start, gap_tol)
        bound.add(trial.dual, average=precision < 1.0)
        if trial.objective < here.objective or move == _AGAIN:
            last = here if move != _AGAIN else None
            here, move = trial, _NEWTON
            damping, radius = 0.1 * damping, min(_WIDEST_RAY, 2.0 * radius)
        else:
            noise = precision * (scale * inner + _RIDGE * max(trace[n_solved - 1, 1], tol) * scale)
            move, fraction = _after_failure(penalty, here, trial, ray, noise)
            damping = max(3.0 * damping, 1e-4)
            if move == _NEWTON:
                radius = fraction * abs(ray)
        if trial.objective < best.objective:
            best = trial
        trace[n_solved] = best.objective, _gap(penalty, best, bound.value)
        n_solved += 1
    return Solution(
        best.weights,
        best.v,
        best.intercepts,
        best.objective,
        best.svm_value,
        best.gain,
        best.curvatures,
        n_solved,
        trace[:n_solved],
    )


def _cleaned(weights: Array) -> Array:
    """Return the weights with what is only rounding put to zero."""
    return np.where(weights < 1e-12 * weights.sum(), 0.0, weights)
