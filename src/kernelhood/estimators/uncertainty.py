"""Regression with intervals that hold what they promise, from rows that `fit` holds out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernelhood._typing import Array, Indices
from kernelhood.estimators.calibration import ConformalErrors, HeldOut
from kernelhood.estimators.data import Pair, TaskProblem, TaskSolution
from kernelhood.estimators.functions import described
from kernelhood.estimators.reading import TaskRows
from kernelhood.estimators.targets import LossChoice, MultiTaskRegressor
from kernelhood.losses import Quantile
from kernelhood.parallel import few_blas_threads

_SEED = 0


class CalibratedRegressor(MultiTaskRegressor):
    """The part of a regressor that holds out rows and learns from them how far it may be wrong.

    Parameters
    ----------
    calibration : float, optional
        The share of every task's rows that `fit` holds out for `predict_interval`, such as 0.2.
        They are drawn at random, the same ones in every fit, and take no other part in it. By
        default none are, and there are no intervals.
    """

    _parameter_constraints: dict[str, Any] = {
        "calibration": [Interval(Real, 0, 1, closed="neither"), None],
    }

    calibration: float | None

    def _fit(
        self, X: Any, y: Any, task: Any, sample_weight: Any, first: Sequence[Any] | None = None
    ) -> Self:
        self._conformal: ConformalErrors | None = None
        super()._fit(X, y, task, sample_weight, first)
        if self.calibration is not None:
            self._learn_errors(*self._kept_out)
            del self._kept_out
        return self

    def _pose(self, points: Any, tasks: list[TaskRows], sample_weight: Any) -> list[TaskProblem]:
        if self.calibration is None:
            return super()._pose(points, tasks, sample_weight)
        weight = _check_sample_weight(
            sample_weight, points, dtype=np.float64, ensure_non_negative=True
        )
        rng, train, held = np.random.default_rng(_SEED), [], []
        for one in tasks:
            counted = np.flatnonzero(weight[one.rows] > 0.0)
            out = np.zeros(len(one.rows), dtype=np.bool_)
            out[drawn(counted, self.calibration, rng)] = True
            train.append(TaskRows(one.name, one.rows[~out], one.y[~out]))
            held.append(TaskRows(one.name, one.rows[out], one.y[out]))
        problems = super()._pose(points, train, sample_weight)
        if not any(len(one.rows) for one in held):
            raise ValueError(
                f"calibration={self.calibration:g} holds out no row of any task, with "
                f"n_samples={points.shape[0]}: raise it, or leave it out."
            )
        self._kept_out = points, held, weight, train
        return problems

    def _learn_errors(
        self, points: Any, held: list[TaskRows], weight: Array, train: list[TaskRows]
    ) -> None:
        """Keep the errors at the rows that were held out."""
        found = []
        for number, (one, seen) in enumerate(zip(held, train, strict=True)):
            errors = np.zeros(0)
            if len(one.rows):
                values = self._decided(self._functions(points[one.rows], number), number)
                errors = np.abs(one.y - values)
            times = weight[seen.rows]
            mean = np.average(seen.y, weights=times)
            variance = float(np.average((seen.y - mean) ** 2, weights=times))
            found.append(HeldOut(errors, weight[one.rows], variance, float(times.sum())))
        self._conformal = ConformalErrors(list(self.tasks_), found)

    def predict_interval(
        self, X: Any, *, task: Any = None, coverage: float = 0.9, task_features: Any = None
    ) -> Array:
        """Return an interval around every prediction that holds its target as often as asked.

        The interval reaches as far as the errors at rows that `fit` held out (`calibration`): those
        of the row's task, completed by those of all tasks where it has few. A task that was not
        seen in `fit` has those of all tasks. The promise is kept on average over rows that are
        drawn as those of `fit` were, not for every single point, and not after a drift.

        Parameters
        ----------
        X, task, task_features
            As in `predict`.
        coverage : float
            How often the target should lie in the interval, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2), or (n_samples, n_tasks, 2) after a fit with a 2-D y
            The lower and the upper end.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 1))
        >>> y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=200)
        >>> model = kh.MTONMKLRegressor(loss="squared", calibration=0.3).fit(X[:150], y[:150])
        >>> ends = model.predict_interval(X[150:], coverage=0.8)
        >>> ends.shape, bool(np.mean((ends[:, 0] <= y[150:]) & (y[150:] <= ends[:, 1])) > 0.7)
        ((50, 2), True)
        """
        check_is_fitted(self)
        if not isinstance(coverage, Real) or not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, both excluded: got {coverage!r}.")
        if self._conformal is None:
            raise ValueError(
                "predict_interval needs rows that fit has held out: set calibration, for example "
                "to 0.2, and fit again."
            )
        self._conformal.check(coverage)
        predicted = self._predict_with(X, task, task_features)
        widths = self._half_widths(X, task, predicted, float(coverage))
        return np.stack([predicted - widths, predicted + widths], axis=-1)

    def _predict_with(self, X: Any, task: Any, task_features: Any) -> Array:
        """Return the predictions, with what is said of new tasks where something is."""
        known = {} if task_features is None else {"task_features": task_features}
        return self.predict(X, task=task, **known)

    def _half_widths(self, X: Any, task: Any, predicted: Array, coverage: float) -> Array:
        """Return how far the interval of each prediction reaches."""
        assert self._conformal is not None
        if predicted.ndim == 2:
            by_task = [self._conformal.half_width(name, coverage) for name in self.tasks_]
            return np.broadcast_to(by_task, predicted.shape)
        labels = self._read_points(X, task, reset=False)[1]
        if labels is None:
            return np.full(len(predicted), self._conformal.half_width(self.tasks_[0], coverage))
        names = labels.tolist()
        width = {name: self._conformal.half_width(name, coverage) for name in dict.fromkeys(names)}
        return np.array([width[name] for name in names])


def drawn(rows: Indices, share: float, rng: np.random.Generator) -> Indices:
    """Return a share of some rows, drawn at random; at least one of them is left.

    The last one is drawn with the probability that is left, so that small tasks have their share on
    average.
    """
    wanted = share * len(rows)
    number = int(wanted) + int(rng.random() < wanted - int(wanted))
    return rng.permutation(rows)[: min(number, len(rows) - 1)]


class QuantilePath(LossChoice):
    """The part of a regressor that predicts several quantiles."""

    unseen_task: str

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        # What solvers keep for other models holds kernel matrices.
        self._problems = [replace(one, kept={}, carry=None) for one in problems]
        self._at_level: dict[float, Self] = {}

    def predict_quantiles(
        self,
        X: Any,
        *,
        task: Any = None,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        task_features: Any = None,
    ) -> Array:
        """Return several quantiles of every row's target, which never cross.

        For each level the model is fitted with the quantile loss and otherwise the same parameters,
        to the rows that `fit` has learned from. The kernels are evaluated once, each fit starts
        from the solution of the level below it, and all are kept until the next `fit`, so that only
        the first call takes time. Where the functions of two levels cross, their values are
        exchanged, which never makes the quantiles worse. What `adapt` has learned is not in them.

        Parameters
        ----------
        X, task, task_features
            As in `predict`.
        quantiles : sequence of float
            Levels between 0 and 1, in ascending order.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles), or (n_samples, n_tasks, n_quantiles) after a fit
        with a 2-D y
            The values of the levels, ascending in the last axis.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(100, 1))
        >>> model = kh.MTONMKLRegressor().fit(X, X[:, 0] + rng.normal(size=100))
        >>> values = model.predict_quantiles(X[:3], quantiles=[0.1, 0.5, 0.9])
        >>> values.shape, bool(np.all(np.diff(values, axis=1) >= 0.0))
        ((3, 3), True)
        """
        check_is_fitted(self)
        levels = checked_levels(quantiles)
        known = {} if task_features is None else {"task_features": task_features}
        # What is wrong with these is said before the work, and once for all levels.
        labels = self._read_points(X, task, reset=False)[1]
        if labels is not None:
            with described(task_features):
                self._check_tasks(labels, self.tasks_)
        self._fit_levels(levels)
        values = [self._at_level[level].predict(X, task=task, **known) for level in levels]
        return np.sort(np.stack(values, axis=-1), axis=-1)

    def _fit_levels(self, levels: list[float]) -> None:
        """Fit the levels that are not there yet, from the lowest to the highest."""
        missing = [level for level in levels if level not in self._at_level]
        if not missing:
            return
        if not self._problems:
            known = ", ".join(f"{level:g}" for level in sorted(self._at_level)) or "none"
            raise ValueError(
                f"quantiles={missing} were not fitted before the model was saved, which left its "
                f"training rows behind; those that were are {known}."
            )
        with few_blas_threads(max(len(one.rows) for one in self._problems)):
            kernels: Any = self._evaluate(self._bank, self._problems)
            solved: list[TaskSolution] | None = None
            for level in missing:
                problems = [self._at(one, level) for one in self._problems]
                model = self._bare_copy(level)
                if solved is not None:
                    problems = model._restarted(kernels, problems, solved)
                solved = model._solve_tasks(kernels, problems)
                model._store(problems, solved)
                model._report(solved)
                model._problems = []
                self._at_level[level] = model

    def _bare_copy(self, level: float) -> Self:
        """Return the model with the quantile loss, and nothing of its own to keep."""
        model = copy.copy(self)
        model.loss, model.quantile = "quantile", level
        model.unseen_task = "shared"  # the model itself has refused or named unseen tasks
        return model

    def _at(self, problem: TaskProblem, level: float) -> TaskProblem:
        """Return a task with the loss of a level."""
        cost = self.C * problem.sample_weight
        pair = Pair.whole(Quantile(level).box(problem.loss.target, cost))
        return replace(problem, pairs=[pair], start=None, together=None, kept={})


def checked_levels(quantiles: Sequence[float]) -> list[float]:
    """Return levels as numbers, or raise where they are none, or in another order."""
    levels = np.asarray(quantiles, dtype=np.float64)
    inside = levels.ndim == 1 and len(levels) > 0 and bool(np.all((levels > 0.0) & (levels < 1.0)))
    if not inside or not np.all(np.diff(levels) > 0.0):
        raise ValueError(
            "quantiles must be levels between 0 and 1 in ascending order, such as [0.1, 0.5, 0.9]: "
            f"got {quantiles!r}."
        )
    found: list[float] = levels.tolist()
    return found


_ROWS_AT_ONCE = 2_048
