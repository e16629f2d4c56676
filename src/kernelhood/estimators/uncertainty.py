"""Regression with intervals that hold what they promise, from rows that `fit` holds out."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernelhood._typing import Array, Indices
from kernelhood.estimators.calibration import ConformalErrors, HeldOut
from kernelhood.estimators.data import Pair, TaskProblem, TaskSolution
from kernelhood.estimators.formulations import Evidence, Formulation, as_formulation
from kernelhood.estimators.functions import UNSEEN, RelatedTasks, described
from kernelhood.estimators.reading import TaskRows, rows_by_label
from kernelhood.estimators.targets import LossChoice, MultiTaskRegressor
from kernelhood.losses import Quantile, RidgeLoss
from kernelhood.parallel import few_blas_threads
from kernelhood.solvers.least_squares import Posterior

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
        With ``formulation="evidence"`` nothing is fitted: the quantiles are those of the Gaussian
        process.

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


class GaussianRegression(RelatedTasks, QuantilePath):
    """The part of a regressor that reads the squared loss as a Gaussian process.

    Attributes
    ----------
    noise_variance_ : ndarray of shape (n_tasks,)
        With ``formulation="evidence"``, the variance of the noise of every task, for a sample of
        weight 1 and in the squared units of the targets. Tasks that are solved together have one,
        in the units that the targets are solved in.
    """

    formulation: str | Formulation

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        self._posteriors: dict[int, Posterior] = {}
        if not isinstance(problems[0].loss, RidgeLoss):
            return
        scales = np.array([one.solution.noise_scale for one in solved])
        if self._is_gaussian:
            self._noise_scales = scales
            self.noise_variance_ = scales / self.C * self.target_scale_**2
        self._sample_noise = [
            scale / problem.loss.cost[np.flatnonzero(one.solution.v)]  # type: ignore[union-attr]
            for scale, problem, one in zip(scales, problems, solved, strict=True)
        ]

    @property
    def _is_gaussian(self) -> bool:
        return isinstance(as_formulation(self.formulation), Evidence)

    def predict(
        self, X: Any, *, task: Any = None, task_features: Any = None, return_std: bool = False
    ) -> Any:
        """Return the prediction for every row, and how sure it is.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        task_features : mapping of task to anything, optional
            What the relation should know of tasks that were not seen in `fit`: their group, their
            descriptor, their neighbours.
        return_std : bool
            Whether to return standard deviations, too; after a fit with
            ``formulation="evidence"``.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y
            The predictions.
        ndarray of the same shape
            With `return_std`, the standard deviation of a new target of weight 1 at each row, in
            the units of the targets. The noise is part of it, as it is for scikit-learn's
            `GaussianProcessRegressor` with a `WhiteKernel`; the square of what is left without it
            is ``std**2 - noise_variance_``. What is not known of weights and noise is not in it.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(40, 1))
        >>> y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
        >>> model = kh.MTONMKLRegressor(loss="squared", formulation="evidence").fit(X, y)
        >>> mean, std = model.predict([[0.0], [9.0]], return_std=True)
        >>> bool(0.2 < std[0] < 0.4), bool(std[1] > 2.0 * std[0])
        (True, True)
        """
        if return_std:
            self._check_posterior()
        mean = super().predict(X, task=task, task_features=task_features)
        if not return_std:
            return mean
        with described(task_features):
            return mean, self._spreads(X, task)

    def _check_posterior(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "noise_variance_"):
            raise ValueError(
                "return_std=True needs a Gaussian process: fit with loss='squared' and "
                f"formulation='evidence', got loss={self.loss!r}, "
                f"formulation={self.formulation!r}; or use predict_interval or predict_quantiles."
            )

    def _spreads(self, X: Any, task: Any) -> Array:
        """Return the standard deviation of a new target at every row."""
        points, labels = self._read_points(X, task, reset=False)
        if labels is None:
            found = [self._spread(points, name, t) for t, name in enumerate(self.tasks_)]
            return np.stack(found, axis=1) if self._y_is_wide else found[0]
        numbers = {name: number for number, name in enumerate(self.tasks_)}
        spreads = np.empty(points.shape[0])
        for label, rows in rows_by_label(labels).items():
            spreads[rows] = self._spread(points[rows], label, numbers.get(label, UNSEEN))
        return spreads

    def _spread(self, points: Any, label: Hashable, number: int) -> Array:
        """Return the standard deviation of a task's new targets."""
        if label in self._adapted:
            raise ValueError(
                f"return_std=True knows nothing of what task {label!r} learned by adapt: fit again "
                "with its rows."
            )
        coupled = self._couples(vars(self))
        rows = None
        if coupled:
            rows = self._matrices.rows(number) if number != UNSEEN else self._placed(label, points)
        weights = self.weights_[number] if number != UNSEEN else self._newcomer_weights(rows)
        groups = np.ones(1)
        if coupled and self._groups_of_intercepts == "task":
            groups = np.eye(len(self.tasks_))[number]
        posterior = self._posterior_of(number)
        variance = np.empty(points.shape[0])
        for begin in range(0, len(variance), _ROWS_AT_ONCE):
            some = points[begin : begin + _ROWS_AT_ONCE]
            cross = self._covariance(some, number, rows)
            prior = _diagonal(self._bank_of(max(number, 0)), some, weights)
            variance[begin : begin + _ROWS_AT_ONCE] = posterior.variance(cross, prior, groups)
        scale = float(self._units.scale[number])
        noise = self._noise_scales[number] / self.C
        return np.asarray(scale * np.sqrt(variance + noise))

    def _placed(self, label: Hashable, points: Any) -> Array | None:
        """Return how a task that was not seen is joined to the others."""
        if self._groups_of_intercepts == "task":
            raise ValueError(
                f"return_std=True cannot tell how far the intercept of task {label!r} may be from "
                "the others, which are free: fit with intercept='shrunk'."
            )
        return self._newcomer_rows(label, points)

    def _covariance(self, points: Any, number: int, rows: Array | None) -> Array:
        """Return the covariance of a task's function with the functions at the samples."""
        if not self._couples(vars(self)):
            support, bank = self.support_vectors_[number], self._bank_of(number)
            return bank.combine(points, support, self.weights_[number])
        found = np.zeros((points.shape[0], len(self._support_task)))
        for row, weights in zip(() if rows is None else rows, self._matrix_weights, strict=False):
            joined = np.flatnonzero(row[self._support_task])
            if len(joined) and np.any(weights):
                K = self._bank.combine(points, self._all_support[joined], weights)
                found[:, joined] += K * row[self._support_task[joined]]
        if number != UNSEEN and np.any(self._own_weights[number]):
            own = np.flatnonzero(self._support_task == number)
            support = self._all_support[own]
            found[:, own] += self._bank.combine(points, support, self._own_weights[number])
        return found

    def _posterior_of(self, number: int) -> Posterior:
        """Return the posterior of a task, or of all; it is kept, and left out of pickles."""
        coupled = self._couples(vars(self))
        key = 0 if coupled else number
        if key not in self._posteriors:
            self._posteriors[key] = self._joint_posterior() if coupled else self._own(number)
        return self._posteriors[key]

    def _own(self, number: int) -> Posterior:
        K = self._covariance(self.support_vectors_[number], number, None)
        return Posterior.of(K, self._sample_noise[number], np.array([0, len(K)]))

    def _joint_posterior(self) -> Posterior:
        ends = np.cumsum([0, *(len(support) for support in self.support_)])
        parts = [
            self._covariance(self._all_support[begin:end], t, self._matrices.rows(t))
            for t, (begin, end) in enumerate(pairwise(ends))
        ]
        free = self._groups_of_intercepts == "task"
        starts = ends if free else ends[[0, -1]]
        return Posterior.of(np.vstack(parts), np.concatenate(self._sample_noise), starts)

    def leave_one_out_residuals(self) -> list[Array]:
        """Return by how much each training target is missed by the fit to all other rows.

        Weights, noise and the units of the targets are those of the fit, intercepts are learned
        again; no fit is needed, only one inverse. Only for ``loss="squared"``.

        Returns
        -------
        list of ndarray
            For every task the target less its prediction, in the units of the targets, for the rows
            in ``support_``, which with this loss are all that the task was fitted to.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> X = np.linspace(0.0, 3.0, 20)[:, None]
        >>> model = kh.MTONMKLRegressor(loss="squared").fit(X, np.sin(X[:, 0]))
        >>> model.leave_one_out_residuals()[0].shape
        (20,)
        """
        check_is_fitted(self)
        if not hasattr(self, "_sample_noise"):
            raise ValueError(
                f"leave_one_out_residuals needs a fit with loss='squared', got loss={self.loss!r}."
            )
        numbers = range(len(self.tasks_))
        if self._couples(vars(self)):
            ends = np.cumsum([len(support) for support in self.support_])[:-1]
            precisions = np.split(self._posterior_of(0).precisions, ends)
        else:
            precisions = [self._posterior_of(t).precisions for t in numbers]
        return [self._units.scale[t] * self.dual_coef_[t] / precisions[t] for t in numbers]

    def _adapting_pairs(self, one: TaskRows, weight: Array, number: int) -> list[Pair]:
        pairs = super()._adapting_pairs(one, weight, number)
        if not self._is_gaussian:
            return pairs
        scale = self._noise_scales[number]
        return [
            pair._replace(loss=pair.loss._replace(cost=pair.loss.cost / scale))  # type: ignore
            for pair in pairs
        ]

    def predict_quantiles(
        self,
        X: Any,
        *,
        task: Any = None,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        task_features: Any = None,
    ) -> Array:
        """Return quantiles; with ``formulation="evidence"``, those of the Gaussian process."""
        if not self._is_gaussian:
            told = {"task": task, "quantiles": quantiles, "task_features": task_features}
            with described(task_features):
                return super().predict_quantiles(X, **told)
        check_is_fitted(self)
        levels = checked_levels(quantiles)
        mean, std = self.predict(X, task=task, task_features=task_features, return_std=True)
        return np.asarray(mean[..., None] + std[..., None] * ndtri(levels))

    def _bare_copy(self, level: float) -> Self:
        model = super()._bare_copy(level)
        model.unseen_task = "shared"  # The model itself has refused or named unseen tasks.
        return model

    def __getstate__(self) -> Any:
        """Leave out factors of covariances: they are made again when they are needed."""
        state = super().__getstate__()
        return {**state, "_posteriors": {}} if "_posteriors" in state else state


def _diagonal(bank: Any, points: Any, weights: Array) -> Array:
    """Return the variance of a function at points before any target."""
    prepared = bank.prepared(points)
    used = np.flatnonzero(weights)
    return sum((weights[m] * bank[m].diagonal(prepared) for m in used), np.zeros(points.shape[0]))
