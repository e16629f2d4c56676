"""Decision values as probabilities: one slope for all, a shift for each unit, shrunk to a centre.

    p = 1 / (1 + exp(-(slope f + centre_c + shift_u))),    shift_u ~ N(0, spread^2)

A unit is a task, or one pair of its classes; units with the same centre are alike. Slope and
centres are free, up to a prior that only decides what the data leave open. The spread is the one
under which the data are most likely, slope, centres and shifts being integrated out by Laplace's
method: tasks that do not differ by more than chance are given no shift at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from kernelhood._typing import Array, Flags, Indices

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
    >>> from kernelhood.calibration import Sigmoid
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
