"""How far predictions may be wrong, by what they were at rows and tasks that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import Array, Flags, Indices
from kernelhood.estimators.additive import AdditiveFunction, Scaled
from kernelhood.estimators.landmark_function import Learned
from kernelhood.estimators.multilevel import MultilevelModel
from kernelhood.estimators.training_rows import Units
from kernelhood.solvers.gaussian import Level, Model, Point, maximise_evidence

#: Values of the model's own distribution beside the scores, and how many scores they count for.
_NODES, _WEIGHT = 199, 10.0
#: Degrees of freedom of that distribution, beyond which it is a normal one.
_MOST_DEGREES = 200
#: With more rows than this the weights of the fit serve for left-out rows, too.
_LEARNED_AGAIN = 1_500
#: How often weights are learned without some rows, from where, how close and in how many steps.
_FOLDS, _REVIVED, _CLOSE, _STEPS = 5, 1e-4, 0.01, 8


@dataclass(frozen=True, eq=False)
class Scores:
    """Errors of left-out rows, in the standard deviations that the model expects.

    If the model is right they are standard normal. Quantiles are those of the scores and of a few
    values of Student's t distribution, which decide if there are few scores.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The scores.
    task : ndarray of int, shape (n,)
        The task of each, from 0.
    by_task : bool
        Whether whole tasks were left out. They count the same then, whatever their size.
    """

    values: Array
    task: Indices
    by_task: bool = False

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return quantiles of the scores of a new row, or of a row of a new task.

        Parameters
        ----------
        levels : sequence of float
            Between 0 and 1.
        """
        count = np.bincount(self.task)
        units = len(count) if self.by_task else len(self.values)
        weight = 1.0 / count[self.task] if self.by_task else np.ones(len(self.values))
        nodes = np.arange(1, _NODES + 1) / (_NODES + 1.0)
        model = student_t.ppf(nodes, min(max(units - 1, 2), _MOST_DEGREES))
        values = np.concatenate([self.values if self.by_task else self._even, model])
        weight = np.concatenate([weight * units / weight.sum(), np.full(_NODES, _WEIGHT / _NODES)])
        order = np.argsort(values, kind="stable")
        share = np.cumsum(weight[order]) - 0.5 * weight[order]
        return np.asarray(np.interp(levels, share / weight.sum(), values[order]))

    @property
    def _even(self) -> Array:
        """The scores as if all tasks had errors of the same size."""
        return np.asarray(self.values / self.sizes[self.task])

    @property
    def sizes(self) -> Array:
        """How large the errors of every task are beside those of all, shrunk towards 1.

        The shrinkage is that of a random-effects model of the absolute scores.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> task = np.repeat([0, 1, 2], 200)
        >>> scores = Scores(rng.normal(size=600) * np.array([1.0, 1.0, 4.0])[task], task)
        >>> sizes = scores.sizes
        >>> bool(sizes[2] > 3.0 * max(sizes[0], sizes[1]))
        True
        """
        size, count = np.abs(self.values), np.bincount(self.task).astype(np.float64)
        overall, n = float(size.mean()), float(len(size))
        mean = np.bincount(self.task, size) / count
        freedom = n - len(count)
        if overall == 0.0 or freedom < 1.0 or len(count) < 2:
            return np.ones(len(count))
        within = float(np.sum((size - mean[self.task]) ** 2)) / freedom
        excess = float(count @ (mean - overall) ** 2) - (len(count) - 1) * within
        between = max(excess, 0.0) / (n - float(count @ count) / n)
        if between == 0.0:
            return np.ones(len(count))
        found = (between * count * mean + within * overall) / (between * count + within)
        return np.asarray(found / overall)


def checked_levels(quantiles: Sequence[float]) -> list[float]:
    """Return levels as numbers, or raise if they are not between 0 and 1, or not ascending.

    Parameters
    ----------
    quantiles : sequence of float
        As a user gave them.
    """
    levels = np.asarray(quantiles, dtype=np.float64)
    inside = levels.ndim == 1 and len(levels) > 0 and bool(np.all((levels > 0.0) & (levels < 1.0)))
    if not inside or not np.all(np.diff(levels) > 0.0):
        raise ValueError(
            "quantiles must be levels between 0 and 1 in ascending order, such as [0.1, 0.5, 0.9]: "
            f"got {quantiles!r}."
        )
    found: list[float] = levels.tolist()
    return found


