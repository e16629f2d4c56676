"""Decision values as probabilities: one slope for all, a shift for each unit, shrunk to a centre.

    p = 1 / (1 + exp(-(slope f + centre_c + shift_u))),    shift_u ~ N(0, spread^2)

A unit is a task, or one pair of its classes; units with the same centre are alike. Slope and
centres are free, up to a prior that only decides what the data leave open. The spread is the one
under which the data are most likely, slope, centres and shifts being integrated out by Laplace's
method: tasks that do not differ by more than chance are given no shift at all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from kernelhood._typing import AnyArray, Array, Flags, Indices

_OPEN = 1e-6
_NARROWEST, _WIDEST = np.log(0.02), np.log(10.0)
_FLATTEST = 1e-6
_MAX_STEPS = 100
_SMALL = 1e-11


class Sigmoid(NamedTuple):
    """The map from decision values to probabilities.

    Attributes
    ----------
    slope : float
        Of all units. Where values say nothing it is next to 0, but positive: probabilities keep
        the order of values.
    centres : ndarray of shape (n_centres,)
        The shift of a unit that nothing is known of.
    shifts : ndarray of shape (n_units,)
        What each unit adds to its centre.
    spread : float
        Standard deviation of the shifts before the data are seen; 0 where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.estimators.calibration import Sigmoid
    >>> sigmoid = Sigmoid(2.0, np.array([0.5]), np.array([-0.5, 0.5]), spread=0.5)
    >>> sigmoid.log_odds(np.array([0.0, 1.0]), centre=0, unit=1).tolist()
    [1.0, 3.0]
    >>> sigmoid.log_odds(np.array([0.0, 1.0]), centre=0, unit=None).tolist()
    [0.5, 2.5]
    """

    slope: float
    centres: Array
    shifts: Array
    spread: float

    def log_odds(self, values: Array, centre: int, unit: int | None) -> Array:
        """Return the log-odds of the positive class.

        Parameters
        ----------
        values : ndarray of shape (n_samples,)
            Decision values of one unit.
        centre : int
            Its centre.
        unit : int or None
            The unit, None for one that was not seen.
        """
        shift = 0.0 if unit is None else self.shifts[unit]
        return np.asarray(self.slope * values + self.centres[centre] + shift)


def fit_sigmoid(
    values: Array, positive: Flags, weight: Array, unit: Indices, centre_of: Indices
) -> Sigmoid:
    """Return the sigmoid of all units.

    The targets are Platt's, (n+ + 1) / (n+ + 2) and 1 / (n- + 2), with the samples of all units of
    a centre: values that separate the classes leave the slope finite.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Decision values at samples that had no part in them.
    positive : ndarray of bool, shape (n_samples,)
        Whether each is of the positive class.
    weight : ndarray of shape (n_samples,)
        How often each counts.
    unit : ndarray of int, shape (n_samples,)
        The unit of each.
    centre_of : ndarray of int, shape (n_units,)
        The centre of every unit.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    >>> positive = np.array([False, False, True, False, True, True])
    >>> only = np.zeros(6, dtype=int)
    >>> found = fit_sigmoid(values, positive, np.ones(6), only, only[:1])
    >>> expit(found.log_odds(np.array([-2.0, 0.0, 2.0]), 0, 0)).round(2).tolist()
    [0.22, 0.5, 0.78]
    """
    size = float(np.sqrt(np.average(values**2, weights=weight))) if len(values) else 0.0
    size = size if size > 0.0 else 1.0
    target = _smoothed(positive, weight, centre_of[unit])
    found = _fit_spread(_Scores(values / size, target, weight, unit, centre_of))
    if found.slope < _FLATTEST:  # the values say nothing
        found = _fit_spread(_Scores(np.zeros(len(values)), target, weight, unit, centre_of))
    return found._replace(slope=max(found.slope, _FLATTEST) / size)


def _smoothed(positive: Flags, weight: Array, centre: Indices) -> Array:
    """Return Platt's targets, the classes counted for each centre."""
    n_centres = int(centre.max(initial=0)) + 1
    many = np.bincount(centre, weight * positive, n_centres)[centre]
    few = np.bincount(centre, weight * ~positive, n_centres)[centre]
    return np.where(positive, (many + 1.0) / (many + 2.0), 1.0 / (few + 2.0))


