"""Reading X, y and the tasks from wherever the user gave them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from kernelhood._typing import AnyArray
from kernelhood.tasks import (
    ONLY_TASK,
    TaskRows,
    check_task,
    split_by_column,
    split_by_label,
    take_column,
)


class TaskReader(ABC):
    """The part of the pipeline before any kernel is evaluated."""

    task_column: int | str | None
    _y_is_wide: bool

    @abstractmethod
    def _check_targets(self, y: Any) -> AnyArray:
        """Return y as an array of one or two dimensions, or raise."""

    def _read_training_data(self, X: Any, y: Any, task: Any) -> tuple[Any, list[TaskRows]]:
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: {type(self).__name__} "
                "learns from targets."
            )
        points, labels = self._read_points(X, task, reset=True)
        y = self._check_targets(y)
        check_consistent_length(points, y)
        self._y_is_wide = y.ndim == 2
        if y.ndim == 2:
            if labels is not None:
                raise ValueError(
                    "y of two dimensions holds one task per column: leave out task and task_column."
                )
            return points, split_by_column(y)
        if labels is None:
            rows = np.arange(len(y), dtype=np.intp)
            return points, [TaskRows(ONLY_TASK, rows, y)]
        return points, split_by_label(labels, y)

    def _read_points(self, X: Any, task: Any, *, reset: bool) -> tuple[Any, AnyArray | None]:
        """Return the validated features and the task labels, from wherever they were given."""
        accept: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
        if self.task_column is None:
            points = validate_data(self, X, reset=reset, **accept)
        else:
            if task is not None:
                raise ValueError("task and task_column both name the tasks: give only one of them.")
            validate_data(self, X, reset=reset, skip_check_array=True)
            X, task = take_column(X, self.task_column)
            points = check_array(X, estimator=self, input_name="X", **accept)
        return points, None if task is None else check_task(task, points.shape[0])

    def _names_without_task(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return None
        kept = list(names)
        if self.task_column is not None:
            kept.remove(
                names[self.task_column]
                if isinstance(self.task_column, Integral)
                else self.task_column
            )
        return kept
