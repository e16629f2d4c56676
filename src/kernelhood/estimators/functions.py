"""Rows without targets: they say where the inputs of a task lie."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.base import Decide
from kernelhood.estimators.data import Pair, TaskProblem
from kernelhood.estimators.reading import (
    TaskRows,
    as_objects,
    check_task,
    known_tasks,
    missing,
    rows_by_label,
    some_of,
    split_by_label,
    stack_rows,
    unseen_tasks,
)
from kernelhood.estimators.related import Adapted, ManySamples
from kernelhood.inspection.figures import plot_sharing, plot_task_map
from kernelhood.inspection.model import as_table
from kernelhood.operators import one_task
from kernelhood.penalties import Fixed
from kernelhood.relations import Newcomer
from kernelhood.relations.base import unit_diagonal
from kernelhood.solvers.block import block_of
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from kernelhood.solvers.svm import solve_without_intercept


class UnlabelledRows(ManySamples):
    """Relations that look at inputs see those of all rows, with and without targets."""

    _unlabelled: dict[Hashable, Any]

    @_fit_context(prefer_skip_nested_validation=True)
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

    @available_if(_decides)
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


class RelationInspection(RelatedPrediction):
    """Tables and pictures of what tasks share."""

    def relation_table(self) -> Any:
        """Return the share of each part of the relation and each kernel in the trained functions.

        The shares are those of ``v'Kv``, the squared norm of all functions together: a row for
        each matrix of the relation, such as "common" and "own", a column for each kernel. They add
        up to 1.

        Returns
        -------
        DataFrame, or text where pandas is not installed
        """
        check_is_fitted(self)
        total = self._energy.sum()
        shares = self._energy / total if total > 0.0 else np.zeros_like(self._energy)
        return as_table(shares, self._relation_labels(), self._kernel_names(), "relation")

    def _relation_labels(self) -> list[str]:
        if not self._couples(vars(self)):
            return ["own"]
        return self.relation_.labels(len(self._matrices))[: len(self._energy)]

    def task_similarity(self) -> Array:
        """Return how alike the tasks are as the model learned it, a matrix with a diagonal of ones.

        It is ``sum_r sum_m theta_rm B_r``, each kernel counted by its mean size, scaled to a
        diagonal of ones: the correlation of the functions of two tasks that the model expects.

        Returns
        -------
        ndarray of shape (n_tasks, n_tasks)
        """
        check_is_fitted(self)
        if not self._couples(vars(self)):
            return np.eye(len(self.tasks_))
        by_matrix = self._matrix_weights @ self._kernel_sizes
        total = np.einsum("r,rst->st", by_matrix, self._matrices.written())
        return unit_diagonal(total + np.diag(self._own_weights @ self._kernel_sizes))

    def plot_task_map(self, *, ax: Any = None) -> Any:
        """Draw how alike the tasks are: a heat map in the order of a tree, and the tree.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        return plot_task_map(self.task_similarity(), self.tasks_, ax=ax)

    def sharing_table(self) -> Any:
        """Return the share of each task's kernel weights that is common to all tasks.

        Returns
        -------
        ndarray of shape (n_tasks, n_kernels)
            mu / (mu + lambda_t) by kernel; NaN where a task does not use a kernel.
        """
        check_is_fitted(self)
        self._check_shared("sharing_table")
        with np.errstate(invalid="ignore"):
            return np.asarray(self.shared_weights_ / self.weights_)

    def plot_sharing(self, *, ax: Any = None) -> Any:
        """Draw for every task how much of each kernel is common and how much its own.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        self._check_shared("plot_sharing")
        names: list[Hashable] = self.tasks_
        return plot_sharing(
            self.shared_weights_, self.specific_weights_, names, self._kernel_names(), ax=ax
        )


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