class _Scores(NamedTuple):
    """What a sigmoid is fitted to."""

    values: Array
    target: Array
    weight: Array
    unit: Indices
    centre_of: Indices

    @property
    def n_centres(self) -> int:
        return int(self.centre_of.max(initial=0)) + 1

    def logit(self, fixed: Array, shifts: Array) -> Array:
        """Return the log-odds; `fixed` holds the slope and the centres."""
        at = self.unit
        return np.asarray(fixed[0] * self.values + fixed[1:][self.centre_of[at]] + shifts[at])

    def by_unit(self, amounts: Array) -> Array:
        return np.asarray(np.bincount(self.unit, amounts, len(self.centre_of)), dtype=np.float64)

    def by_centre(self, amounts: Array) -> Array:
        """Return sums over the units of each centre."""
        return np.asarray(np.bincount(self.centre_of, amounts, self.n_centres), dtype=np.float64)


class _Fit(NamedTuple):
    """Slope and centres, shifts, and minus the logarithm of the likelihood under a spread."""

    fixed: Array
    shifts: Array
    cost: float


def _fit_spread(scores: _Scores) -> Sigmoid:
    """Return the sigmoid with the most likely spread."""
    plain = _fit(scores, 0.0)
    if len(scores.centre_of) == scores.n_centres:  # a shift of its own would be a centre again
        return Sigmoid(float(plain.fixed[0]), plain.fixed[1:], plain.shifts, 0.0)
    best = minimize_scalar(
        lambda log_spread: _fit(scores, float(np.exp(log_spread)), plain.fixed).cost,
        bounds=(_NARROWEST, _WIDEST),
        method="bounded",
        options={"xatol": 1e-3},
    )
    spread = float(np.exp(best.x)) if best.fun < plain.cost else 0.0
    found = _fit(scores, spread, plain.fixed) if spread > 0.0 else plain
    return Sigmoid(float(found.fixed[0]), found.fixed[1:], found.shifts, spread)


def _fit(scores: _Scores, spread: float, start: Array | None = None) -> _Fit:
    """Minimise the penalised loss by Newton's method, and price the spread."""
    fixed = np.zeros(1 + scores.n_centres) if start is None else start.copy()
    shifts = np.zeros(len(scores.centre_of))
    loss = _loss(scores, fixed, shifts, spread)
    for _ in range(_MAX_STEPS):
        step, own, promise, _ = _newton(scores, fixed, shifts, spread)
        length, new = 1.0, loss
        while length > _SMALL:
            new = _loss(scores, fixed + length * step, shifts + length * own, spread)
            if new <= loss - 1e-4 * length * promise:
                break
            length *= 0.5
        else:
            break
        fixed, shifts, loss = fixed + length * step, shifts + length * own, new
        if promise <= _SMALL * (1.0 + loss):
            break
    half_log_det = _newton(scores, fixed, shifts, spread)[3]
    return _Fit(fixed, shifts, loss + half_log_det)


def _loss(scores: _Scores, fixed: Array, shifts: Array, spread: float) -> float:
    """Return the cross-entropy plus the prices of fixed parts and shifts."""
    logit = scores.logit(fixed, shifts)
    entropy = float(scores.weight @ (np.logaddexp(0.0, logit) - scores.target * logit))
    price = 0.5 * float(shifts @ shifts) / spread**2 if spread > 0.0 else 0.0
    return entropy + price + 0.5 * _OPEN * float(fixed @ fixed)


def _newton(
    scores: _Scores, fixed: Array, shifts: Array, spread: float
) -> tuple[Array, Array, float, float]:
    """Return Newton's step of both parts, its promise, and Laplace's half log-determinant.

    The Hessian of the shifts is diagonal: they are eliminated, which leaves slope and centres. The
    determinant is that of the Hessian times ``spread ** (2 n_units)``, which is 1 for the shifts
    where they have no room.
    """
    p = expit(scores.logit(fixed, shifts))
    slack, bend = scores.weight * (p - scores.target), scores.weight * p * (1.0 - p)
    by_slope, by_unit = scores.by_unit(bend * scores.values), scores.by_unit(bend)
    H = np.diag(np.r_[bend @ scores.values**2, scores.by_centre(by_unit)] + _OPEN)
    H[0, 1:] = H[1:, 0] = scores.by_centre(by_slope)
    unit_slope = scores.by_unit(slack)
    slope = np.r_[slack @ scores.values, scores.by_centre(unit_slope)] + _OPEN * fixed
    own, half_log = np.zeros_like(shifts), 0.0
    if spread == 0.0:
        step = -np.linalg.solve(H, slope)
    else:
        across = np.zeros((len(shifts), len(fixed)))
        across[:, 0] = by_slope
        across[np.arange(len(shifts)), 1 + scores.centre_of] = by_unit
        curve, unit_slope = by_unit + spread**-2, unit_slope + shifts * spread**-2
        H = H - across.T @ (across / curve[:, None])
        step = -np.linalg.solve(H, slope - across.T @ (unit_slope / curve))
        own = -(unit_slope + across @ step) / curve
        half_log = 0.5 * float(np.sum(np.log1p(by_unit * spread**2)))
    promise = -float(slope @ step + unit_slope @ own)
    return step, own, promise, half_log + 0.5 * float(np.linalg.slogdet(H)[1])


