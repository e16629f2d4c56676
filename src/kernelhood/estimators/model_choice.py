"""Which of a few models to take: by the evidence, and by rows that are left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.estimators.target_units import Units
from kernelhood.likelihoods import Found
from kernelhood.solvers.gaussian import Level, Model, Point, start_from_some

#: The least gain in log evidence over a model without columns: a Bayes factor of 20.
_LEAST_GAIN = 3.0
#: With more rows than this a fit starts from the weights of a third of them.
_MANY_ROWS = 900
_SHARE = 3
#: Blocks of occasions that are left out, and the ratio of errors below which occasions go.
_BLOCKS, _CLEARLY = 5, 0.98
#: Powers of the targets that are tried, and the folds that have to agree.
_POWERS, _FOLDS = (0.0, 0.25, 0.5), 10
#: The fewest rows, and the least ratio of targets, for which a power is tried.
_FEWEST_ROWS, _LEAST_RATIO = 50, 3.0

Fit = Callable[[Model, Array, float, int], Found]


def start_of(model: Model, tol: float) -> Array:
    """Return weights to start from: of many rows, those of some.

    Parameters
    ----------
    model : Model
        To be fitted.
    tol : float
        Relative gap to reach.
    """
    n = len(model.z)
    if n <= _MANY_ROWS:
        return model.start()
    return start_from_some(model, np.arange(0, n, _SHARE), 10.0 * tol)


def with_or_without_occasions(
    found: Found, fit: Fit, tol: float, max_iter: int
) -> tuple[Found, bool]:
    """Return the model with occasions or without, whichever predicts left-out ones better.

    Parameters
    ----------
    found : Found
        The model with occasions, which are its last level.
    fit : callable
        The likelihood.
    tol, max_iter
        As the likelihood takes them.

    Returns
    -------
    found : Found
        The better one.
    matter : bool
        Whether it has occasions.
    """
    model = found.point.model
    code = model.levels[-1].groups
    blocks = np.array_split(np.arange(int(code.max()) + 1), min(_BLOCKS, int(code.max()) + 1))
    groups = [np.flatnonzero(np.isin(code, block)) for block in blocks]
    plain = Model(model.terms, model.levels[:-1], model.z, model.noise, model.tau)
    theta = np.append(found.point.theta[:-2], found.point.theta[-1])
    without = fit(plain, theta, tol, max_iter)
    errors = [float(np.mean(one.point.left_out(groups)[0] ** 2)) for one in (found, without)]
    # The evidence is for them; left-out blocks have to be clearly against.
    matter = errors[1] > _CLEARLY * errors[0]
    return (found if matter else without), matter


def not_worse_than_levels(found: Found, fit: Fit, tol: float, max_iter: int) -> Found:
    """Return the model, or one of the tasks' levels alone if the rest is not worth it.

    Parameters
    ----------
    found, fit, tol, max_iter
        As `with_or_without_occasions` takes them.
    """
    model = found.point.model
    if len(model.z) > _MANY_ROWS:  # too many to be deceived by chance
        return found
    levels = []
    for level in model.levels:
        only = np.zeros_like(level.terms)
        only[0] = level.terms[0]
        levels.append(Level(level.groups, only))
    plain = Model(model.terms, levels, model.z, model.noise, model.tau)
    simple = fit(plain, plain.start(), tol, max_iter)
    return found if simple.point.value - found.point.value >= _LEAST_GAIN else simple


def with_a_power(
    found: Found, units: Units, y: Array, event: Indices, fit: Fit, tol: float, max_iter: int
) -> tuple[Found, Units]:
    """Return the model of a power of the targets, if evidence and left-out rows agree.

    Parameters
    ----------
    found : Found
        The model of the targets as they are.
    units : Units
        Its units.
    y : ndarray of shape (n,)
        The targets.
    event : ndarray of int, shape (n,)
        Rows of one event are in the same fold.
    fit, tol, max_iter
        As `with_or_without_occasions` takes them.
    """
    model = found.point.model
    if len(y) < _FEWEST_ROWS or y.min() <= 0.0 or y.max() < _LEAST_RATIO * y.min():
        return found, units
    rest = event % _FOLDS
    groups = [np.flatnonzero(rest == fold) for fold in range(_FOLDS)]
    best, value = (found, units), found.point.value - units.log_slope(y)
    error = _left_out_error(found.point, units, y, groups)
    for power in _POWERS:
        own = Units.of(y, 1.0 / model.noise[:, 0], power)
        bent = model.with_targets(own.to(y)[:, None], model.noise)
        one = fit(bent, np.maximum(found.point.theta, 1e-4), tol, max_iter)
        new_value = one.point.value - own.log_slope(y)
        new_error = _left_out_error(one.point, own, y, groups)
        if new_value < value - _LEAST_GAIN and new_error < error:
            best, value, error = (one, own), new_value, new_error
    return best


def _left_out_error(point: Point, units: Units, y: Array, groups: list[Indices]) -> float:
    residual, variance = point.left_out(groups)
    predicted = units.back(point.model.z[:, 0] - residual, variance)
    return float(np.mean((y - predicted) ** 2))
