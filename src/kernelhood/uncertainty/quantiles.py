"""Several quantiles of one model: fitted one after the other, each from the one before."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import Array
from kernelhood.losses import Quantile
from kernelhood.parallel import few_blas_threads
from kernelhood.pipeline.problem import Pair, TaskProblem, TaskSolution
from kernelhood.uncertainty.loss_choice import LossChoice


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
