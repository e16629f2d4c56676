"""A fitted model that takes the rows of a table as they come."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from kernelhood._support import import_extra
from kernelhood._typing import AnyArray, Array
from kernelhood.estimators.multilevel import MultilevelModel
from kernelhood.estimators.peers import PooledClassifier, PooledRegressor
from kernelhood.estimators.reading import (
    as_objects,
    categories_of,
    names_without_task,
    some_of,
)
from kernelhood.kernels.columns import as_pandas, is_text, labels, numbers
from kernelhood.search.answers import asked_model
from kernelhood.tables.roles import REGRESSION, shown

#: What to do with rows of tasks that were not in the fit, as `unseen_task` of the estimators.
UNSEEN = ("warn", "shared", "error")

#: What a prediction rests on: the row's own task, its group, or what all tasks share.
OWN, GROUP, SHARED = "task", "group", "shared"


def warn_of_unseen(names: AnyArray) -> None:
    """Name tasks that were not in the fit and are predicted by what all tasks share.

    Parameters
    ----------
    names : ndarray of shape (n_rows,)
        The task of every such row.
    """
    new = list(dict.fromkeys("" if name is None else name for name in names.tolist()))
    if new:
        warnings.warn(
            f"tasks not seen in fit are predicted by what all tasks share: {some_of(new)}. "
            "unseen='shared' (--unseen shared) does so without a warning, and unseen='error' "
            "refuses them.",
            UserWarning,
            stacklevel=3,
        )


@dataclass
class TableModel:
    """A fitted estimator with all that it needs to predict raw rows.

    `fit_table` makes it, `kernelhood.save` and `kernelhood.load` write and read it.

    Attributes
    ----------
    estimator : KernelhoodRegressor or KernelhoodClassifier
        Fitted to the raw features.
    task, target : str
        Columns that name the task and hold the target.
    kind : {"classification", "regression"}
        What the target is.
    groups : str or None
        Column with the groups of tasks.
    quantiles : tuple of float
        Levels that `predict_frame` adds.
    record : dict
        What happened in the fit, as plain numbers and text: rows and tasks, the treatment of the
        columns, the scores, which columns each task uses, what is worth a look.

    Examples
    --------
    >>> import kernelhood as kh
    >>> from kernelhood.tables import fit_table
    >>> data = kh.datasets.make_multitask(n_tasks=2, n_samples=20, as_frame=True, random_state=0)
    >>> table = data.X.assign(shop=data.task, sold=data.y)
    >>> model = fit_table(table, task="shop", target="sold")
    >>> model.kind, model.predict(table).shape
    ('classification', (40,))
    """

    estimator: Any
    task: str
    target: str
    kind: str
    groups: str | None = None
    quantiles: tuple[float, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)

    def predict(self, table: Any, *, unseen: str = "warn") -> AnyArray:
        """Return the prediction for every row.

        Parameters
        ----------
        table : DataFrame of shape (n_rows, n_columns)
            Raw rows; the target need not be among the columns.
        unseen : {"warn", "shared", "error"}
            Whether rows of a task that was not in the fit are predicted, by its group or by what
            all tasks share, or refused. "warn" names tasks that have no known group in a warning.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(self.predict_frame(table, unseen=unseen)["prediction"])

    def predict_frame(self, table: Any, *, unseen: str = "warn") -> Any:
        """Return predictions with what they rest on.

        Parameters
        ----------
        table, unseen
            As `predict` takes them.

        Returns
        -------
        DataFrame of n_rows rows
            Columns `task`, `prediction` and `by`: "task" if the task was in the fit, else "group"
            or "shared". A classifier adds ``p=<class>`` for every class, a regressor that was
            fitted for quantiles ``q=<level>`` for every level.
        """
        pd = import_extra("pandas", "table")
        if unseen not in UNSEEN:
            raise ValueError(f"unseen={unseen!r} is unknown; give one of {', '.join(UNSEEN)}.")
        table = as_pandas(table)
        names = self.estimator.feature_names_in_.tolist()
        lacking = [name for name in (self.task, *names) if name not in table.columns]
        if lacking:
            what = "task column" if lacking[0] == self.task else "column"
            raise ValueError(f"{what} {lacking[0]!r} is missing; there are {shown(table.columns)}.")
        X, task = table[names], labels(table[self.task])
        by, groups = self._placed(table, task, unseen)
        named = np.array(["" if name is None else name for name in task.tolist()], dtype=object)
        if unseen == "warn":
            warn_of_unseen(task[by == SHARED])
        estimator = copy(self.estimator)
        if groups:
            estimator.relation = {**estimator.relation, **groups}
        columns = {"task": task, "prediction": estimator.predict(X, task=named), "by": by}
        return pd.DataFrame({**columns, **self._spread(estimator, X, named)})

    def _placed(self, table: Any, task: AnyArray, unseen: str) -> tuple[AnyArray, dict[str, str]]:
        """Return what each row's prediction rests on, and the groups of tasks never seen."""
        seen = set(self.estimator.tasks_)
        by = np.full(len(task), OWN, dtype=object)
        new = np.array([name not in seen for name in task.tolist()], dtype=bool)
        if not new.any():
            return by, {}
        names = list(dict.fromkeys("" if one is None else one for one in task[new].tolist()))
        if unseen == "error":
            raise ValueError(
                f"column {self.task!r} holds tasks not seen in fit: {some_of(names)}; "
                "unseen='error' refuses them."
            )
        by[new] = SHARED
        if self.groups is None or self.groups not in table.columns:
            return by, {}
        return self._by_group(labels(table[self.groups]), task, new, by)

    def _by_group(
        self, group: AnyArray, task: AnyArray, new: AnyArray, by: AnyArray
    ) -> tuple[AnyArray, dict[str, str]]:
        known = set(self.record.get("groups", {}).values())
        found: dict[str, str] = {}
        for row in np.flatnonzero(new & np.array([one in known for one in group.tolist()])):
            name = "" if task[row] is None else task[row]
            if found.setdefault(name, group[row]) == group[row]:
                by[row] = GROUP
        return by, found

    def _spread(self, estimator: Any, X: Any, task: AnyArray) -> dict[str, Array]:
        """Return the probabilities of the classes, or the quantiles that the fit asked for."""
        if self.quantiles:
            values = estimator.predict_quantiles(X, task=task, quantiles=self.quantiles)
            return {f"q={level:g}": values[:, k] for k, level in enumerate(self.quantiles)}
        if self.kind == REGRESSION:
            return {}
        found = estimator.predict_proba(X, task=task)
        return {f"p={label}": found[:, k] for k, label in enumerate(estimator.classes_.tolist())}


