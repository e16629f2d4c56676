"""The rows that a model is fitted to, in an order of their own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import roots_hermitenorm

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.reading import missing

#: Events of more rows are looked for in cells of the features, not by distances.
_MANY_ROWS = 6_000
#: A column looks like the time of a panel if so many tasks have most of its values once.
_PANEL_TASKS, _PANEL_VALUES, _PANEL_SHARE = 8, 5, 0.9
#: Rows of different tasks are one event if they differ by less in every feature, on average; with
#: few features that is chance.
_SAME, _FEW_FEATURES = 0.05, 4
#: A larger group of equal rows is a design with few values, not one event.
_LARGEST_EVENT = 8
_ROWS_AT_ONCE = 1024


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
    place : ndarray of int, shape (n,)
        Where each row was given.
    """

    X: Any
    y: AnyArray
    weight: Array
    task: AnyArray
    occasion: AnyArray | None
    place: Indices

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
        keys = [_sortable(y), *_sortable_columns(X), _sortable(task)]
        kept = kept[np.lexsort([key[kept] for key in keys])]
        X = X.iloc[kept].reset_index(drop=True) if hasattr(X, "iloc") else X[kept]
        own = None if occasion is None else occasion[kept]
        return cls(X, y[kept], weight[kept], task[kept], own, kept)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        if hasattr(self.X, "columns"):
            return [str(name) for name in self.X.columns]
        return [f"column {place}" for place in range(self.X.shape[1])]

    @property
    def task_numbers(self) -> Indices:
        """The task of every row, from 0."""
        return np.unique(self.task.astype(str), return_inverse=True)[1]

    @property
    def occasion_numbers(self) -> Indices | None:
        """The occasion of every row, from 0."""
        if self.occasion is None:
            return None
        return np.unique(self.occasion.astype(str), return_inverse=True)[1]

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


def same_events(E: Array, z: Array, task: Indices) -> Indices:
    """Return the event of every row, from 0: rows of different tasks that are nearly equal.

    Two meters of one line, one image in two tasks: to predict such a row by its twin is not
    to know anything, so that they have to be left out together.

    Parameters
    ----------
    E : ndarray of shape (n, n_features)
        Features, in units of their spread.
    z : ndarray of shape (n, n_targets)
        Targets, in units of their spread.
    task : ndarray of int, shape (n,)
        The task of every row.

    Examples
    --------
    >>> E = np.repeat([[0.0], [1.0], [1.0], [1.0]], 5, axis=1)
    >>> z = np.array([[0.0], [2.0], [2.0], [-2.0]])
    >>> same_events(E, z, np.array([0, 0, 1, 1])).tolist()
    [0, 1, 1, 2]
    """
    points, n = np.hstack([E, z]), len(E)
    if E.shape[1] < _FEW_FEATURES:
        return np.arange(n)
    if n > _MANY_ROWS:
        cells = np.ascontiguousarray(np.round(points / (2.0 * _SAME)))
        found = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
        return _of_tasks(found)
    squares, pairs = np.sum(points**2, axis=1), []
    most = _SAME**2 * points.shape[1] + 1e-9
    for begin in range(0, n, _ROWS_AT_ONCE):
        own = slice(begin, begin + _ROWS_AT_ONCE)
        near = squares[own, None] + squares - 2.0 * (points[own] @ points.T) < most
        pairs.append(sparse.csr_matrix(near & (task[own, None] != task)))
    return _of_tasks(sparse.csgraph.connected_components(sparse.vstack(pairs), directed=False)[1])


def _of_tasks(found: Indices) -> Indices:
    """Return events from 0, without those of too many rows."""
    alone = np.bincount(found)[found] > _LARGEST_EVENT
    found = np.where(alone, len(found) + np.arange(len(found)), found)
    return np.unique(found, return_inverse=True)[1]


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


_NODES = 15
#: The standard deviation of a normal distribution, in median deviations.
_NORMAL = 1.4826
#: Outliers are so many deviations off, so many in logarithms, and at most such a share of rows.
_FAR, _FAR_IN_LOGS, _FEW = 100.0, 10.0, 0.02


