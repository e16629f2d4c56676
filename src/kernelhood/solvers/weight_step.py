"""Second-order steps on the kernel weights.

The value S of an SVM is convex and falling in the weights. Its gradient is minus the curvatures
``1/2 v'K^m v``; its Hessian follows from the free support vectors. Along a ray, S behaves like a
power of the scale: hard margins give 1/scale, bounded support vectors a straight line. The step
first moves along the ray by that law and then takes a Newton step from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.losses import DualTerms
from kernelhood.solvers.family import as_family
from kernelhood.solvers.nonneg_qp import solve_nonneg_qp
from kernelhood.solvers.penalty import Penalty, is_concave, penalty_slope

_LEAST_POWER = 0.7
_LARGEST_GROWTH = 3.0
_FLOOR = 1e-9


def value_hessian(
    kernels: Any, weights: Array, ridge: float, v: Array, products: Array, terms: DualTerms
) -> Array:
    """Return the Hessian of the SVM's value with respect to the weights.

    With F the free support vectors, U = [(K^m v)_F]_m and Z the inverse of K_FF after the
    intercepts are eliminated, it is U'ZU.

    Parameters
    ----------
    kernels : KernelFamily, or ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernels.
    weights : ndarray of shape (n_weights,)
        Current weights.
    ridge : float
        What the SVM added to the diagonal.
    v : ndarray of shape (n_samples,)
        Solution of the SVM.
    products : ndarray of shape (n_kernels, n_samples)
        ``K^m v``.
    terms : DualTerms
        Box of the dual.
    """
    family = as_family(kernels)
    free = np.flatnonzero((v > terms.lower) & (v < terms.upper) & (v != 0.0))
    if len(free) < 2:
        return np.zeros((len(weights), len(weights)))
    K = family.block(weights, free)
    K.flat[:: len(K) + 1] += ridge + 1e-14 * np.trace(K)
    factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    U = family.columns(products, free)
    E = _indicators(free, terms)
    Z = cho_solve(factor, np.hstack([U, E]), check_finite=False)
    ZU, ZE = Z[:, : U.shape[1]], Z[:, U.shape[1] :]
    ZU -= ZE @ np.linalg.solve(E.T @ ZE, E.T @ ZU)
    return np.asarray(U.T @ ZU)


def _indicators(free: Indices, terms: DualTerms) -> Array:
    """Return a column of zeros and ones for each group with free support vectors."""
    groups = np.searchsorted(terms.starts, free, side="right")
    _, which = np.unique(groups, return_inverse=True)
    return np.asarray(np.eye(which.max() + 1)[which])


def ray_step(
    weights: Array, curvatures: Array, hessian: Array, penalty: Penalty, radius: float
) -> tuple[float, float]:
    """Return by which factor to scale the weights, and the power of the curvatures' decay.

    On the ray ``c * weights`` the curvatures are modelled as ``c^-power`` times the present ones,
    which fits the gradient and the second derivative. The factor balances them against the
    penalty's slope, within ``exp(+-radius)``. A budget leaves no ray: the factor is 1.
    """
    fall = np.dot(weights, curvatures)
    price = np.dot(penalty.linear, weights)
    growth = np.dot(weights, penalty.quadratic @ weights)
    if np.any(penalty.row) or fall <= 0.0 or price + growth <= 0.0:
        return 1.0, 0.0
    power = min(2.0, np.dot(weights, hessian @ weights) / fall)
    log_factor = _balance(fall, price, growth, max(power, _LEAST_POWER), radius)
    return float(np.exp(log_factor)), float(power)


@compiled
def _balance(fall: float, price: float, growth: float, power: float, radius: float) -> float:
    """Return x in +-radius with ``fall exp(-power x) = price + growth exp(x)``, by bisection."""
    low, high = -radius, radius
    for _ in range(40):
        middle = 0.5 * (low + high)
        if fall * np.exp(-power * middle) > price + growth * np.exp(middle):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def newton_weights(
    weights: Array,
    curvatures: Array,
    hessian: Array,
    penalty: Penalty,
    damping: float,
    unit: float,
) -> Array:
    """Return the minimiser over weights >= 0 of the damped second-order model.

    The damping is measured in the curvature ``2 q_m / weights_m`` of the majoriser
    ``q_m weights_m^2 / new_m``, which bounds the value of the SVM from above.

    Parameters
    ----------
    weights, curvatures : ndarray of shape (n_kernels,)
        Where we are, and ``1/2 v'K^m v`` there.
    hessian : ndarray of shape (n_kernels, n_kernels)
        Hessian of the SVM's value.
    penalty : Penalty
        Price and budget of the weights.
    damping : float
        Share of the majoriser's curvature to add.
    unit : float
        A weight that matters, so that weights of 0 are not frozen.
    """
    slope = penalty_slope(penalty, weights) - curvatures
    bends = 2.0 * curvatures / (weights + unit)
    limit = _LARGEST_GROWTH * (weights.sum() + unit)
    while True:
        Q = hessian + penalty.quadratic
        Q.flat[:: len(Q) + 1] += damping * bends
        if is_concave(penalty):
            Q = _convex_part(Q)
        found = solve_nonneg_qp(Q, slope - Q @ weights, penalty.row, weights)
        if found.sum() <= limit or damping > 1.0 or np.any(penalty.row):
            return found
        damping = max(4.0 * damping, 1e-3)


def _convex_part(Q: Array) -> Array:
    """Return Q with its negative eigenvalues raised to almost nothing."""
    values, vectors = np.linalg.eigh(Q)
    floor = _FLOOR * float(np.max(np.abs(values)))
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def line_minimum(value: float, slope: float, next_value: float, next_slope: float) -> float:
    """Return where in [0.05, 0.7] the cubic through both ends of the unit interval is least."""
    bend = slope + next_slope - 3.0 * (next_value - value)
    discriminant = bend * bend - slope * next_slope
    where = 0.3
    if discriminant >= 0.0:
        root = np.sqrt(discriminant)
        width = next_slope - slope + 2.0 * root
        if width > 0.0:
            where = 1.0 - (next_slope + root - bend) / width
    return float(min(0.7, max(0.05, where)))
