"""A fitted model that takes the rows of a table as they come."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelhood._extras import import_extra
from kernelhood._typing import AnyArray, Array
from kernelhood.columns import as_pandas, labels
from kernelhood.tables.encoder import shown
from kernelhood.tables.roles import REGRESSION
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
