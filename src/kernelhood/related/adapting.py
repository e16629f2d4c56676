"""A few labels of a new task, or new ones of an old task: its own part learned, the rest kept."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from kernelhood._typing import Array
from kernelhood.operators import one_task
from kernelhood.penalties import Fixed
from kernelhood.pipeline.problem import Pair
from kernelhood.related.adapted import Adapted
from kernelhood.related.inspection import RelationInspection
from kernelhood.related.prediction import UNSEEN, described
from kernelhood.related.without_intercept import solve_without_intercept
from kernelhood.solvers.least_squares.block import block_of
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from kernelhood.tasks import TaskRows, as_objects, check_task, split_by_label

_TOL = 1e-6


class RelatedTasks(RelationInspection):
    """Tasks that learn from each other, and go on learning."""

    def adapt(
        self,
        X: Any,
        y: Any,
        *,
        task: Any = None,
        sample_weight: Any = None,
        task_features: Any = None,
    ) -> Self:
        """Learn the part of a new task, or more of an old one, on top of what the others share.

        Kernels, weights, the common function and the functions of other tasks stay as they are,
        and no data of `fit` is needed: the result is that of a fit in which all this is held
        fixed. Another call for the same task starts from the model as `fit` left it.

        Parameters
        ----------
        X, y, sample_weight
            Samples, as in `fit`.
        task : hashable, or array-like of shape (n_samples,)
            The task of all rows or of each one, seen in `fit` or not.
        task_features : mapping of task to anything, optional
            What the relation should know of new tasks, as in `predict`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        with described(task_features):
            points, tasks = self._read_new(X, y, task)
            weight = _check_sample_weight(sample_weight, points, dtype=np.float64)
            found = {one.name: self._adapt(points[one.rows], one, weight) for one in tasks}
        self._adapted = {**self._adapted, **found}
        return self

    def _read_new(self, X: Any, y: Any, task: Any) -> tuple[Any, list[TaskRows]]:
        if self._y_is_wide:
            raise ValueError("adapt needs one task for each row: fit with task, not with a 2-D y.")
        if task is not None and (isinstance(task, str) or np.ndim(task) == 0):
            n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
            task = as_objects([task] * n_samples)
        points, labels = self._read_points(X, task, reset=False)
        y = self._check_targets(y)
        check_consistent_length(points, y)
        if labels is None:
            if len(self.tasks_) > 1:
                raise ValueError("task is required: the label of the rows, or one for each row.")
            labels = check_task(as_objects([self.tasks_[0]] * len(y)), len(y))
        return points, split_by_label(labels, y)

    def _adapt(self, points: Any, one: TaskRows, weight: Array) -> Adapted:
        """Return what one task learns."""
        free = self._groups_of_intercepts == "task"
        number = self.tasks_.index(one.name) if one.name in self.tasks_ else UNSEEN
        rows = None
        if number != UNSEEN:
            known, weights = self._functions(points, number), self.weights_[number]
        else:
            rows = self._newcomer_rows(one.name, points)
            known, weights = self._placed_function(points, rows), self._newcomer_weights(rows)
            if not free:
                known = known + self._mean_intercept()
        pairs = self._adapting_pairs(one, weight[one.rows], number)
        K = self._bank.combine(points, points, weights)
        coef, intercepts = np.zeros((len(pairs), len(one.y))), np.zeros(len(pairs))
        for place, pair in enumerate(pairs):
            at = pair.sample
            if len(at) == 0:
                continue
            loss = pair.loss._replace(target=pair.loss.target - known[at, place])
            coef[place, at], intercepts[place] = _fitted(K[np.ix_(at, at)], loss, free)
        if number == UNSEEN and not free:
            intercepts = intercepts + self._mean_intercept()
        kept = np.flatnonzero(coef.any(axis=0))
        return Adapted(rows, points[kept], coef[:, kept], weights, intercepts)

    def _newcomer_weights(self, rows: Array | None) -> Array:
        """Return the kernel weights of a new task: those of all matrices, and the mean own ones."""
        if rows is None:
            return np.asarray(self.weights_.mean(axis=0))
        return np.asarray(self._matrix_weights.sum(axis=0) + self._own_weights.mean(axis=0))

    def _adapting_pairs(self, one: TaskRows, weight: Array, number: int) -> list[Pair]:
        """Return the SVMs of the samples, with the losses of the fit."""
        classes: Hashable = getattr(self, "classes_", None)
        if classes is None:
            return self._encode([self._in_units(one, number)], [weight])[0]
        return self._pairs_of(one, weight, number)  # type: ignore[no-any-return]


def _fitted(K: Array, loss: Any, free: bool) -> tuple[Array, float]:
    """Return the dual vector and the intercept of one SVM with a given kernel."""
    if not free:
        return solve_without_intercept(K, loss, tol=_TOL), 0.0
    problem = Problem([block_of(one_task(K[None]), loss)], Fixed(np.ones(1)))
    found = solve(problem, tol=_TOL, max_iter=100)
    return found.v, float(found.intercepts[0])
