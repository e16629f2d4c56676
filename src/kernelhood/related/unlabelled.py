"""Rows without targets: they say where the inputs of a task lie."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context

from kernelhood._typing import AnyArray
from kernelhood.pipeline.problem import TaskProblem
from kernelhood.related.many_samples import ManySamples
from kernelhood.tasks import TaskRows, missing, rows_by_label, stack_rows


class UnlabelledRows(ManySamples):
    """Relations that look at inputs see those of all rows, with and without targets."""

    _unlabelled: dict[Hashable, Any]

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None, unlabelled: Any = None
    ) -> Self:
        """Learn a kernel and a function for every task.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Training points of all tasks; with `task_column`, one column names the task.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks)
            Targets. Two dimensions mean one task per column on the same points, NaN meaning
            that the target was not observed. With a relation that looks at inputs, such as
            "inputs", NaN in one dimension means the same, and the row counts as unlabelled.
        task : array-like of shape (n_samples,), optional
            The task of every row, any hashable labels.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies C; a sample of weight 2 counts as two samples.
        unlabelled : tuple (X, task), optional
            More points of the tasks, without targets, for a relation that looks at inputs; with
            `task_column`, X alone.

        Returns
        -------
        self
        """
        return self._fit(X, y, task, sample_weight, unlabelled=unlabelled)

    def _fit(
        self,
        X: Any,
        y: Any,
        task: Any,
        sample_weight: Any,
        first: Sequence[Any] | None = None,
        unlabelled: Any = None,
    ) -> Self:
        self._given = unlabelled
        try:
            return super()._fit(X, y, task, sample_weight, first)
        finally:
            del self._given
            if hasattr(self, "_unlabelled"):
                del self._unlabelled

    @property
    def _takes_missing_targets(self) -> bool:
        return self._relation.uses_inputs

    def _check_targets(self, y: Any) -> AnyArray:
        values = np.asarray(y, dtype=object)
        takes = self._takes_missing_targets
        if values.ndim != 1 or not takes or not missing(values).any():
            return super()._check_targets(y)  # type: ignore[safe-super]
        unknown = missing(values)
        if unknown.all():
            raise ValueError("y holds no target at all: every value is missing.")
        labels = np.array(values[~unknown].tolist())
        known = super()._check_targets(labels)  # type: ignore[safe-super]
        whole = np.full(len(values), np.nan if known.dtype.kind == "f" else None)
        whole[~unknown] = known
        return whole

    def _read_training_data(self, X: Any, y: Any, task: Any) -> tuple[Any, list[TaskRows]]:
        points, tasks = super()._read_training_data(X, y, task)
        self._unlabelled = self._read_unlabelled(getattr(self, "_given", None))
        if self._y_is_wide or not self._takes_missing_targets:
            return points, tasks
        kept = []
        for one in tasks:
            unknown = missing(one.y)
            if unknown.any():
                self._add(one.name, points[one.rows[unknown]])
                y_known = np.array(one.y[~unknown].tolist())
                one = TaskRows(one.name, one.rows[~unknown], y_known)
            if len(one.rows):
                kept.append(one)
        return points, kept

    def _add(self, name: Hashable, points: Any) -> None:
        if name in self._unlabelled:
            points = stack_rows([self._unlabelled[name], points])
        self._unlabelled[name] = points

    def _read_unlabelled(self, given: Any) -> dict[Hashable, Any]:
        """Return the points without targets of each task."""
        if given is None:
            return {}
        if not self._relation.uses_inputs:
            raise ValueError(
                "unlabelled needs a relation that looks at inputs, such as 'inputs': got "
                f"relation={self.relation!r}."
            )
        if self.task_column is not None:
            given = (given, None)
        if not isinstance(given, tuple) or len(given) != 2:
            raise ValueError(
                "unlabelled must be a pair (X, task) of points and the task of each: got "
                f"{type(given).__name__}."
            )
        points, labels = self._read_points(*given, reset=False)
        if labels is None:
            raise ValueError("unlabelled must name the task of every row: got None for task.")
        return {name: points[rows] for name, rows in rows_by_label(labels).items()}

    def _pose(self, points: Any, tasks: list[TaskRows], sample_weight: Any) -> list[TaskProblem]:
        problems = super()._pose(points, tasks, sample_weight)
        extra = getattr(self, "_unlabelled", {})
        return [replace(one, unlabelled=extra.get(one.name)) for one in problems]
