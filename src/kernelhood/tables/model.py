"""A fitted model that takes the rows of a table as they come."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelhood._extras import import_extra
from kernelhood._typing import AnyArray, Array
from kernelhood.columns import as_pandas, labels
from kernelhood.tables.encoder import TableEncoder, shown
from kernelhood.tasks import some_of

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
            "unseen='shared' does so without a warning, and unseen='error' refuses them.",
            UserWarning,
            stacklevel=3,
        )


@dataclass
class TableModel:
    """A fitted estimator with all that it needs to predict raw rows.

    `fit_table` makes it, `kernelhood.save` and `kernelhood.load` write and read it.

    Attributes
    ----------
    encoder : TableEncoder
        From columns to features.
    estimator : estimator
        Fitted to the features; one of this library.
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
        columns, the choice, the scores, which columns each task uses, what is worth a look.

    Examples
    --------
    >>> import kernelhood as kh
    >>> from kernelhood.tables import fit_table
    >>> data = kh.datasets.make_multitask(n_tasks=2, n_samples=20, as_frame=True, random_state=0)
    >>> table = data.X.assign(shop=data.task, sold=data.y)
    >>> model = fit_table(table, task="shop", target="sold", search="quick")
    >>> model.kind, model.predict(table).shape
    ('classification', (40,))
    """

    encoder: TableEncoder
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
            Columns `task`, `prediction` and `by`: "task" where the task was in the fit, else
            "group" or "shared". A classifier with probabilities adds ``p=<class>`` for every
            class, a regressor fitted for quantiles ``q=<level>`` for every level.
        """
        pd = import_extra("pandas", "table")
        if unseen not in UNSEEN:
            raise ValueError(f"unseen={unseen!r} is unknown; give one of {', '.join(UNSEEN)}.")
        table = as_pandas(table)
        if self.task not in table.columns:
            raise ValueError(f"task column {self.task!r} is missing; there are {self._has(table)}.")
        X, task = self.encoder.transform(table), labels(table[self.task])
        by, features = self._placed(table, task, unseen)
        named = np.array(["" if name is None else name for name in task.tolist()], dtype=object)
        known = {"task": named, **({"task_features": features} if features else {})}
        if self._shares:
            self.estimator.unseen_task = "shared"
        if unseen == "warn":
            warn_of_unseen(task[by == SHARED])
        columns = {"task": task, "prediction": self._predicted(X, known), "by": by}
        return pd.DataFrame({**columns, **self._spread(X, known)})

    def _has(self, table: Any) -> str:
        return shown(table.columns)

    @property
    def _shares(self) -> bool:
        relation = getattr(self.estimator, "relation_", None)
        return bool(getattr(relation, "common", False))

    def _placed(self, table: Any, task: AnyArray, unseen: str) -> tuple[AnyArray, dict[str, str]]:
        """Return what each row's prediction rests on, and the groups of tasks never seen."""
        seen = set(self.estimator.tasks_)
        by = np.full(len(task), OWN, dtype=object)
        new = np.array([name not in seen for name in task.tolist()], dtype=bool)
        if not new.any():
            return by, {}
        names = list(dict.fromkeys("" if one is None else one for one in task[new].tolist()))
        if unseen == "error" or not self._shares:
            why = "unseen='error' refuses them"
            if not self._shares:
                why = (
                    "the tasks of this model share no function. Fit again with rows of them, or "
                    "with search='quick', whose tasks always share one"
                )
            raise ValueError(
                f"column {self.task!r} holds tasks not seen in fit: {some_of(names)}; {why}."
            )
        by[new] = SHARED
        if self.groups is None or self.groups not in table.columns:
            return by, {}
        return self._by_group(labels(table[self.groups]), task, new, by)

    def _by_group(
        self, group: AnyArray, task: AnyArray, new: AnyArray, by: AnyArray
    ) -> tuple[AnyArray, dict[str, str]]:
        known = set(self.record.get("groups", {}).values())
        features: dict[str, str] = {}
        for row in np.flatnonzero(new & np.array([one in known for one in group.tolist()])):
            name = "" if task[row] is None else task[row]
            if features.setdefault(name, group[row]) == group[row]:
                by[row] = GROUP
        return by, features

    def _predicted(self, X: Array, known: dict[str, Any]) -> AnyArray:
        return np.asarray(self.estimator.predict(X, **known))

    def _spread(self, X: Array, known: dict[str, Any]) -> dict[str, Array]:
        """Return probabilities of the classes, or quantiles, where the fit asked for them."""
        if self.quantiles:
            values = self.estimator.predict_quantiles(X, quantiles=self.quantiles, **known)
            return {f"q={level:g}": values[:, k] for k, level in enumerate(self.quantiles)}
        if getattr(self.estimator, "probability", False):
            return self._probabilities(np.asarray(self.estimator.predict_proba(X, **known)), known)
        return {}

    def _probabilities(self, found: Array, known: dict[str, Any]) -> dict[str, Array]:
        """Return a column for every class of any task, 0 where a task does not have it."""
        classes = self.estimator.classes_
        if not isinstance(classes, list):
            return {f"p={label}": found[:, k] for k, label in enumerate(classes.tolist())}
        of_task = dict(zip(self.estimator.tasks_, classes, strict=True))
        labels_ = sorted({label for own in classes for label in own.tolist()})
        places = {label: place for place, label in enumerate(labels_)}
        values = np.zeros((len(found), len(labels_)))
        for row, name in enumerate(known["task"].tolist()):
            for column, label in enumerate(of_task[name].tolist()):
                values[row, places[label]] = found[row, column]
        return {f"p={label}": values[:, place] for label, place in places.items()}