# One probability for each class from those of its pairs.
#
# The second method of Wu, Lin and Weng, Probability Estimates for Multi-class Classification by
# Pairwise Coupling, JMLR 5 (2004): with r_ij the probability of class i where only i and j are
# possible, p minimises
#
#     sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2,    sum_i p_i = 1,
#
# whose solution is not negative and solves a linear system.


_SURE = 1e-7


def couple_pairs(second: Array, n_classes: int) -> Array:
    """Return the probability of every class from those of its pairs.

    Parameters
    ----------
    second : ndarray of shape (n_samples, n_pairs)
        The probability of the second class of each pair, in the order (0, 1), (0, 2), ..., (1, 2).
    n_classes : int
        How many classes there are, at least 2.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> couple_pairs(np.array([[0.2], [0.5]]), 2).tolist()
    [[0.8, 0.2], [0.5, 0.5]]
    >>> couple_pairs(np.array([[0.5, 0.5, 0.5]]), 3).round(3).tolist()
    [[0.333, 0.333, 0.333]]
    """
    if n_classes == 2:
        return np.column_stack([1.0 - second[:, 0], second[:, 0]])
    sure = np.clip(second, _SURE, 1.0 - _SURE)
    system = np.zeros((len(second), n_classes + 1, n_classes + 1))
    system[:, :-1, -1] = system[:, -1, :-1] = 1.0
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r_ji = sure[:, pair]
        r_ij = 1.0 - r_ji
        system[:, i, i] += r_ji**2
        system[:, j, j] += r_ij**2
        system[:, i, j] = system[:, j, i] = -r_ji * r_ij
    right = np.zeros((len(second), n_classes + 1, 1))
    right[:, -1] = 1.0
    # Rounding alone makes them negative.
    found = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


N_FOLDS = 5


def deal_folds(
    row: Indices, task: Indices, code: Indices, kept: Indices, n_folds: int = N_FOLDS
) -> list[Flags]:
    """Return which samples each fold leaves out.

    Rows that are alike, with the same classes in the same tasks, are dealt out in turn, so that
    folds have their share of every class of every task. A row that is in several tasks is left out
    of all at once.

    Parameters
    ----------
    row, task, code : ndarray of int, shape (n_samples,)
        The row of X, the task and the class of each sample.
    kept : ndarray of int, shape (n_samples,)
        Labels of which no fold leaves out all samples, such as the task: it keeps its first one.
    n_folds : int
        Number of folds; fewer where there are not as many rows.

    Examples
    --------
    >>> import numpy as np
    >>> row, one = np.arange(5), np.zeros(5, dtype=int)
    >>> folds = deal_folds(row, one, np.array([0, 0, 0, 1, 1]), one, n_folds=2)
    >>> [np.flatnonzero(left_out).tolist() for left_out in folds]
    [[0, 2, 4], [1, 3]]
    """
    rows, place = np.unique(row, return_inverse=True)
    signatures: list[list[tuple[int, int]]] = [[] for _ in rows]
    for at, own, label in zip(place.tolist(), task.tolist(), code.tolist(), strict=True):
        signatures[at].append((own, label))
    order = sorted(range(len(rows)), key=lambda at: sorted(signatures[at]))
    fold = np.empty(len(rows), dtype=np.intp)
    fold[order] = np.arange(len(rows)) % n_folds
    found = [_leave_some(fold[place] == number, kept) for number in range(n_folds)]
    return [left_out for left_out in found if left_out.any()]


def _leave_some(left_out: Flags, kept: Indices) -> Flags:
    """Return a fold that leaves a sample of every label to train with."""
    labels, first = np.unique(kept, return_index=True)
    trained: AnyArray = np.isin(labels, kept[~left_out])
    left_out[first[~trained]] = False
    return left_out


