"""What a fitted model says of itself: left-out rows, the tasks one by one, and figures of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.reading import check_task
from kernelhood.estimators.training_rows import same_events

if TYPE_CHECKING:
    from kernelhood.estimators.additive import AdditiveFunction
    from kernelhood.estimators.task_report import TaskReport


class Trusted:
    """What regression and classification can tell of their training rows."""

    _function: AdditiveFunction
    _place: Indices
    _given: tuple[int, ...]
    levels_: list[str]
    terms_: list[str]
    tasks_: list[Any]
    weights_: Array

    def left_out(self, groups: Any = "rows") -> Any:
        """Return what is predicted for training rows without their group.

        No model is fitted again: the variances of the terms, and for classes the weights of the
        rows, are those of the fit.

        Parameters
        ----------
        groups : "rows", "tasks" or array-like of shape (n_samples,)
            What is left out at a time: each row, each task, or the rows with the same label.

        Returns
        -------
        residual, std : ndarray of the shape of y
            Of a regressor: the target minus its prediction, and the standard deviation that the
            model expects. Rows that were not part of the fit have NaN.
        probability : ndarray of shape (n_samples, n_classes)
            Of a classifier, instead: as `predict_proba` returns it.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> x, task = np.linspace(0.0, 1.0, 30)[:, None], np.arange(30) % 3
        >>> model = kh.KernelhoodRegressor().fit(x, x[:, 0] + task, task=task)
        >>> of_rows, of_tasks = model.left_out("rows")[0], model.left_out("tasks")[0]
        >>> bool(np.abs(of_rows).mean() < np.abs(of_tasks).mean())
        True
        """
        check_is_fitted(self)
        return self._left_out(*self._function.left_out(self._left_out_groups(groups)))

    def task_report(self) -> TaskReport:
        """Return errors of left-out rows for each task, with and without the other tasks.

        Errors with the rows of all tasks stand beside those with the rows of the task only, both
        at the weights of the fit, and beside those of simple models.

        Returns
        -------
        TaskReport
            ``print(report)`` shows it; ``report.to_frame()`` is a data frame, a row for each task.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> x, task = np.linspace(0.0, 1.0, 60)[:, None], np.arange(60) % 3
        >>> model = kh.KernelhoodRegressor().fit(x, np.sin(6.0 * x[:, 0]), task=task)
        >>> model.task_report().rows.tolist()
        [20, 20, 20]
        """
        from kernelhood.estimators.task_report import task_report

        check_is_fitted(self)
        return task_report(self)

    def plot_effect(self, column: str | int, *, ax: Any = None) -> Any:
        """Draw the effect of a column, common and by task, at an otherwise typical row.

        The band is two standard deviations wide to both sides of what all tasks have in common.

        Parameters
        ----------
        column : str or int
            Its name, or its number if columns have no names.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        from kernelhood.estimators.task_figures import plot_effect

        check_is_fitted(self)
        return plot_effect(self, column, ax=ax)

    def plot_task(self, task: Any, *, ax: Any = None) -> Any:
        """Draw the rows of a task beside what is predicted without them.

        Parameters
        ----------
        task : str or number
            One of `tasks_`.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        from kernelhood.estimators.task_figures import plot_task

        check_is_fitted(self)
        return plot_task(self, task, ax=ax)

    def plot_shares(self, *, ax: Any = None) -> Any:
        """Draw how much of each task's variance is common, its own and noise.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        from kernelhood.estimators.task_figures import plot_shares

        check_is_fitted(self)
        return plot_shares(self, ax=ax)

    def plot_reliability(self, *, ax: Any = None) -> Any:
        """Draw expected against observed coverage, or class probabilities, of left-out rows.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        from kernelhood.estimators.task_figures import plot_reliability

        check_is_fitted(self)
        return plot_reliability(self, ax=ax)

    @property
    def _truth(self) -> AnyArray:
        """The targets of the training rows, or their classes by number."""
        raise NotImplementedError

    def _left_out(self, mean: Array, variance: Array) -> Any:
        """Return what `left_out` does, from means and variances of the functions."""
        raise NotImplementedError

    def _losses(self, mean: Array, variance: Array, rows: Indices) -> Array:
        """Return squared errors or log losses of training rows whose functions are given."""
        raise NotImplementedError

    def _log_scores(self, mean: Array, variance: Array, rows: Indices) -> Array:
        """Return the logarithms of what is predicted for the targets of training rows."""
        return -self._losses(mean, variance, rows)

    def _left_out_scores(self) -> str:
        from kernelhood.estimators.task_report import left_out_scores

        return left_out_scores(self)

    def _left_out_groups(self, groups: Any) -> list[Indices]:
        """Return the training rows that are left out together."""
        n = len(self._function.E)
        if isinstance(groups, str):
            if groups == "rows":
                return list(np.arange(n)[:, None])
            if groups == "tasks":
                return self._rows_of("own")
            raise ValueError(
                f"groups={groups!r} is unknown; give 'rows', 'tasks' or a label for every row."
            )
        labels = check_task(groups, self._given[0], "groups")
        labels = np.tile(labels, int(np.prod(self._given[1:])))[self._place]
        return [np.flatnonzero(labels == one) for one in dict.fromkeys(labels.tolist())]

    def _rows_of(self, level: str) -> list[Indices]:
        """Return the training rows of every group of a level."""
        own = self._function.groups[self.levels_.index(level)]
        return [np.flatnonzero(own == one) for one in range(int(own.max()) + 1)]

    def _events_left_out(self) -> list[Indices]:
        """Return rows that are left out together, so that each is as new as a row to predict."""
        if "occasion" in self.levels_:
            return self._rows_of("occasion")  # new rows are of new occasions
        function = self._function
        own = function.groups[self.levels_.index("own")]
        event = same_events(function.E, function.targets, own)
        return np.split(np.argsort(event, kind="stable"), np.cumsum(np.bincount(event))[:-1])
