"""An estimator or search that was fitted to a data frame, and takes the rows of a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from kernelhood._extras import import_extra
from kernelhood._typing import AnyArray, Array
from kernelhood.columns import is_text, labels, numbers
from kernelhood.estimators.multilevel import MultilevelModel
from kernelhood.tables.encoder import shown
from kernelhood.tables.model import OWN, SHARED, warn_of_unseen
from kernelhood.tasks import as_objects, some_of


class FramedModel:
    """A fitted model with the names of its columns, which reads them from tables.

    Parameters
    ----------
    model : estimator, search or Pipeline
        Fitted to a data frame.
    task : str, optional
        The column that names the task, where the model does not have it among its own.
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
        return self._last._asked_model() if hasattr(self._last, "best_estimator_") else self._last

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
            Columns `task`, `prediction` and `by`, and ``p=<class>`` where the model tells
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
        places = {name: k for k, name in enumerate(self._inner._names_without_task() or ())}
        known = self._inner._categories.get(places.get(column.name), ())
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
        one_function = getattr(self._inner, "_one_function", False)
        if one_function:  # No task is unseen to a model that has forgotten them.
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