# Split-conformal intervals for many tasks, from the errors at rows that were held out.
#
# An interval of coverage p reaches as far from the prediction as a share p of the errors that are
# held out. A task with few of them says little about its own tail, so that its errors are completed
# by those of all tasks: each task's distribution counts the same there, and all of them together as
# much as `_PRIOR` errors. Errors are compared in units of each task's spread of training targets,
# which those held out have no part in.


#: How many errors those of all tasks count for in the distribution of a single one.
_PRIOR = 20.0
#: How many rows the mean spread of all tasks counts for in that of a single one.
_PRIOR_ROWS = 2.0


@dataclass(frozen=True)
class HeldOut:
    """The errors of one task at its rows that were held out.

    Attributes
    ----------
    errors : ndarray of shape (n_held,)
        Absolute errors.
    weight : ndarray of shape (n_held,)
        How often each counts.
    variance : float
        The variance of the task's training targets.
    n_rows : float
        How many these are.
    """

    errors: Array
    weight: Array
    variance: float
    n_rows: float


@dataclass(frozen=True)
class ConformalErrors:
    """The errors of all tasks.

    Attributes
    ----------
    names : list
        The tasks.
    held : sequence of HeldOut
        Their errors.

    Examples
    --------
    >>> held = HeldOut(np.arange(1.0, 100.0), np.ones(99), 1.0, 50.0)
    >>> errors = ConformalErrors(["only"], [held])
    >>> round(errors.half_width("only", 0.9), 6), round(errors.half_width("another", 0.9), 6)
    (90.0, 90.0)
    """

    names: list[Hashable]
    held: Sequence[HeldOut]

    @property
    def n_errors(self) -> int:
        """The number of all errors."""
        return sum(len(one.errors) for one in self.held)

    @cached_property
    def _variance(self) -> float:
        """The mean variance of the tasks' targets, or 1 where they do not vary."""
        rows = np.array([one.n_rows for one in self.held])
        mean = float(np.average([one.variance for one in self.held], weights=rows))
        return mean if mean > 0.0 else 1.0

    def _unit(self, one: HeldOut | None) -> float:
        """Return what the errors of a task are measured in."""
        if one is None:
            return float(np.sqrt(self._variance))
        total = one.n_rows * one.variance + _PRIOR_ROWS * self._variance
        return float(np.sqrt(total / (one.n_rows + _PRIOR_ROWS)))

    @cached_property
    def _pool(self) -> tuple[Array, Array]:
        """The errors of all tasks in their units, and weights that sum to one, equal for tasks."""
        some = [one for one in self.held if len(one.errors)]
        values = [one.errors / self._unit(one) for one in some]
        weights = [one.weight / (one.weight.sum() * len(some)) for one in some]
        return np.concatenate(values), np.concatenate(weights)

    def check(self, coverage: float) -> None:
        """Raise where so few errors cannot promise the coverage."""
        needed = int(np.ceil(coverage / (1.0 - coverage)))
        if self.n_errors < needed:
            raise ValueError(
                f"coverage={coverage:g} needs at least {needed} rows that are held out, and there "
                f"are {self.n_errors}: ask for less, raise calibration, or fit with more rows."
            )

    def half_width(self, name: Hashable, coverage: float) -> float:
        """Return how far a task's interval reaches from its prediction.

        Parameters
        ----------
        name : hashable
            The task; one that is not among `names` has the errors of all tasks.
        coverage : float
            Between 0 and 1.
        """
        one = self.held[self.names.index(name)] if name in self.names else None
        (values, weights), own = self._pool, 0.0
        if one is not None and len(one.errors):
            own = float(one.weight.sum())
            values = np.concatenate([values, one.errors / self._unit(one)])
            weights = np.concatenate([_PRIOR * weights, one.weight])
        # The error to come is one more than those that are known.
        more = 1.0 / self.n_errors if own == 0.0 else 1.0 / (own + _PRIOR)
        most = self.n_errors / (self.n_errors + 1.0)
        level = min(coverage * (1.0 + more), max(most, coverage))
        return _quantile(values, weights, level) * self._unit(one)


def _quantile(values: Array, weights: Array, level: float) -> float:
    """Return the smallest value up to which a share `level` of the weights lies."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    place = np.searchsorted(total, level * total[-1] * (1.0 - 1e-12))
    return float(values[order[min(int(place), len(order) - 1)]])
