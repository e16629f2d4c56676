"""A fitted function in parts: terms on every level, the tasks' functions, effects of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from kernelhood._typing import Array, Indices
from kernelhood.estimators.additive import AdditiveFunction
from kernelhood.kernels.columns import CategoryColumn, Column, DateColumn, LeftOut, NumberColumn
from kernelhood.solvers.gaussian import INTERCEPT

_ROWS_AT_ONCE = 2048
#: Rows at which functions of tasks are compared: so many, fewer if there are many tasks.
_COMPARED, _MOST_VALUES_COMPARED = 100, 40_000
#: Values of a column at which its effect is computed.
_VALUES = 40


def values_at(function: AdditiveFunction, E: Array, places: Indices) -> Array:
    """Return the functions at encoded rows, some rows at a time.

    Parameters
    ----------
    function : AdditiveFunction
        Fitted.
    E : ndarray of shape (n_rows, n_features)
        Encoded rows.
    places : ndarray of int, shape (n_levels, n_rows)
        Their groups.
    """
    return _in_parts(function.at_features, E, places)


def _in_parts(values: Callable[[Array, Indices], Array], E: Array, places: Indices) -> Array:
    parts = [
        values(E[at : at + _ROWS_AT_ONCE], places[:, at : at + _ROWS_AT_ONCE])
        for at in range(0, len(E), _ROWS_AT_ONCE)
    ]
    return np.vstack(parts)


def sizes_by_task(function: AdditiveFunction, task: Indices) -> Iterator[tuple[int, int, Array]]:
    """Yield level and term of every part, and its mean square at the rows of each task.

    Parameters
    ----------
    function : AdditiveFunction
        Fitted.
    task : ndarray of int, shape (n,)
        The task of every training row, from 0.
    """
    count = np.bincount(task)
    for level, term in np.argwhere(function.weights > 0.0).tolist():
        weights = np.zeros_like(function.weights)
        weights[level, term] = function.weights[level, term]
        values = values_at(
            function.with_weights(weights), function.E, function.groups
        ) - INTERCEPT * function.a.sum(axis=0)
        squares = np.mean((values - values.mean(axis=0)) ** 2, axis=1)
        yield level, term, np.bincount(task, squares) / count


def places_of_tasks(function: AdditiveFunction, task: Indices, known: Sequence[bool]) -> Indices:
    """Return the groups of every task, of shape (n_levels, n_tasks).

    Parameters
    ----------
    function : AdditiveFunction
        Fitted.
    task : ndarray of int, shape (n,)
        The task of every training row, from 0.
    known : sequence of bool
        Which levels a task decides about; a new row has nothing of the others.
    """
    first = np.unique(task, return_index=True)[1]
    return np.where(np.asarray(known)[:, None], function.groups[:, first], -1)


def nearest_tasks(function: AdditiveFunction, places: Indices, most: int = 3) -> Indices:
    """Return the tasks whose functions differ least from that of each task, the nearest first.

    Parameters
    ----------
    function : AdditiveFunction
        Fitted.
    places : ndarray of int, shape (n_levels, n_tasks)
        The groups of every task.
    most : int
        How many.

    Returns
    -------
    ndarray of int, shape (n_tasks, min(most, n_tasks - 1))
    """
    n_tasks = places.shape[1]
    few = min(len(function.E), max(_MOST_VALUES_COMPARED // n_tasks, 8), _COMPARED)
    points = function.E[np.linspace(0, len(function.E) - 1, few).astype(np.intp)]
    values = values_at(function, np.tile(points, (n_tasks, 1)), np.repeat(places, few, axis=1))
    values = values.reshape(n_tasks, -1)
    apart = cdist(values, values, "sqeuclidean")
    np.fill_diagonal(apart, np.inf)
    return np.argsort(apart, axis=1, kind="stable")[:, : min(most, n_tasks - 1)]


@dataclass(frozen=True, eq=False)
class Effect:
    """What a column does if the other columns are those of a typical row.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "date", "category"}
        What it is.
    at : ndarray of shape (n_values,)
        Numbers, days since 1970, or the places of the levels.
    levels : list of str
        Names of the values of a category.
    mean, variance : ndarray of shape (n_curves, n_values, n_targets)
        Of the function: what all tasks have in common first, then one curve for each task.
    """

    name: str
    kind: str
    at: Array
    levels: list[str]
    mean: Array
    variance: Array


def effect_of(function: AdditiveFunction, name: str, places: Indices) -> Effect:
    """Return what a column does in common and in some tasks.

    Parameters
    ----------
    function : AdditiveFunction
        Fitted.
    name : str
        The column.
    places : ndarray of int, shape (n_levels, n_curves)
        The groups of every curve.
    """
    start, column = _placed(function)[name]
    width = len(column.features)
    block = function.E[:, start : start + width]
    values = np.unique(block, axis=0)
    kept = np.unique(np.linspace(0, len(values) - 1, min(_VALUES, len(values))).astype(np.intp))
    if isinstance(column, CategoryColumn):
        values = values[np.argsort(values.argmax(axis=1), kind="stable")]
    values = values[kept]
    rows = np.tile(_typical(function.E), (len(values), 1))
    rows[:, start : start + width] = values
    n_curves = places.shape[1]
    E, own = np.tile(rows, (n_curves, 1)), np.repeat(places, len(values), axis=1)
    shape = (n_curves, len(values), function.a.shape[1])
    mean = values_at(function, E, own).reshape(shape)
    variance = _in_parts(function._variance, E, own).reshape(shape)
    at, levels = np.arange(float(len(values))), [_level(column, one) for one in values]
    if isinstance(column, NumberColumn | DateColumn):
        at = column.mean + column.spread * values[:, 0]
    kind = {NumberColumn: "number", DateColumn: "date"}.get(type(column), "category")
    return Effect(name, kind, at, levels if kind == "category" else [], mean, variance)


def columns_that_matter(function: AdditiveFunction, places: Indices) -> list[str]:
    """Return columns by how much predictions move with them, those that do nothing left out.

    Parameters
    ----------
    function : AdditiveFunction
        Fitted.
    places : ndarray of int, shape (n_levels, n_curves)
        The groups of some tasks.
    """
    n, rows = len(function.E), np.linspace(0, len(function.E) - 1, _COMPARED).astype(np.intp)
    some = function.E[np.unique(rows)]
    groups = np.repeat(places, len(some), axis=1)
    before = values_at(function, np.tile(some, (places.shape[1], 1)), groups)
    moved = {}
    for name, (start, column) in _placed(function).items():
        changed, own = some.copy(), slice(start, start + len(column.features))
        changed[:, own] = np.roll(some, max(len(some) // 3, 1), axis=0)[:, own] if n > 1 else 0.0
        after = values_at(function, np.tile(changed, (places.shape[1], 1)), groups)
        moved[name] = float(np.mean((after - before) ** 2))
    largest = max(moved.values(), default=0.0)
    kept = [name for name, one in moved.items() if one > 1e-4 * largest]
    return sorted(kept, key=lambda name: -moved[name])


def _placed(function: AdditiveFunction) -> dict[str, tuple[int, Column]]:
    """Return every column that is used with the place of its first feature."""
    found: dict[str, tuple[int, Column]] = {}
    at = 0
    for one in function.scaled.bank.columns:
        if not isinstance(one, LeftOut):
            found[one.name] = (at, one)
        at += len(one.features)
    return found


def _typical(E: Array) -> Array:
    """Return the row that is nearest to the median of all features."""
    apart = np.sum((E - np.median(E, axis=0)) ** 2, axis=1)
    return np.asarray(E[int(np.argmin(apart))])


def _level(column: Column, values: Array) -> str:
    """Return the name of a value of a category."""
    if not isinstance(column, CategoryColumn):
        return ""
    if not values.any():
        return "other"
    place = int(values.argmax())
    return column.levels[place] if place < len(column.levels) else "missing"
