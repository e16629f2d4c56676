"""Regression by a Gaussian process: the noise that it learned, and how sure it is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import Array
from kernelhood.formulations import Evidence, Formulation, as_formulation
from kernelhood.losses import RidgeLoss
from kernelhood.pipeline.problem import Pair, TaskProblem, TaskSolution
from kernelhood.related.adapting import RelatedTasks
from kernelhood.related.prediction import UNSEEN, described
from kernelhood.solvers.least_squares.posterior import Posterior
from kernelhood.tasks import TaskRows, rows_by_label
from kernelhood.uncertainty.quantiles import QuantilePath, checked_levels

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
