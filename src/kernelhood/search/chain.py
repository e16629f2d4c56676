"""An estimator inside a pipeline, or behind a transformation of the target, on every split."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.estimators.base import MultiTaskModel, fit_from, method_of, read_table
from kernelhood.estimators.reading import (
    TaskRows,
    read_points,
)
from kernelhood.estimators.targets import completed_classes, task_classes, task_means
from kernelhood.kernels import InputSummary
from kernelhood.search.splits import Split, as_splits


@dataclass(frozen=True)
class Prepared:
    """A table as the estimator sees it, its steps fitted to the training rows of a split.

    Attributes
    ----------
    points : ndarray or CSR matrix of shape (n_samples, n_features)
        Inputs of all rows.
    tasks : list of TaskRows
        Rows and targets of the tasks.
    targets : list of TaskRows
        The same with targets in the user's units.
    coded : list of int
        The inputs that are numbers of categories.
    names : list of str, optional
        Names of the inputs.
    wide : bool
        Whether tasks are the columns of y.
    restore : callable, optional
        Brings predictions of a task, whose place is given first, back into these.
    """

    points: Any
    tasks: list[TaskRows]
    targets: list[TaskRows]
    coded: list[int]
    names: list[str] | None
    wide: bool
    restore: Callable[[int, Array], Array] | None = None


@dataclass(frozen=True)
class Chain:
    """An estimator of this library and what stands around it.

    Attributes
    ----------
    model : estimator
        The estimator of this library.
    steps : Pipeline, optional
        What is done to X before.
    target : transformer, optional
        What is done to y.
    prefix : str
        What comes before the names of the model's parameters.
    centres : dict, optional
        Mean training targets of the tasks in the user's units, if these are transformed.
    """

    model: MultiTaskModel
    steps: Pipeline | None = None
    target: Any = None
    prefix: str = ""
    centres: dict[Hashable, float] | None = None

    @property
    def plain(self) -> bool:
        """Whether there is nothing but the model."""
        return self.steps is None and self.target is None

    def fitted(self, X: Any, y: Any, rows: Indices | None = None) -> Chain:
        """Return the chain with what is around the model fitted to some rows, or to all."""
        if self.plain:
            return self
        own_X, own_y = (X, y) if rows is None else (take_rows(X, rows), take_rows(y, rows))
        steps = None if self.steps is None else clone(self.steps).fit(own_X, own_y)
        target = None if self.target is None else clone(self.target).fit(_as_columns(own_y))
        return Chain(self.model, steps, target, self.prefix)

    def at(self, X: Any) -> Any:
        """Return X as the model takes it."""
        return X if self.steps is None else self.steps.transform(X)

    def targets(self, y: Any) -> Any:
        """Return y as the model takes it."""
        if self.target is None:
            return y
        moved = np.asarray(self.target.transform(_as_columns(y)))
        return moved if np.ndim(y) == 2 else moved[:, 0]

    def restore(self, values: Array) -> Array:
        """Return predictions in the user's units."""
        if self.target is None:
            return values
        moved = np.asarray(self.target.inverse_transform(_as_columns(values)))
        return moved if values.ndim == 2 else moved[:, 0]

    def prepared(self, X: Any, y: Any, task: Any) -> Prepared:
        """Return a table as the model sees it; what is around the model is fitted."""
        reader, method = clone(self.model), method_of(self.model)
        at = self.at(X)
        data = read_table(reader, method, at, self.targets(y), task)
        points, tasks, kinds = data.points, data.tasks, (data.coded, data.names, data.wide)
        if self.target is None:
            return Prepared(points, tasks, tasks, *kinds)
        targets = read_table(reader, method, at, y, task).tasks
        width = np.shape(y)[1] if np.ndim(y) == 2 else 1
        return Prepared(points, tasks, targets, *kinds, partial(self._restore_task, width))

    def _restore_task(self, width: int, place: int, values: Array) -> Array:
        """Return predictions of one task in the user's units, of y with `width` columns."""
        if width == 1:
            return self.restore(values)
        columns = np.zeros((len(values), width))
        columns[:, place] = values
        return np.asarray(self.restore(columns)[:, place])

    def ask(self, method: str, X: Any, task: Any, **more: Any) -> Any:
        """Return what a method of the fitted model answers, in the user's units."""
        return self.restore(getattr(self.model, method)(self.at(X), task=task, **more))


