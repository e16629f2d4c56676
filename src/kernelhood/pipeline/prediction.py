"""From a fitted model to function values and scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.kernels import KernelBank
from kernelhood.pipeline.reading import TaskReader
from kernelhood.tasks import (
    ONLY_TASK,
    TaskRows,
    known_tasks,
    missing,
    split_by_column,
    split_by_label,
)


class TaskPredictor(TaskReader):
    """The part of the pipeline after the fit."""

    tasks_: list[Hashable]
    support_vectors_: list[Any]
    dual_coef_: list[Array]
    intercept_: Any
    weights_: Array

    @abstractmethod
    def predict(self, X: Any, *, task: Any = None) -> AnyArray:
        """Return the prediction for every row."""

    @abstractmethod
    def _bank_of(self, number: int) -> KernelBank:
        """Return the bank of one task."""

    @abstractmethod
    def _decide(self, values: Array, number: int) -> Array:
        """Return the decision values of a task from the values of its functions."""

    def _values(self, X: Any, task: Any) -> tuple[Array, AnyArray | None]:
        """Return f(x) for every row, and the number of the row's task.

        With a 2-D y in fit and no task here, the values have one column per task and the second
        is None.
        """
        check_is_fitted(self)
        points, labels = self._read_points(X, task, reset=False)
        if labels is None and (self._y_is_wide or len(self.tasks_) == 1):
            columns = [self._task_values(points, number) for number in range(len(self.tasks_))]
            if self._y_is_wide:
                return np.stack(columns, axis=1), None
            return columns[0], np.zeros(points.shape[0], dtype=np.intp)
        if labels is None:
            raise ValueError(
                "task is required, one label per row of X: the model was fitted with the tasks "
                f"{', '.join(map(repr, self.tasks_))}."
            )
        which = self._numbers(labels)
        return self._by_task(points, labels, which), which

    def _by_task(self, points: Any, labels: AnyArray, which: Indices) -> Array:
        """Return the decision values of rows of several tasks."""
        parts = {number: np.flatnonzero(which == number) for number in np.unique(which)}
        found = [self._task_values(points[rows], number) for number, rows in parts.items()]
        order = np.argsort(np.concatenate(list(parts.values())))
        return np.concatenate(found)[order]

    def _numbers(self, labels: AnyArray) -> Indices:
        """Return the number of every row's task."""
        known_tasks(labels, self.tasks_)
        numbers = {name: number for number, name in enumerate(self.tasks_)}
        return np.array([numbers[label] for label in labels.tolist()], dtype=np.intp)

    def _task_values(self, points: Any, number: int) -> Array:
        """Return the decision values of a task at the points."""
        return self._decide(self._functions(points, number), number)

    def _functions(self, points: Any, number: int) -> Array:
        """Return f_t at the points; one column, or one for each pair of the task's classes."""
        return self._own_function(points, number, self.weights_[number])

    def _own_function(self, points: Any, number: int, weights: Array) -> Array:
        """Return the part of f_t that the task's own samples carry, with the intercept."""
        support = self.support_vectors_[number]
        values: Array = np.zeros((points.shape[0], 1)) + self.intercept_[number]
        if support.shape[0]:
            K = self._bank_of(number).combine(points, support, weights)
            values += K @ np.atleast_2d(self.dual_coef_[number]).T
        return values

    @staticmethod
    @abstractmethod
    def _metric(y: AnyArray, predicted: AnyArray, *, sample_weight: Array) -> float:
        """Return the score of one task's predictions."""

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy or R^2 of the predictions, averaged over the tasks that occur.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.
        """
        return self._mean_over_tasks(self.predict(X, task=task), X, y, task, sample_weight)

    def _mean_over_tasks(
        self, predicted: AnyArray, X: Any, y: Any, task: Any, sample_weight: Any
    ) -> float:
        """Return the metric of predictions, averaged over the tasks that occur in the data."""
        check_consistent_length(predicted, y)
        if predicted.ndim == 2:
            y = self._check_targets(y)
            if y.shape != predicted.shape:
                raise ValueError(
                    f"y must hold one column for each of the {predicted.shape[1]} tasks, as in "
                    f"fit: got shape {y.shape}."
                )
            occurring = np.flatnonzero(~missing(y).all(axis=0))
            tasks = split_by_column(y[:, occurring])
            predictions = [
                predicted[one.rows, column] for column, one in zip(occurring, tasks, strict=True)
            ]
        else:
            labels = self._read_points(X, task, reset=False)[1]
            y = column_or_1d(y)
            everything = TaskRows(ONLY_TASK, np.arange(len(y), dtype=np.intp), np.asarray(y))
            tasks = [everything] if labels is None else split_by_label(labels, np.asarray(y))
            predictions = [predicted[one.rows] for one in tasks]
        shared = _check_sample_weight(sample_weight, predicted[:, None], dtype=np.float64)
        scores = [
            self._metric(one.y, guess, sample_weight=shared[one.rows])
            for one, guess in zip(tasks, predictions, strict=True)
        ]
        return float(np.mean(scores))