@dataclass(frozen=True)
class Units:
    """Targets as the model sees them: a power, then mean 0 and variance 1.

    Attributes
    ----------
    mean, size : float
        What is taken off, and what the rest is divided by.
    power : float
        1 for targets as they are, 0 for logarithms.
    """

    mean: float
    size: float
    power: float = 1.0

    @classmethod
    def of(cls, y: Array, weight: Array, power: float = 1.0) -> Units:
        """Return the units of training targets."""
        bent = _bent(y, power)
        largest = float(np.abs(bent).max(initial=0.0)) or 1.0
        mean = float(np.average(bent / largest, weights=weight)) * largest
        size = float(np.sqrt(np.average(((bent - mean) / largest) ** 2, weights=weight))) * largest
        return cls(mean, size if size > 1e-12 * largest else 1.0, power)

    @classmethod
    def robust(cls, y: Array, power: float = 1.0) -> Units:
        """Return units that outliers do not change: the median, and the median deviation."""
        bent = _bent(y, power)
        middle = float(np.median(bent))
        size = float(np.median(np.abs(bent - middle))) * _NORMAL
        return cls(middle, size, power) if size > 0.0 else cls.of(y, np.ones_like(y), power)

    def to(self, y: Array) -> Array:
        """Return targets as the model sees them."""
        return (_bent(y, self.power) - self.mean) / self.size

    def log_slope(self, y: Array) -> float:
        """Return the sum of the logarithms of the slopes of `to`."""
        bend = 0.0 if self.power == 1.0 else (self.power - 1.0) * float(np.log(y).sum())
        return bend - len(y) * float(np.log(self.size))

    def back(self, mean: Array, variance: Array | None) -> Array:
        """Return the mean in the user's units of what has a mean and a variance in the model's.

        What is known less than the targets as a whole, such as of a task far from all others, is
        taken for as well known as these: else its mean would be that of a tail.
        """
        if self.power == 1.0 or variance is None:
            return _unbent(self.mean + self.size * mean, self.power)
        values, share = self._quadrature(mean, np.minimum(variance, 1.0))
        return np.asarray(values @ share)

    def spread(self, mean: Array, variance: Array) -> Array:
        """Return the standard deviation in the user's units."""
        if self.power == 1.0:
            return np.asarray(self.size * np.sqrt(variance))
        values, share = self._quadrature(mean, variance)
        return np.asarray(np.sqrt(np.maximum(values**2 @ share - (values @ share) ** 2, 0.0)))

    def _quadrature(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return targets at the nodes of a Gaussian, and the weights of the nodes."""
        nodes, weights = roots_hermitenorm(_NODES)
        at = mean[:, None] + np.sqrt(variance)[:, None] * nodes
        return _unbent(self.mean + self.size * at, self.power), weights / weights.sum()


def _bent(y: Array, power: float) -> Array:
    if power == 1.0:
        return y
    return np.asarray(np.log(y) if power == 0.0 else y**power / power)


def _unbent(z: Array, power: float) -> Array:
    if power == 1.0:
        return z
    if power == 0.0:
        return np.asarray(np.exp(np.minimum(z, 700.0)))
    return np.asarray(np.maximum(power * z, 0.0) ** (1.0 / power))


def has_outliers(y: Array) -> bool:
    """Return whether a few targets are so far off that they would decide about all others.

    Positive targets with a long tail are not meant: outliers are far off in logarithms, too.

    Examples
    --------
    >>> has_outliers(np.arange(100.0)), has_outliers(np.append(np.arange(100.0), 1e6))
    (False, True)
    >>> has_outliers(np.exp(np.linspace(-7.0, 7.0, 1000)))
    False
    """
    far = np.abs(Units.robust(y).to(y)) > _FAR
    if y.min() > 0.0:
        far &= np.abs(Units.robust(y, 0.0).to(y)) > _FAR_IN_LOGS
    return bool(0.0 < np.mean(far) <= _FEW)