def unwrapped(
    estimator: Any, *, fitted: bool = False, centres: dict[Hashable, float] | None = None
) -> Chain:
    """Take the estimator of this library out of a Pipeline or a TransformedTargetRegressor.

    Parameters
    ----------
    estimator : estimator
        One of this library's, alone or inside one of each.
    fitted : bool
        Whether to take the fitted parts, which `refitted` has put together.
    centres : dict, optional
        Mean training targets of the tasks in the user's units, if these are transformed.
    """
    steps, target, prefix, inner = None, None, "", estimator
    while not isinstance(inner, MultiTaskModel):
        if isinstance(inner, Pipeline) and steps is None and len(inner.steps) > 1:
            steps, (name, last) = Pipeline(inner.steps[:-1]), inner.steps[-1]
            prefix, inner = f"{prefix}{name}__", last
        elif isinstance(inner, TransformedTargetRegressor) and target is None:
            target = inner.transformer_ if fitted else _transformer_of(inner)
            inner = inner.regressor_ if fitted else inner.regressor
            prefix = f"{prefix}regressor__"
        else:
            raise TypeError(
                "estimator must be one of the paper's methods, such as MTONMKLRegressor, alone, at "
                "the end of a Pipeline or in a TransformedTargetRegressor, got "
                f"{type(estimator).__name__}. KernelhoodRegressor and KernelhoodClassifier have "
                "nothing to tune."
            )
    return Chain(inner, steps, target, prefix, centres)


def refitted(
    given: Any, first: Any, X: Any, y: Any, task: Any, sample_weight: Any
) -> tuple[Any, dict[Hashable, float] | None]:
    """Return an estimator fitted to all data, and the tasks' mean targets if it moves these.

    Parameters
    ----------
    given : estimator
        Not fitted.
    first : sequence, optional
        Weights to start every task's problem from.
    X, y, task, sample_weight
        As the estimator of this library takes them.
    """
    chain = unwrapped(given).fitted(X, y)
    fit_from(chain.model, chain.at(X), chain.targets(y), task, sample_weight, first)
    centres = None
    if chain.target is not None:
        tasks = chain.prepared(X, y, task).targets
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        centres = task_means(tasks, [weight[one.rows] for one in tasks])
    return assembled(given, chain, np.ndim(y) == 2), centres


def assembled(given: Any, chain: Chain, wide: bool) -> Any:
    """Return the estimator as the user gave it, made of the fitted parts of a chain.

    Parameters
    ----------
    given : estimator
        Not fitted.
    chain : Chain
        Its parts, fitted.
    wide : bool
        Whether y had two dimensions.
    """
    if isinstance(given, Pipeline):
        whole = clone(given)
        assert chain.steps is not None
        whole.steps = [*chain.steps.steps, (given.steps[-1][0], _last(given, chain, wide))]
        return whole
    if isinstance(given, TransformedTargetRegressor):
        whole = clone(given)
        whole.regressor_ = assembled(given.regressor, chain, wide)
        whole.transformer_, whole._training_dim = chain.target, 2 if wide else 1
        if hasattr(whole.regressor_, "feature_names_in_"):
            whole.feature_names_in_ = whole.regressor_.feature_names_in_
        return whole
    return chain.model


def _last(given: Pipeline, chain: Chain, wide: bool) -> Any:
    return assembled(given.steps[-1][1], chain, wide)


def _transformer_of(estimator: TransformedTargetRegressor) -> Any:
    """Return the transformer of the target, made of its functions if it has none."""
    if estimator.transformer is not None:
        return estimator.transformer
    return FunctionTransformer(
        func=estimator.func,
        inverse_func=estimator.inverse_func,
        validate=True,
        check_inverse=estimator.check_inverse,
    )


def take_rows(table: Any, rows: Indices) -> Any:
    """Return some rows of an array, a list, a sparse matrix or a data frame."""
    return _safe_indexing(table, rows)