class FramedModel:
    """A fitted model with the names of its columns, which reads them from tables.

    Parameters
    ----------
    model : estimator, search or Pipeline
        Fitted to a data frame.
    task : str, optional
        The column that names the task, if the model does not have it among its own.
    """

    def __init__(self, model: Any, task: str | None = None) -> None:
        self.model, self.task = model, task
        if getattr(model, "feature_names_in_", None) is None:
            raise ValueError(
                f"the file holds a {type(model).__name__} that was fitted without names of "
                "columns: fit it to a data frame, or kernelhood.load it in Python."
            )
        self._last = model.steps[-1][1] if hasattr(model, "steps") else model
        if task is None and self._task_column is None and len(self._last.tasks_) > 1:
            raise ValueError("--task COLUMN is needed: the model was fitted with task=.")

    @property
    def _inner(self) -> Any:
        """The estimator of this library."""
        return asked_model(self._last) if hasattr(self._last, "best_estimator_") else self._last

    @property
    def _task_column(self) -> str | None:
        """The column of X that names the task."""
        own = self._inner.task_column
        return str(self.model.feature_names_in_[own]) if isinstance(own, Integral) else own

    def predict_frame(self, table: Any, *, unseen: str = "warn") -> Any:
        """Return predictions, with the task and what they rest on.

        Parameters
        ----------
        table : DataFrame of shape (n_rows, n_columns)
            Raw rows.
        unseen : {"warn", "shared", "error"}
            As `TableModel.predict_frame` takes it.

        Returns
        -------
        DataFrame of n_rows rows
            Columns `task`, `prediction` and `by`, and ``p=<class>`` if the model tells
            probabilities of classes that all tasks have.
        """
        pd = import_extra("pandas", "table")
        names, own = list(self.model.feature_names_in_), self.task or self._task_column
        for name in (*names, *([] if own is None else [own])):
            if name not in table.columns:
                raise ValueError(f"column {name!r} is missing; there are {shown(table.columns)}.")
        task = np.full(len(table), self._last.tasks_[0], dtype=object)
        if own is not None:
            task = self._tasks(table[own])
        by = self._placed(task, unseen)
        columns = {name: task if name == own else self._read(table[name]) for name in names}
        X, given = pd.DataFrame(columns), {} if self.task is None else {"task": task}
        found = {"task": task, "prediction": self.model.predict(X, **given), "by": by}
        return pd.DataFrame({**found, **self._probabilities(X, given)})

    def _read(self, column: Any) -> Any:
        """Return a column of text as what the model was fitted to: categories, or numbers."""
        if not is_text(column) or isinstance(self._inner, MultilevelModel):
            return column
        places = {name: k for k, name in enumerate(names_without_task(self._inner) or ())}
        known = categories_of(self._inner).get(places.get(column.name, -1), ())
        if known:
            return self._as_known(column, known)
        values, wrong = numbers(column)
        return labels(column) if wrong.any() else values

    def _tasks(self, column: Any) -> AnyArray:
        return self._as_known(column, self._last.tasks_)

    def _as_known(self, column: Any, known: Sequence[Hashable]) -> AnyArray:
        """Return the entries of a column as those that the model knows by the same label."""
        by_label = dict(zip(labels(as_objects(known)).tolist(), known, strict=True))
        return as_objects([by_label.get(label, label) for label in labels(column).tolist()])

    def _placed(self, task: AnyArray, unseen: str) -> AnyArray:
        """Return what each row's prediction rests on; let the model predict unseen tasks."""
        if isinstance(
            self._inner, (PooledClassifier, PooledRegressor)
        ):  # No task is unseen to a model that has forgotten them.
            return np.full(len(task), OWN, dtype=object)
        seen = set(self._last.tasks_)
        strange = [name for name in dict.fromkeys(task.tolist()) if name not in seen]
        shares = isinstance(self._inner, MultilevelModel) or getattr(
            getattr(self._inner, "relation_", None), "common", False
        )
        if strange and unseen != "error" and shares:
            self._inner.unseen_task = "shared"
        elif strange:
            why = "unseen='error' refuses them"
            if unseen != "error":
                why = "fit a model whose tasks share a function, such as relation='mixed'"
            raise ValueError(f"the table holds tasks not seen in fit: {some_of(strange)}; {why}.")
        if unseen == "warn":
            warn_of_unseen(as_objects(strange))
        return as_objects([OWN if name in seen else SHARED for name in task.tolist()])

    def _probabilities(self, X: Any, given: dict[str, Any]) -> dict[str, Array]:
        classes = getattr(self._last, "classes_", None)
        if not isinstance(classes, np.ndarray) or not hasattr(self.model, "predict_proba"):
            return {}
        found = self.model.predict_proba(X, **given)
        return {f"p={label}": found[:, k] for k, label in enumerate(classes.tolist())}
