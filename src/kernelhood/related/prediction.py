"""From a fitted model to the functions of its tasks, and of tasks that it never saw."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.pipeline.prediction import Decide
from kernelhood.related.unlabelled import UnlabelledRows
from kernelhood.relations import Newcomer
from kernelhood.tasks import known_tasks, rows_by_label, some_of, unseen_tasks

UNSEEN = -1

_NOTHING: Mapping[Hashable, Any] = MappingProxyType({})
_FEATURES: ContextVar[Mapping[Hashable, Any]] = ContextVar("task_features", default=_NOTHING)


def _decides(model: Any) -> bool:
    return hasattr(super(RelatedPrediction, model), "decision_function")


class RelatedPrediction(UnlabelledRows):
    """Functions that are carried by the samples of all tasks."""

    def predict(self, X: Any, *, task: Any = None, task_features: Any = None) -> AnyArray:
        """Return the prediction for every row.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        task_features : mapping of task to anything, optional
            What the relation should know of tasks that were not seen in `fit`: their group, their
            descriptor, their neighbours.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y
        """
        with described(task_features):
            return super().predict(X, task=task)  # type: ignore[safe-super]

    @available_if(_decides)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, *, task: Any = None, task_features: Any = None) -> Array:
        """Return the signed decision values; positive ones mean the task's second class.

        Where a task has more than two classes, there is a column for each class of the row's task,
        by one-against-one votes and then by confidence; the largest one wins. Columns that a task
        with fewer classes has no use for are minus infinity.

        Parameters
        ----------
        X, task, task_features
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y; each with
        one more axis for the classes where there are more than two
        """
        with described(task_features):
            return super().decision_function(X, task=task)  # type: ignore[no-any-return]

    def _by_task(self, points: Any, labels: AnyArray, which: Indices, decide: Decide) -> Array:
        new = which == UNSEEN
        changed = new
        if self._adapted:
            changed = new | np.array([label in self._adapted for label in labels.tolist()])
        if not changed.any():
            return super()._by_task(points, labels, which, decide)
        parts, rows = [], []
        if not changed.all():
            old = np.flatnonzero(~changed)
            rows.append(old)
            parts.append(super()._by_task(points[old], labels[old], which[old], decide))
        late = np.flatnonzero(changed)
        for label, own in rows_by_label(labels[late]).items():
            rows.append(late[own])
            number = int(which[rows[-1][0]])
            values = self._changed_function(points[rows[-1]], label, number)
            parts.append(decide(values, number))
        return np.concatenate(parts)[np.argsort(np.concatenate(rows))]

    def _changed_function(self, points: Any, label: Hashable, number: int) -> Array:
        """Return the function of a task that was not seen in `fit`, or learned more since."""
        adapted = self._adapted.get(label)
        if adapted is None:
            rows = self._newcomer_rows(label, points)
            return self._placed_function(points, rows) + self._mean_intercept()
        if number != UNSEEN:
            return self._functions(points, number) + adapted.added(self._bank, points)
        return self._placed_function(points, adapted.rows) + adapted.added(self._bank, points)

    def _newcomer_rows(self, label: Hashable, points: Any) -> Array | None:
        """Return how a task that was not seen in `fit` is joined to those that were."""
        comparable = self._bank.comparable(points)
        newcomer = Newcomer(label, _FEATURES.get().get(label), comparable)
        return self.relation_.unseen(self.tasks_, newcomer)

    def _placed_function(self, points: Any, rows: Array | None) -> Array:
        """Return what a task that is joined to others by `rows` has from them, no intercept."""
        if rows is None:
            n_components = max(max(own) for own in self._components_of_tasks()) + 1
            return np.zeros((points.shape[0], n_components))
        return self._related_function(points, rows)

    def _components_of_tasks(self) -> list[list[int]]:
        return [list(range(np.atleast_2d(one).shape[0])) for one in self.dual_coef_]

    def _functions(self, points: Any, number: int) -> Array:
        if self._expansion is not None or not self._couples(vars(self)):
            return super()._functions(points, number)
        own = self._own_function(points, number, self._own_weights[number])
        related = self._related_function(points, self._matrices.rows(number))
        return own + related[:, self._components[number]]

    def _related_function(self, points: Any, rows: Array) -> Array:
        """Return what a task that is joined to the others by `rows` learns from all samples.

        Parameters
        ----------
        points : ndarray or CSR matrix
            Where.
        rows : ndarray of shape (n_matrices, n_tasks)
            Entries of the relation's matrices between this task and the others.
        """
        if self._expansion is not None:
            function = self._expansion.related(rows, self._matrix_weights)[None]
            return self._expansion.values(
                points, function, np.zeros(points.shape[0], dtype=np.intp)
            )
        values = np.zeros((points.shape[0], len(self._all_coef)))
        for row, weights in zip(rows, self._matrix_weights, strict=True):
            joined = np.flatnonzero(row[self._support_task])
            if len(joined) and np.any(weights):
                K = self._bank.combine(points, self._all_support[joined], weights)
                coefficients = self._all_coef[:, joined] * row[self._support_task[joined]]
                values += K @ coefficients.T
        return values

    def _mean_intercept(self) -> Array:
        """Return the mean of the tasks' intercepts, each counted by its samples."""
        return np.average(np.array(list(self.intercept_)), axis=0, weights=self.n_samples_)

    def _numbers(self, labels: AnyArray) -> Indices:
        self._check_tasks(labels, [*self.tasks_, *self._adapted])
        numbers = {name: number for number, name in enumerate(self.tasks_)}
        return np.array([numbers.get(label, UNSEEN) for label in labels.tolist()], dtype=np.intp)

    def _check_tasks(self, labels: AnyArray, known: Sequence[Hashable]) -> None:
        """Refuse tasks that cannot be predicted; name those that only the common function can."""
        new = unseen_tasks(labels, known)
        if not new:
            return
        placed = {name for name in new if self._can_place(name)}
        common = [name for name in new if name not in placed and self._can_share(name)]
        known_tasks(
            labels, [*known, *placed, *common], f"{self._unseen_remedy} {self._split_advice}"
        )
        if isinstance(getattr(self, "classes_", None), list):
            raise ValueError(
                f"task holds labels that were not seen in fit: {some_of(new)}. Their classes are "
                "not known, because the tasks of fit have different ones: use the same classes in "
                f"all tasks. {self._split_advice}"
            )
        if common and self.unseen_task != "shared":
            warnings.warn(
                f"task holds labels that were not seen in fit: {some_of(common)}. They are "
                "predicted by the function that all tasks have in common; unseen_task='shared' "
                "does so without a warning, and unseen_task='error' refuses them. "
                f"{self._split_advice}",
                UserWarning,
                stacklevel=7,
            )

    @property
    def _unseen_remedy(self) -> str:
        if self.unseen_task == "error":
            return (
                "unseen_task='error' refuses them; unseen_task='shared' predicts them by the "
                "function that all tasks have in common, if the relation has one."
            )
        return (
            "The tasks have no function in common: use relation='mixed' or another relation with "
            f"a common function, got relation={self.relation!r}, sharing={self.sharing!r}; or let "
            "adapt learn the new task from a few rows."
        )

    def _can_place(self, name: Hashable) -> bool:
        """Return whether more is known of a task never seen than what all tasks share."""
        if self.unseen_task == "error" or not self.relation_.couples:
            return False
        # Every task that is asked for has inputs: which ones does not matter here.
        points = None
        if self.relation_.uses_inputs:
            points = self._bank.comparable(self._all_support[:1])
        return self.relation_.knows(Newcomer(name, _FEATURES.get().get(name), points))

    def _can_share(self, name: Hashable) -> bool:
        """Return whether a task never seen has the function that all tasks have in common."""
        if self.unseen_task == "error" or not self.relation_.common:
            return False
        return self.relation_.unseen(self.tasks_, Newcomer(name)) is not None

    def shared_function(self, X: Any) -> Array:
        """Return f_0, what all tasks have in common, with the mean intercept.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points, as `predict` takes them.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_pairs) with more than two classes
        """
        check_is_fitted(self)
        self._check_shared("shared_function")
        points = self._read_points(X, None, reset=False)[0]
        common = np.array([float(B.is_ones) for B in self._matrices])
        rows = np.repeat(common[:, None], len(self.tasks_), axis=1)
        values = self._related_function(points, rows) + self._mean_intercept()
        return self._restored(values[:, 0] if values.shape[1] == 1 else values, UNSEEN)

    def _check_shared(self, name: str) -> None:
        if not self.relation_.common:
            raise ValueError(
                f"{name} needs a shared function: fit with sharing='functions' or a relation such "
                f"as 'mixed', got sharing={self.sharing!r}, relation={self.relation!r}."
            )


@contextmanager
def described(features: Any) -> Iterator[None]:
    """Let what is said of new tasks be known while they are predicted."""
    if features is not None and not isinstance(features, Mapping):
        raise ValueError(
            "task_features must be a mapping of task to what its relation takes, such as "
            f"{{'Bonn': 'west'}}: got {type(features).__name__}."
        )
    token = _FEATURES.set(features or _NOTHING)
    try:
        yield
    finally:
        _FEATURES.reset(token)