def _as_columns(y: Any) -> AnyArray:
    values = np.asarray(y, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


@dataclass(frozen=True)
class SplitTask:
    """One task of one split.

    Attributes
    ----------
    number : int
        Its place among all tasks; a split may lack some.
    train : TaskRows
        The task's training rows and targets.
    X_train, X_test : ndarray or CSR matrix
        Its points.
    y_test : ndarray
        Targets of the test points, in the user's units.
    sample_weight : ndarray of shape (n_train,)
        Weights of the training rows.
    inputs : InputSummary
        What the kernels may know of the training rows of all tasks.
    wide : bool
        Whether tasks are the columns of y.
    classes : ndarray, optional
        All classes of the task, of which the training rows may lack some.
    centre : float
        The mean of the training targets, in the user's units.
    restore : callable, optional
        Brings predictions back into the user's units.
    """

    number: int
    train: TaskRows
    X_train: Any
    X_test: Any
    y_test: AnyArray
    sample_weight: Array
    inputs: InputSummary
    wide: bool = False
    classes: AnyArray | None = None
    centre: float = 0.0
    restore: Callable[[Array], Array] | None = None

    @property
    def tested(self) -> bool:
        """Whether the split has test rows of the task."""
        return len(self.y_test) > 0

    @cached_property
    def spread(self) -> float:
        """The squared error of the mean training target at the test points."""
        return float(np.sum((self.y_test - self.centre) ** 2))


#: The tasks of every split.
SplitTasks = list[list[SplitTask]]


def split_table(
    chain: Chain, cv: Any, X: Any, y: Any, task: Any, groups: Any, sample_weight: Any
) -> tuple[list[Hashable], SplitTasks]:
    """Return the names of the tasks, and the tasks of every split.

    What stands around the model is fitted to the training rows of every split.

    Parameters
    ----------
    chain : Chain
        The estimator.
    cv : float, int, splitter or iterable
        As a search takes it.
    X, y, task, groups, sample_weight
        As a search takes them.
    """
    whole = chain.fitted(X, y)
    table = whole.prepared(X, y, task)
    labels = read_points(clone(chain.model), whole.at(X), task, reset=True)[1]
    weight = _check_sample_weight(
        sample_weight, table.points, dtype=np.float64, ensure_non_negative=True
    )
    classes = None
    if is_classifier(chain.model):
        many = method_of(chain.model).many_classes
        classes = completed_classes([task_classes(one, many) for one in table.tasks])
    splits = as_splits(cv, X, y, groups, labels, classes=classes is not None)
    tables = [table] * len(splits)
    if not chain.plain:
        tables = [chain.fitted(X, y, train).prepared(X, y, task) for train, _ in splits]
    return [one.name for one in table.tasks], split_tasks(splits, tables, weight, classes)


def split_tasks(
    splits: list[Split], prepared: list[Prepared], weight: Array, classes: list[AnyArray] | None
) -> list[list[SplitTask]]:
    """Return the training and test part of every task, for every split.

    A task without training rows is left out of the split; one without test rows only trains.

    Parameters
    ----------
    splits : list of pairs of ndarray of int
        Training and test rows.
    prepared : list of Prepared
        The table, as it is in each split.
    weight : ndarray of shape (n_samples,)
        Weights of all rows; rows of weight 0 do not train.
    classes : list of ndarray, optional
        The classes of every task, if targets are classes.
    """
    parts: list[list[SplitTask]] = []
    for number, ((train, test), table) in enumerate(zip(splits, prepared, strict=True)):
        trains, tests = np.zeros(len(weight), dtype=bool), np.zeros(len(weight), dtype=bool)
        trains[train], tests[test] = True, True
        trains &= weight > 0.0
        places = range(len(table.tasks))
        trained = [place for place in places if trains[table.tasks[place].rows].any()]
        sides = Sides(trains, tests, _inputs(table, trains, weight))
        parts.append(
            [
                _split_task(place, table, sides, weight, classes and classes[place])
                for place in trained
            ]
        )
        if not any(one.tested for one in parts[-1]):
            raise ValueError(f"split {number} of cv has no task with both training and test rows.")
    return parts


class Sides(NamedTuple):
    """Which rows train and which test, and what is known of the inputs of the former."""

    trains: Flags
    tests: Flags
    inputs: InputSummary


def _inputs(table: Prepared, trains: Flags, weight: Array) -> InputSummary:
    """Return what a bank has to know of the training rows of a split."""
    rows = [task.rows[trains[task.rows]] for task in table.tasks]
    counts = [weight[own] for own in rows]
    return InputSummary.of_tasks(table.points, rows, counts, coded=table.coded, names=table.names)


def _split_task(
    place: int, table: Prepared, sides: Sides, weight: Array, classes: Any
) -> SplitTask:
    """Return one task of one split."""
    task, y = table.tasks[place], table.targets[place].y
    inside, outside = sides.trains[task.rows], sides.tests[task.rows]
    rows = task.rows[inside]
    centre = 0.0 if classes is not None else float(np.average(y[inside], weights=weight[rows]))
    return SplitTask(
        place,
        TaskRows(task.name, rows, task.y[inside]),
        table.points[rows],
        table.points[task.rows[outside]],
        y[outside],
        weight[rows],
        sides.inputs,
        table.wide,
        classes,
        centre,
        None if table.restore is None else partial(table.restore, place),
    )
