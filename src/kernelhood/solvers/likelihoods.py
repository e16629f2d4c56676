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
#: A logit's variance if labels as numbers have the variance 1, to start from.
_LOGITS = 8.0
#: Newton steps for the means of logits: how many, how short, how exact, and the least curvature.
_NEWTON_STEPS, _LEAST_STEP, _LOGITS_SETTLED, _LEAST_PRECISION = 30, 1e-3, 3e-3, 1e-9


class Found(NamedTuple):
    """What a likelihood has found.

    Attributes
    ----------
    point : Point
        The last point.
    n_iter : int
        How many factors it took.
    gap : float, optional
        The relative gap of the weights, if it is not that of the point.
    """

    point: Point
    n_iter: int
    gap: float | None = None


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


def fit_labels(model: Model, theta: Array, tol: float, max_iter: int) -> Found:
    """Return weights of logits that are those of labels as numbers, up to a factor.

    They are not those of the logistic likelihood. Its bound is loose for large logits, and if
    classes are nearly separated these weights are the better ones.

    Parameters
    ----------
    model, theta, tol, max_iter
        As `fit_logistic` takes them.
    """
    labels, weight = model.z, 1.0 / model.noise
    centre = np.average(labels, axis=0, weights=np.broadcast_to(weight, labels.shape))
    spread = np.maximum(np.sqrt(1.0 - centre**2), 1e-3)
    numbers = model.with_targets((labels - centre) / spread, model.noise)
    first, count = maximise_evidence(numbers, theta, tol=tol, max_iter=max_iter)
    omega = np.full_like(labels, 0.25) * weight
    given = _logits(model).with_targets(0.5 * labels * weight / omega, 1.0 / omega)
    return Found(Point(given, np.append(_LOGITS * first.theta[:-1], 1.0)), count, first.gap)


def _logits(model: Model) -> Model:
    """Return the model of logits, whose noise is given, of a model of labels."""
    return model.of_logits(LOGIT_PRIOR * model.tau)


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
    labels, weight, logits = model.z, 1.0 / model.noise, _logits(model)
    found, count, _ = fit_labels(model, theta, 10.0 * tol, max_iter)
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


def settled_logits(model: Model, theta: Array) -> Point:
    """Return the posterior of the logits at given weights, where the bound is largest.

    Given the variances of the posterior, the bound is concave in its means: one step of Newton's
    method for the means and one update of the variances alternate.

    Parameters
    ----------
    model : Model
        As `fit_logistic` takes it.
    theta : ndarray of shape (n_weights,)
        Weights.
    """
    labels, weight, logits = model.z, 1.0 / model.noise, _logits(model)
    mean, a, variance = np.zeros_like(labels), np.zeros_like(labels), np.zeros_like(labels)
    for _ in range(_NEWTON_STEPS):
        omega, slope = _precision(mean, variance)
        curvature = np.maximum(weight * (omega + mean * slope), _LEAST_PRECISION)
        z = mean + weight * (0.5 * labels - omega * mean) / curvature
        newton = Point(logits.with_targets(z, 1.0 / curvature), theta)
        to_mean, to_a = z - newton.a / curvature - mean, newton.a - a
        least, step = _bound(labels, weight, mean, variance, a), 1.0
        while (
            _bound(labels, weight, mean + step * to_mean, variance, a + step * to_a) < least
            and step > _LEAST_STEP
        ):
            step *= 0.5
        mean, a = mean + step * to_mean, a + step * to_a
        omega = weight * _precision(mean, variance)[0]
        found = Point(logits.with_targets(0.5 * labels * weight / omega, 1.0 / omega), theta)
        each = [found.posterior(target)[1] for target in range(labels.shape[1])]
        variance = np.column_stack(each)
        if step * np.abs(to_mean).max() <= _LOGITS_SETTLED * (1.0 + np.abs(mean).max()):
            break
    return found


def settle(model: Model, theta: Array, tol: float, max_iter: int) -> Found:
    """Return the posterior of the logits at weights that stay as they are.

    Parameters
    ----------
    model, theta, tol, max_iter
        As `fit_logistic` takes them; only the first two are used.
    """
    return Found(settled_logits(model, theta), 0, 0.0)


def _bound(labels: Array, weight: Array, mean: Array, variance: Array, a: Array) -> float:
    """Return what depends on the means of logits ``K a`` in the bound of the evidence."""
    c = np.sqrt(mean**2 + variance)
    likelihood = 0.5 * (labels * mean - c) - np.log1p(np.exp(-c))
    return float(np.sum(weight * likelihood) - 0.5 * np.sum(a * mean))


def log_losses(labels: Array, mean: Array, variance: Array) -> Array:
    """Return the log losses of labels whose logits have a mean and a variance.

    Parameters
    ----------
    labels : ndarray of shape (n, n_targets)
        -1 or 1.
    mean, variance : ndarray of shape (n, n_targets)
        Of the logits.
    """
    return np.logaddexp(0.0, -labels * averaged(mean, variance))


def averaged(mean: Array, variance: Array) -> Array:
    """Return the logits of the mean of the logistic function over a Gaussian (MacKay).

    Parameters
    ----------
    mean, variance : ndarray
        Of the logits.
    """
    return np.asarray(mean / np.sqrt(1.0 + np.pi / 8.0 * variance))


def _polya_gamma(point: Point) -> Array:
    """Return the mean of every row's precision given the functions."""
    each = [_precision(*point.posterior(target))[0] for target in range(point.a.shape[1])]
    return np.column_stack(each)


def _precision(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Return the precisions of logits, and their derivatives by the mean."""
    c = np.sqrt(np.maximum(mean**2 + variance, 1e-12))
    omega = np.tanh(0.5 * c) / (2.0 * c)
    slope = (0.25 * (1.0 - np.tanh(0.5 * c) ** 2) - omega) * mean / c**2
    return omega, slope
