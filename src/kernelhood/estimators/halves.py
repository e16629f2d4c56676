"""Which terms to use, and how large logits are, judged by halves of the rows.

Weights that are learned from all rows fit these better than others. With many terms that decides:
each half is predicted by weights and rows of the other half instead.
"""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.estimators.model_choice import Fit
from kernelhood.kernels.terms import TermBank
from kernelhood.likelihoods import log_losses, settled_logits
from kernelhood.solvers.gaussian import Level, Model, Point

#: So many rows are enough to judge by; fewer do not tell.
_MOST_ROWS, _FEWEST_ROWS = 900, 80
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
    if n > _MOST_ROWS:
        some = np.arange(0, n, -(-n // _MOST_ROWS))
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
    if len(sets) == 1 or len(model.z) < _FEWEST_ROWS:
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
    model: Model, sets: list[Flags], event: Indices, fit: Fit, tol: float
) -> tuple[Flags, float]:
    """Return the terms, and the factor of the weights, by which halves of labels do best.

    The evidence of labels is a bound, which is loose for large logits: its weights are too small.
    All terms and weights as they are give way only to what is better by a standard error.

    Parameters
    ----------
    model, sets, event, fit, tol
        As `best_terms` takes them.
    """
    if len(model.z) < _FEWEST_ROWS:
        return sets[0], 1.0
    small, halves = _halves(model, event)
    losses = np.empty((len(sets), len(FACTORS), len(small.z)))
    for kept, loss in zip(sets, losses, strict=True):
        own = with_terms(small, kept)
        for train, test in (halves, halves[::-1]):
            part = own.take(train)
            theta = fit(part, part.start(), 10.0 * tol, 100).point.theta
            for place, factor in enumerate(FACTORS):
                scaled = np.append(factor * theta[:-1], theta[-1])
                loss[place, test] = _predicted_losses(
                    own, settled_logits(part, scaled), train, test
                )
    best = losses.reshape(-1, losses.shape[2])
    number = int(best.mean(axis=1).argmin())
    gain = losses[0, 0] - best[number]
    if gain.mean() <= gain.std() / np.sqrt(len(gain)):  # chance would do as much
        number = 0
    place, factor = divmod(number, len(FACTORS))
    return sets[place], FACTORS[factor]


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
