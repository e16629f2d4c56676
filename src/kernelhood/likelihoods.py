"""How targets come from functions: each a Gaussian with a target and a precision for every row.

A likelihood other than the Gaussian is a mixture of such Gaussians. Given the precisions, weights
are those of the evidence; given the functions, precisions follow in closed form. Each round raises
one lower bound of the evidence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.solvers.gaussian import Model, Point, maximise_evidence

#: Degrees of freedom of Student's t distribution.
DEGREES_OF_FREEDOM = 4.0
#: How much larger the scale of the prior is for variances of logits than for those of numbers.
LOGIT_PRIOR = 30.0

_ROUNDS = 20
_STEPS = 4
_INNER = 3
_SETTLED = 0.01
#: A logit's variance where labels as numbers have the variance 1, to start from.
_LOGITS = 8.0


class Found(NamedTuple):
    """What a likelihood has found: the last point, and how many factors it took."""

    point: Point
    n_iter: int


def fit_gaussian(model: Model, theta: Array, tol: float, max_iter: int) -> Found:
    """Return the weights of targets with Gaussian noise.

    Parameters
    ----------
    model : Model
        Terms, levels and targets.
    theta : ndarray of shape (n_weights,)
        Where to start.
    tol : float
        Relative gap to reach.
    max_iter : int
        Largest number of factors.
    """
    return Found(*maximise_evidence(model, theta, tol=tol, max_iter=max_iter))


def fit_student_t(model: Model, theta: Array, tol: float, max_iter: int) -> Found:
    """Return the weights of targets whose noise has Student's t distribution: outliers count less.

    Parameters
    ----------
    model, theta, tol, max_iter
        As `fit_gaussian` takes them.
    """
    nu, base = DEGREES_OF_FREEDOM, model.noise
    # At first what is far from the middle counts less; targets have the deviation 1.
    omega = (nu + 1.0) / (nu + model.z**2)
    first = model.with_targets(model.z, base / omega)
    found, count = maximise_evidence(first, theta, tol=tol, max_iter=max_iter)
    while count < max_iter:
        mean, variance = found.posterior()
        square = ((model.z[:, 0] - mean) ** 2 + variance)[:, None]
        new = (nu + 1.0) / (nu + square / (found.theta[-1] * base))
        change, omega = float(np.abs(new / omega - 1.0).max()), new
        reweighted = model.with_targets(model.z, base / omega)
        found, steps = maximise_evidence(reweighted, found.theta, tol=tol, max_iter=_STEPS)
        count += steps
        if change < _SETTLED:
            break
    return Found(found, count)


def fit_logistic(model: Model, theta: Array, tol: float, max_iter: int) -> Found:
    """Return the weights of labels, whose logits the functions are (Polya and Gamma).

    Parameters
    ----------
    model : Model
        With labels of -1 and 1 in the place of targets, one column for each class, and the
        inverse of the sample weights as noise.
    theta, tol, max_iter
        As `fit_gaussian` takes them.
    """
    labels, weight = model.z, 1.0 / model.noise
    centre = np.average(labels, axis=0, weights=np.broadcast_to(weight, labels.shape))
    spread = np.maximum(np.sqrt(1.0 - centre**2), 1e-3)
    numbers = Model(model.terms, model.levels, (labels - centre) / spread, model.noise, model.tau)
    first, count = maximise_evidence(numbers, theta, tol=10.0 * tol, max_iter=max_iter)
    theta = np.append(_LOGITS * first.theta[:-1], 1.0)
    omega = np.full_like(labels, 0.25) * weight
    logits = Model(model.terms, model.levels, labels, model.noise, LOGIT_PRIOR * model.tau, True)
    found = Point(logits.with_targets(0.5 * labels * weight / omega, 1.0 / omega), theta)
    for _ in range(_ROUNDS):
        before = found.theta
        for _ in range(_INNER):
            omega = weight * _polya_gamma(found)
            given = logits.with_targets(0.5 * labels * weight / omega, 1.0 / omega)
            found = Point(given, found.theta)
        found, steps = maximise_evidence(given, found.theta, tol=tol, max_iter=_STEPS)
        count += steps + _INNER
        moved = np.abs(found.theta - before).max() / max(float(before.max()), 1e-300)
        if count >= max_iter or moved < _SETTLED:
            break
    return Found(found, count)


def _polya_gamma(point: Point) -> Array:
    """Return the mean of every row's precision given the functions."""
    columns = []
    for target in range(point.a.shape[1]):
        mean, variance = point.posterior(target)
        c = np.sqrt(np.maximum(mean**2 + variance, 1e-12))
        columns.append(np.tanh(0.5 * c) / (2.0 * c))
    return np.column_stack(columns)