class IntervalModel(MultilevelModel):
    """Intervals and quantiles by the errors of left-out rows."""

    _units: Units
    _row_noise: Array
    noise_: float
    _known_scores: dict[bool, Scores]

    def _store(self, learned: Learned, names: list[Any], E: Array) -> None:
        self._known_scores = {}
        super()._store(learned, names, E)

    def predict_interval(self, X: Any, *, task: Any = None, coverage: float = 0.9) -> Array:
        """Return an interval for the target of every row.

        Standard deviations are multiplied by quantiles of the errors of left-out rows, so that the
        coverage is right on average, for new rows like those of `fit`, even if the model is wrong
        about the noise. Tasks whose errors are larger get wider intervals. For tasks that were not
        seen in `fit`, whole tasks are left out. Up to 1,500 rows, the errors of each of
        five folds use variances learned from the other four, once, when they are first needed.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        coverage : float
            How often the target should be inside, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2), or (n_samples, n_tasks, 2) after a fit with a 2-D y
            The lower and the upper end.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage!r} must be between 0 and 1, such as 0.9.")
        half = 0.5 * (1.0 - coverage)
        return self.predict_quantiles(X, task=task, quantiles=(half, 1.0 - half))

    def predict_quantiles(
        self, X: Any, *, task: Any = None, quantiles: Sequence[float] = (0.1, 0.5, 0.9)
    ) -> Array:
        """Return quantiles of the target of every row, by the errors of left-out rows.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        quantiles : sequence of float
            Levels between 0 and 1, ascending.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles), or (n_samples, n_tasks, n_quantiles) after a fit
        with a 2-D y
            Ascending in the last axis.
        """
        check_is_fitted(self)
        levels = checked_levels(quantiles)
        rows, places = self._places(X, task)
        mean = self._function.mean(rows, places)[:, 0]
        variance = self._function.variance(rows, places)[:, 0] + self._noise_variance_of_a_row
        own = places[self.levels_.index("own")]
        known = own >= 0
        steps = np.empty((len(mean), len(levels)))
        if known.any():
            scores = self._scores(by_task=False)
            steps[known] = scores.quantiles(levels) * scores.sizes[own[known], None]
        if not known.all():
            steps[~known] = self._scores(by_task=True).quantiles(levels)
        values = self._units.back(mean[:, None] + np.sqrt(variance)[:, None] * steps, None)
        if not self._is_wide:
            return values
        return values.reshape(len(self.tasks_), -1, len(levels)).transpose(1, 0, 2)

    @property
    def _noise_variance_of_a_row(self) -> float:
        """The variance of the noise of a row of average weight, as the model sees targets."""
        return float(self.noise_ / self._units.size) ** 2

    def _log_scores(self, mean: Array, variance: Array, rows: Indices) -> Array:
        variance = variance[:, 0] + self._noise_variance_of_a_row * self._row_noise[rows]
        z = self._function.targets[rows, 0]
        return np.asarray(norm.logpdf(z, mean[:, 0], np.sqrt(variance)))

    def _scores(self, *, by_task: bool) -> Scores:
        """Return the standardised errors of left-out rows or tasks."""
        if not hasattr(self, "_known_scores"):  # after loading
            self._known_scores = {}
        known = self._known_scores
        if by_task not in known:
            known[by_task] = self._new_scores(by_task)
        return known[by_task]

    def _new_scores(self, by_task: bool) -> Scores:
        function, noise = self._function, self._noise_variance_of_a_row
        own = function.groups[self.levels_.index("own")]
        groups = self._left_out_groups("tasks") if by_task else self._events_left_out()
        if len(own) <= _LEARNED_AGAIN and len(groups) >= _FOLDS:
            residual, variance = learned_apart(function, self._candidates, self._tau, noise, groups)
            return Scores(residual / np.sqrt(variance), own, by_task)
        mean, variance = (one[:, 0] for one in function.left_out(groups))
        residual = function.targets[:, 0] - mean
        # Weights that were learned from the same rows make their errors a little too small.
        n, learned = len(residual), 1 + int(np.count_nonzero(self.weights_))
        spread = np.sqrt((variance + noise * self._row_noise) * max(1.0 - learned / n, 0.5))
        return Scores(residual / spread, own, by_task)


def learned_apart(
    function: AdditiveFunction,
    candidates: Flags,
    tau: float,
    noise: float,
    groups: Sequence[Indices],
) -> tuple[Array, Array]:
    """Return residuals of left-out rows, and variances, by weights that other rows teach.

    Weights that a row has taught make its error too small, by much if there are few rows. So they
    are learned again from all but a fifth of the groups, starting from those of the fit.

    Parameters
    ----------
    function : AdditiveFunction
        Fitted.
    candidates : ndarray of bool, shape (n_levels, n_terms)
        The terms that could have had a weight.
    tau : float
        Scale of the prior.
    noise : float
        The variance of the noise of a row of average weight.
    groups : sequence of ndarray of int
        All rows; those of one group are left out together.
    """
    terms = Scaled.at(function.scaled.bank, function.E)[1]
    pairs = zip(function.groups, candidates, strict=True)
    levels = [Level(own, flags) for own, flags in pairs]
    model = Model(terms, levels, function.targets, function.noise / noise, tau)
    start = np.maximum(model.joined(function.weights, noise), _REVIVED)
    residual, variance = np.empty(len(function.E)), np.empty(len(function.E))
    for fold in range(_FOLDS):
        left = groups[fold::_FOLDS]
        out = np.concatenate(left)
        rest = model.take(np.setdiff1d(np.arange(len(residual)), out))
        theta = maximise_evidence(rest, start, tol=_CLOSE, max_iter=_STEPS)[0].theta
        found = Point(model, theta).left_out(left)
        residual[out], variance[out] = found[0][out], found[1][out]
    return residual, variance
