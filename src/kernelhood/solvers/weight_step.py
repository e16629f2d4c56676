"""Second-order steps on the kernel weights.

The value S of an SVM is convex and falling in the weights. Its gradient is minus the curvatures
``1/2 v'K^m v``; its Hessian follows from the free support vectors. Along a ray, S behaves like a
power of the scale: hard margins give 1/scale, bounded support vectors a straight line. The step
first moves along the ray by that law and then takes a Newton step from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.losses import DualTerms
from kernelhood.solvers.combined import CombinedKernel, kernel_block
from kernelhood.solvers.family import as_family
from kernelhood.solvers.nonneg_qp import solve_nonneg_qp
from kernelhood.solvers.penalty import Penalty, is_concave, penalty_slope

_LEAST_POWER = 0.7
_FAR_UP = 1.5
_LARGEST_GROWTH = 3.0
_FLOOR = 1e-9
_NEAR = 4.0
_LEAST_SECANT = 0.01
_LARGE = 300
_WIDEST_PIVOTS = 100.0
_RIDGES = (1e-14, 1e-11, 1e-8)


def value_hessian(
    kernels: Any, kernel: CombinedKernel, v: Array, products: Array, terms: DualTerms
) -> Array:
    """Return the Hessian of the SVM's value with respect to the weights.

    With F the free support vectors, U = [(K^m v)_F]_m and Z the inverse of K_FF after the
    intercepts are eliminated, it is U'ZU.

    Parameters
    ----------
    kernels : KernelFamily, or ndarray of shape (n_kernels, n_samples, n_samples)
        Base kernels.
    kernel : CombinedKernel
        The SVM's kernel, with the rows that it has needed.
    v : ndarray of shape (n_samples,)
        Solution of the SVM.
    products : ndarray
        The family's products with v.
    terms : DualTerms
        Box of the dual.
    """
    family = as_family(kernels)
    free = np.flatnonzero((v > terms.lower) & (v < terms.upper) & (v != 0.0))
    if len(free) < 2:
        return np.zeros((family.n_weights, family.n_weights))
    if family.fill is not None:
        family.fill(kernel, free[~kernel.ready[free]])
    U, E = family.columns(products, free), _indicators(free, terms)
    Z = _solve(kernel_block(kernel, free), np.concatenate([U, E], axis=1))
    ZU, ZE = Z[:, : U.shape[1]], Z[:, U.shape[1] :]
    if E.shape[1] == 1:
        ZU -= ZE * (ZU.sum(axis=0) / ZE.sum())
    else:
        ZU -= ZE @ np.linalg.solve(E.T @ ZE, E.T @ ZU)
    return np.asarray(U.T @ ZU)


def _indicators(free: Indices, terms: DualTerms) -> Array:
    """Return a column of zeros and ones for each group with free support vectors."""
    if len(terms.starts) == 2:
        return np.ones((len(free), 1))
    groups = np.searchsorted(terms.starts, free, side="right")
    _, which = np.unique(groups, return_inverse=True)
    return np.asarray(np.eye(which.max() + 1)[which])


def secant_hessian(hessian: Array, step: Array, fall: Array) -> Array:
    """Return the Hessian changed as little as explains the last step (the BFGS formula).

    Parameters
    ----------
    hessian : ndarray of shape (n_kernels, n_kernels)
        Hessian before the step.
    step, fall : ndarray of shape (n_kernels,)
        Change of the weights, and by how much the curvatures fell.
    """
    along = hessian @ step
    expected, found = np.dot(step, along), np.dot(step, fall)
    if expected <= 0.0 or found <= _LEAST_SECANT * expected:
        return hessian
    return hessian + np.outer(fall, fall) / found - np.outer(along, along) / expected


def _solve(K: Array, B: Array) -> Array:
    """Return ``K^-1 B`` for a positive semidefinite K, with a ridge that makes it definite.

    Where K is large and its condition allows it, single precision takes half the time, and is
    more than the model of a step needs.
    """
    if len(K) >= _LARGE:
        factor, info = lapack.spotrf(K.astype(np.float32).T, lower=1, overwrite_a=1)
        pivots = np.diagonal(factor)
        if info == 0 and pivots.max() < _WIDEST_PIVOTS * pivots.min():
            return np.asarray(lapack.spotrs(factor, B, lower=1)[0], dtype=np.float64)
    for ridge in _RIDGES:
        stiff = K.copy()
        stiff.flat[:: len(K) + 1] += ridge * np.trace(K)
        _, solution, info = lapack.dposv(stiff.T, B, lower=1, overwrite_a=1)
        if info == 0:
            return np.asarray(solution)
    raise np.linalg.LinAlgError(
        "a kernel is not positive semidefinite: its matrix at the support vectors has a negative "
        "eigenvalue; use kernels that are."
    )


def ray_step(
    weights: Array, curvatures: Array, hessian: Array, penalty: Penalty, radius: float
) -> tuple[float, float]:
    """Return by which factor to scale the weights, and the power of the curvatures' decay.

    On the ray ``c * weights`` the curvatures are modelled as ``c^-power`` times the present ones.
    At first the power is the one that fits the second derivative; far up the ray it is 2, for
    there support vectors leave their bounds. The factor balances the curvatures against the
    penalty's slope, within ``exp(+-radius)``, and the power returned is the mean up to there. A
    budget leaves no ray: the factor is 1.
    """
    if penalty.row.any():
        return 1.0, 0.0
    fall = np.dot(weights, curvatures)
    price = np.dot(penalty.linear, weights)
    growth = np.dot(weights, penalty.quadratic @ weights)
    if fall <= 0.0 or price + growth <= 0.0:
        return 1.0, 0.0
    power = min(2.0, np.dot(weights, hessian @ weights) / fall)
    log_factor = _balance(fall, price, growth, max(power, _LEAST_POWER), radius)
    if log_factor > _FAR_UP:
        power += (2.0 - power) * (1.0 - _FAR_UP / log_factor)
    return float(np.exp(log_factor)), float(power)


@compiled
def _balance(fall: float, price: float, growth: float, power: float, radius: float) -> float:
    """Return x in +-radius where the falling curvatures meet ``price + growth exp(x)``."""
    low, high = -radius, radius
    for _ in range(40):
        middle = 0.5 * (low + high)
        decline = power * middle + (2.0 - power) * max(0.0, middle - _FAR_UP)
        if fall * np.exp(-decline) > price + growth * np.exp(middle):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def straightened(penalty: Penalty, weights: Array, curvatures: Array) -> Array:
    """Return curvatures with which Newton's step lands closer to where they meet their prices.

    A kernel's curvature q falls about as its weight^-2, so that Newton's method on q = price is
    slow from below and overshoots from above. On ``q^-1/2 = price^-1/2`` it is nearly exact, and
    with the same Hessian that takes ``2 q (sqrt(q / price) - 1)`` in place of ``q - price``. Far
    from the balance, and with a budget or a quadratic part, where prices are not constant, they
    are returned as they are.
    """
    price = penalty.linear
    if penalty.row.any() or penalty.quadratic.any() or price.min() <= 0.0 or not weights.any():
        return curvatures
    ratio = np.maximum(curvatures, 0.0) / price
    if ratio.max() > _NEAR or ratio[weights > 0.0].min() < 1.0 / _NEAR:
        return curvatures
    return price + 2.0 * curvatures * (np.sqrt(ratio) - 1.0)


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
    concave = is_concave(penalty)
    while True:
        Q = hessian + penalty.quadratic
        Q.flat[:: len(Q) + 1] += damping * bends
        if concave:
            Q = _convex_part(Q)
        found = solve_nonneg_qp(Q, slope - Q @ weights, penalty.row, weights)
        if found.sum() <= limit or damping > 1.0 or penalty.row.any():
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
