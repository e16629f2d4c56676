"""An estimator of this library inside a pipeline, or behind a transformation of the target."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.base import MultiTaskModel, fit_from, method_of, read_table
from kernelhood.estimators.data import task_means
from kernelhood.estimators.reading import TaskRows


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
        Mean training targets of the tasks in the user's units, where these are transformed.
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
        Mean training targets of the tasks in the user's units, where these are transformed.
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
                "estimator must be one of this library's, alone or at the end of a Pipeline or "
                f"in a TransformedTargetRegressor, got {type(estimator).__name__}."
            )
    return Chain(inner, steps, target, prefix, centres)


def refitted(
    given: Any, first: Any, X: Any, y: Any, task: Any, sample_weight: Any
) -> tuple[Any, dict[Hashable, float] | None]:
    """Return an estimator fitted to all data, and the tasks' mean targets where it moves these.

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
    """Return the transformer of the target, made of its functions where it has none."""
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
