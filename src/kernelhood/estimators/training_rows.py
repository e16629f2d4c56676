"""The rows that a model is fitted to, in an order of their own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array
from kernelhood.tasks import missing

_MOST_ROWS = 8_000
#: A column looks like the time of a panel if so many tasks have most of its values once.
_PANEL_TASKS, _PANEL_VALUES, _PANEL_SHARE = 8, 5, 0.9


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows with a target and a weight, by task and then by what they hold.

    Attributes
    ----------
    X : data frame or ndarray of shape (n, n_features)
        Features.
    y : ndarray of shape (n,)
        Targets.
    weight : ndarray of shape (n,)
        Positive weights.
    task, occasion : ndarray of shape (n,)
        Labels; the occasions may be None.
    """

    X: Any
    y: AnyArray
    weight: Array
    task: AnyArray
    occasion: AnyArray | None

    @classmethod
    def of(
        cls, X: Any, y: AnyArray, weight: Array, task: AnyArray, occasion: AnyArray | None
    ) -> TrainingRows:
        """Return the rows that count, sorted, so that the order they come in does not matter."""
        lacking = missing(y)
        if lacking.all():
            raise ValueError("Input y contains NaN in every row: there is no target.")
        if lacking.any():
            warnings.warn(
                f"{int(lacking.sum())} of {len(y)} rows have no target and are left out.",
                UserWarning,
                stacklevel=5,
            )
        kept = np.flatnonzero(~lacking & (weight > 0.0))
        if not len(kept):
            raise ValueError("sample_weight is zero for every row with a target.")
        if len(kept) > _MOST_ROWS:
            raise ValueError(
                f"X holds {len(kept)} rows with a target, and this model holds matrices between "
                f"all of them: give at most {_MOST_ROWS}, or use MTONMKLRegressor or "
                "MTONMKLClassifier with operator='low_rank'."
            )
        keys = [_sortable(y), *_sortable_columns(X), _sortable(task)]
        kept = kept[np.lexsort([key[kept] for key in keys])]
        X = X.iloc[kept].reset_index(drop=True) if hasattr(X, "iloc") else X[kept]
        own = None if occasion is None else occasion[kept]
        return cls(X, y[kept], weight[kept], task[kept], own)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        if hasattr(self.X, "columns"):
            return [str(name) for name in self.X.columns]
        return [f"column {place}" for place in range(self.X.shape[1])]

    def panel_column(self) -> str | None:
        """Return a column of which nearly every value is there once in each of many tasks."""
        tasks = _sortable(self.task)
        n_tasks = len(np.unique(tasks))
        if n_tasks < _PANEL_TASKS:
            return None
        for name, column in zip(self.names, reversed(_sortable_columns(self.X)), strict=True):
            values, code = np.unique(column, return_inverse=True)
            pairs = len(np.unique(code * n_tasks + np.unique(tasks, return_inverse=True)[1]))
            often = len(values) >= _PANEL_VALUES and len(column) >= _PANEL_SHARE * (
                len(values) * n_tasks
            )
            if often and pairs >= _PANEL_SHARE * len(column):
                return name
        return None


def _sortable(values: AnyArray) -> AnyArray:
    """Return numbers in the order of values."""
    if values.dtype.kind in "biuf":
        return values
    names = {value: place for place, value in enumerate(sorted({str(v) for v in values.tolist()}))}
    return np.array([names[str(value)] for value in values.tolist()])


def _sortable_columns(X: Any) -> list[AnyArray]:
    if hasattr(X, "columns"):
        return [_sortable(np.asarray(column)) for _, column in reversed(list(X.items()))]
    return list(X.T[::-1])


def unfolded(
    X: Any, y: AnyArray, weight: Array, occasion: AnyArray | None
) -> tuple[Any, AnyArray, Array, AnyArray, AnyArray | None]:
    """Return rows, targets, weights, tasks and occasions with one row for each target there is."""
    count = y.shape[1]
    seen = ~missing(y)
    if not seen.any(axis=0).all():
        column = int(np.argmin(seen.any(axis=0)))
        raise ValueError(f"y has no observed entry in column {column}: every task needs some.")
    flat = seen.T.ravel()
    task = np.repeat(np.arange(count), len(y)).astype(object)[flat]
    again = tiled(X, count)
    again = again[flat].reset_index(drop=True) if hasattr(again, "iloc") else again[flat]
    own = None if occasion is None else np.tile(occasion, count)[flat]
    return again, y.T.ravel()[flat], np.tile(weight, count)[flat], task, own


def tiled(X: Any, count: int) -> Any:
    """Return rows again and again."""
    rows = np.tile(np.arange(len(X)), count)
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]
