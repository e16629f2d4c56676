"""From a fitted model to function values and scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.kernels import KernelBank
from kernelhood.pipeline.reading import TaskReader, as_target
from kernelhood.pipeline.scores import ScoredTask
from kernelhood.tasks import (
    ONLY_TASK,
    TaskRows,
    known_tasks,
    missing,
    split_by_column,
    split_by_label,
)

#: Turns the functions of a task, whose number comes second, into what is told of its rows.
Decide = Callable[[Array, int], Array]


class TaskPredictor(TaskReader):
    """The part of the pipeline after the fit."""

    #: Whether there is one function for all rows, whatever their task.
    _one_function = False

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

    def _decided(self, values: Array, number: int) -> Array:
        """Return the decision values of a task, in the user's units."""
        return self._restored(self._decide(values, number), number)

    def _restored(self, values: Array, number: int) -> Array:
        """Return decision values of a task in the user's units."""
        return values

    def _values(
        self, X: Any, task: Any, decide: Decide | None = None
    ) -> tuple[Array, AnyArray | None]:
        """Return f(x), or what else `decide` makes of it, and the number of every row's task.

        With a 2-D y in fit and no task here, the values have one column per task and the second
        is None.
        """
        check_is_fitted(self)
        decide = decide or self._decided
        points, labels = self._read_points(X, task, reset=False)
        if labels is None and (self._y_is_wide or len(self.tasks_) == 1):
            columns = [decide(self._functions(points, t), t) for t in range(len(self.tasks_))]
            if self._y_is_wide:
                return np.stack(columns, axis=1), None
            return columns[0], np.zeros(points.shape[0], dtype=np.intp)
        if labels is None:
            raise ValueError(
                "task is required, one label per row of X: the model was fitted with the tasks "
                f"{', '.join(map(repr, self.tasks_))}."
            )
        which = self._numbers(labels)
        return self._by_task(points, labels, which, decide), which

    def _by_task(self, points: Any, labels: AnyArray, which: Indices, decide: Decide) -> Array:
        """Return what `decide` makes of rows of several tasks."""
        parts = {number: np.flatnonzero(which == number) for number in np.unique(which)}
        found = [decide(self._functions(points[rows], t), t) for t, rows in parts.items()]
        order = np.argsort(np.concatenate(list(parts.values())))
        return np.concatenate(found)[order]

    def _numbers(self, labels: AnyArray) -> Indices:
        """Return the number of every row's task."""
        self._check_tasks(labels, self.tasks_)
        numbers = {name: number for number, name in enumerate(self.tasks_)}
        return np.array([numbers[label] for label in labels.tolist()], dtype=np.intp)

    def _check_tasks(self, labels: AnyArray, known: Sequence[Hashable]) -> None:
        """Raise if rows are of tasks that cannot be predicted."""
        known_tasks(
            labels,
            known,
            f"{type(self).__name__} has no function that all tasks have in common: use "
            f"MTONMKLClassifier or MTONMKLRegressor with relation='mixed'. {self._split_advice}",
        )

    @property
    def _split_advice(self) -> str:
        """What to do if the unseen tasks come from cross-validation."""
        told = f"(task_column={self.task_column!r})"
        if self.task_column is None:
            told = "().set_split_request(task=True)"
        return (
            "In cross-validation, cv=kernelhood.TaskStratifiedKFold"
            f"{told} keeps rows of every task in every training part."
        )

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

    #: The mean training target of each task, where targets are numbers.
    _centres: dict[Hashable, float] | None = None

    @abstractmethod
    def _task_score(self, one: ScoredTask) -> float:
        """Return the score of one task's predictions."""

    @abstractmethod
    def _total_score(self, scored: list[ScoredTask]) -> float:
        """Return the score of all predictions."""

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, averaged over tasks, or the share of squared error explained.

        In regression it is 1 - error / spread: the squared errors of all rows over their squared
        distances from the mean training target of their task. A model that knows the tasks' means
        and nothing else has the score 0. Sums over all tasks stay meaningful where a task has only
        a few rows here, or one, unlike an average of R^2 over tasks.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.
        """
        predicted = self.predict(X, task=task)
        return self._total_score(self._scored(predicted, X, y, task, sample_weight))

    def score_by_task(
        self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None
    ) -> dict[Hashable, float]:
        """Return the score of every task that occurs: accuracy, or 1 - error / spread.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> X, y = np.arange(8.0)[:, None], np.tile([0, 1], 4)
        >>> model = kh.AVMTMKLClassifier(kernels=[kh.Gaussian(0.1)], C=10.0)
        >>> model.fit(X, y, task=["a"] * 4 + ["b"] * 4).score_by_task(X, y, task=["a", "b"] * 4)
        {'a': 0.5, 'b': 0.5}
        """
        predicted = self.predict(X, task=task)
        scored = self._scored(predicted, X, y, task, sample_weight)
        return {one.name: self._task_score(one) for one in scored}

    def _scored(
        self,
        predicted: AnyArray,
        X: Any,
        y: Any,
        task: Any,
        sample_weight: Any,
        centres: dict[Hashable, float] | None = None,
    ) -> list[ScoredTask]:
        """Return predictions and targets by task.

        Parameters
        ----------
        predicted : ndarray
            What `predict` returns.
        X, y, task, sample_weight
            As `score` takes them.
        centres : dict, optional
            Mean training targets in other units than those of the fit.
        """
        check_consistent_length(predicted, y)
        y = self._check_targets(as_target(y))
        if y.shape != predicted.shape:
            what = "one dimension"
            if predicted.ndim == 2:
                what = f"one column for each of the {predicted.shape[1]} tasks"
            raise ValueError(f"y must hold {what}, as in fit: got shape {y.shape}.")
        if predicted.ndim == 2:
            columns: list[int] = np.flatnonzero(~missing(y).all(axis=0)).tolist()
            pairs = list(zip(columns, split_by_column(y[:, columns]), strict=True))
            tasks = [one._replace(name=column) for column, one in pairs]
            guesses = [predicted[one.rows, column] for column, one in pairs]
        else:
            labels = TaskReader._read_points(self, X, task, reset=False)[1]
            everything = TaskRows(ONLY_TASK, np.arange(len(y), dtype=np.intp), y)
            tasks = [everything] if labels is None else split_by_label(labels, y)
            guesses = [predicted[one.rows] for one in tasks]
        shared = _check_sample_weight(sample_weight, predicted[:, None], dtype=np.float64)
        means = centres or self._centres or {}
        middle = float(np.mean(list(means.values()))) if means else np.nan
        return [
            ScoredTask(one.name, one.y, guess, shared[one.rows], means.get(one.name, middle))
            for one, guess in zip(tasks, guesses, strict=True)
        ]
