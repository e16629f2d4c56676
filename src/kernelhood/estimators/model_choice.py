"""Which of a few models to take: by the evidence, and by rows that are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.estimators.training_rows import Units
from kernelhood.kernels.terms import TermBank
from kernelhood.solvers.gaussian import Level, Model, Point, start_from_some
from kernelhood.solvers.likelihoods import Found, log_losses, settled_logits

#: The least gain in log evidence over a model without columns, a Bayes factor of 20; any gain will
#: do if left-out rows have so much less of its squared error.
_LEAST_GAIN, _FAR_LESS = 3.0, 0.95
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


def not_worse_than_levels(
    found: Found, event: Indices, fit: Fit, tol: float, max_iter: int
) -> Found:
    """Return the model, or one of the tasks' levels alone if the rest is not worth it.

    Parameters
    ----------
    found, fit, tol, max_iter
        As `with_or_without_occasions` takes them.
    event : ndarray of int, shape (n,)
        Rows of one event are left out together.
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
    gain = simple.point.value - found.point.value
    if gain >= _LEAST_GAIN or gain <= 0.0:
        return found if gain > 0.0 else simple
    order = np.argsort(event, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(event[order])) + 1)
    errors = [float(np.mean(one.point.left_out(groups)[0] ** 2)) for one in (found, simple)]
    return found if errors[0] < _FAR_LESS * errors[1] else simple


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


# Which terms to use, and how large logits are, judged by halves of the rows.
#
# Weights that are learned from all rows fit these better than others. With many terms that decides:
# each half is predicted by weights and rows of the other half instead.


#: So many rows are enough to judge by; fewer do not tell.
_MOST_JUDGED, _FEWEST_JUDGED = 900, 80
#: Factors of the variances of logits that are tried.
FACTORS = (1.0, 4.0, 16.0, 64.0, 256.0)


def with_terms(model: Model, kept: Flags) -> Model:
    """Return a model with some of its terms; those of the levels' intercepts stay.

    Parameters
    ----------
    model : Model
        Any.
    kept : ndarray of bool, shape (n_terms,)
        The terms to keep.
    """
    kept = kept | (np.arange(len(kept)) == 0)
    levels = [Level(level.groups, level.terms & kept) for level in model.levels]
    return Model(model.terms, levels, model.z, model.noise, model.tau, model.fixed_noise)


def banks(bank: TermBank) -> list[Flags]:
    """Return the sets of terms to choose from: all, those of all columns, those of single ones.

    Parameters
    ----------
    bank : TermBank
        The terms.
    """
    everything = np.ones(len(bank.names), dtype=np.bool_)
    whole = bank.of_all_columns
    single = ~whole
    single[0] = False
    if not whole.any() or not single.any():
        return [everything]
    return [everything, whole, ~whole]


def _halves(model: Model, event: Indices) -> tuple[Model, list[Indices]]:
    """Return a model of some rows, and its two halves; rows of one event are on one side."""
    n = len(model.z)
    if n > _MOST_JUDGED:
        some = np.arange(0, n, -(-n // _MOST_JUDGED))
        model, event = model.take(some), event[some]
    _, first, event = np.unique(event, return_index=True, return_inverse=True)
    odd = (np.argsort(np.argsort(first)) % 2 == 1)[event]
    return model, [np.flatnonzero(odd), np.flatnonzero(~odd)]


def best_terms(model: Model, sets: list[Flags], event: Indices, fit: Fit, tol: float) -> Flags:
    """Return the set of terms by which halves of numbers predict each other best.

    Parameters
    ----------
    model : Model
        With all terms.
    sets : list of ndarray of bool, shape (n_terms,)
        The sets, all terms first.
    event : ndarray of int, shape (n,)
        Rows of one event are in the same half.
    fit : callable
        The likelihood.
    tol : float
        Relative gap to reach.
    """
    if len(sets) == 1 or len(model.z) < _FEWEST_JUDGED:
        return sets[0]
    small, halves = _halves(model, event)
    losses = []
    for kept in sets:
        own, loss = with_terms(small, kept), np.empty(len(small.z))
        for train, test in (halves, halves[::-1]):
            part = own.take(train)
            theta = fit(part, part.start(), 10.0 * tol, 50).point.theta
            loss[test] = Point(own, theta).left_out([test])[0][test] ** 2
        losses.append(loss / small.noise[:, 0])
    return sets[int(np.argmin([loss.mean() for loss in losses]))]


def best_logits(
    model: Model, sets: list[Flags], event: Indices, fits: Sequence[Fit], tol: float
) -> tuple[Flags, Fit, float]:
    """Return the terms, the fit and the factor of its weights by which halves of labels do best.

    The evidence of labels is a bound, which is loose for large logits: its weights are too small.
    All terms, the first fit and its weights as they are give way only to what is better by a
    standard error.

    Parameters
    ----------
    model, sets, event, tol
        As `best_terms` takes them.
    fits : sequence of callable
        The ways to find weights, the usual one first.
    """
    choices = [(kept, fit, factor) for kept in sets for fit in fits for factor in FACTORS]
    if len(model.z) < _FEWEST_JUDGED:
        return choices[0]
    small, halves = _halves(model, event)
    losses = np.empty((len(sets) * len(fits), len(FACTORS), len(small.z)))
    pairs = [(kept, fit) for kept in sets for fit in fits]
    for (kept, fit), loss in zip(pairs, losses, strict=True):
        own = with_terms(small, kept)
        for train, test in (halves, halves[::-1]):
            part = own.take(train)
            theta = fit(part, part.start(), 10.0 * tol, 100).point.theta
            for place, factor in enumerate(FACTORS):
                scaled = np.append(factor * theta[:-1], theta[-1])
                loss[place, test] = _predicted_losses(
                    own, settled_logits(part, scaled), train, test
                )
    each = losses.reshape(len(choices), -1)
    number = int(each.mean(axis=1).argmin())
    gain = each[0] - each[number]
    clear = gain.mean() > gain.std() / np.sqrt(len(gain))  # more than chance would do
    return choices[number if clear else 0]


def _predicted_losses(model: Model, half: Point, train: Indices, test: Indices) -> Array:
    """Return the log losses of rows that are predicted by the other half."""
    z, noise = np.zeros_like(model.z), np.ones_like(model.z)
    z[train], noise[train] = half.model.z, half.model.noise
    known = Model(model.terms, model.levels, z, noise, model.tau, True)
    point, losses = Point(known, half.theta), []
    for target in range(z.shape[1]):
        residual, variance = (one[test] for one in point.left_out([test], target))
        latent = np.maximum(variance - half.theta[-1], 0.0)
        losses.append(log_losses(model.z[test, target], -residual, latent))
    return np.asarray(np.sum(losses, axis=0))
