"""The points of a grid as one column for each parameter."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from kernelhood._typing import Array, Indices

_EXACT = 2**53


@dataclass(frozen=True)
class Column:
    """The values of one parameter.

    Attributes
    ----------
    values : list
        Different values, in the order they are given in.
    code : ndarray of int, shape (n_points,)
        The place of each point's value, -1 where the point leaves the parameter open.
    """

    values: list[Any]
    code: Indices

    @property
    def masked(self) -> Any:
        """The values as objects, masked where there is none."""
        table = np.empty(len(self.values) + 1, dtype=object)
        for place, value in enumerate(self.values):
            table[place] = value
        return np.ma.MaskedArray(table[self.code], mask=self.code < 0)

    def numbers(self, default: Any) -> Array | None:
        """Return the values as numbers, or None where they are not, with one for open points."""
        values = [*self.values, default] if np.any(self.code < 0) else self.values
        if not all(map(_is_exact, values)):
            return None
        return np.array(values, dtype=np.float64)[self.code]


def _is_exact(value: Any) -> bool:
    """Return whether a value is a number that stays what it is as a float."""
    if isinstance(value, (int, np.integer)):
        return not isinstance(value, bool) and abs(int(value)) <= _EXACT
    return isinstance(value, (float, np.floating)) and float(value) == value


def grid_columns(grid: ParameterGrid) -> dict[str, Column]:
    """Return a column for each name in a grid, for its points in their order."""
    parts: list[Mapping[str, Sequence[Any]]] = grid.param_grid
    sizes = [[len(part[name]) for name in sorted(part)] for part in parts]
    ends = np.cumsum([np.prod(size, dtype=np.intp) for size in sizes])
    columns = {}
    for name in sorted({name for part in parts for name in part}):
        code = np.full(len(grid), -1, dtype=np.intp)
        values: list[Any] = []
        for part, size, end in zip(parts, sizes, ends, strict=True):
            if name not in part:
                continue
            place = sorted(part).index(name)
            before, after = np.prod(size[:place], dtype=int), np.prod(size[place + 1 :], dtype=int)
            own = np.tile(np.repeat(np.arange(size[place]), after), before)
            code[end - len(own) : end] = len(values) + own
            values.extend(part[name])
        columns[name] = Column(values, code)
    return columns


def by_setting(
    columns: Mapping[str, Column], fixed: Mapping[str, Any], n_points: int
) -> Iterator[tuple[Indices, dict[str, Any], set[str]]]:
    """Go through the settings of a grid, what is no number, and the points that have each.

    Yields
    ------
    points : ndarray of int
        Their numbers.
    params : dict
        All parameters: a value, or a column of numbers for these points.
    names : set of str
        Of those that are columns.
    """
    numbers = {name: column.numbers(fixed[name]) for name, column in columns.items()}
    settings = [name for name, column in numbers.items() if column is None]
    label = labels([_equal(columns[name], fixed[name]) for name in settings], n_points)
    order = np.argsort(label, kind="stable")
    names = set(numbers).difference(settings)
    for points in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        params = dict(fixed)
        for name in settings:
            code = columns[name].code[points[0]]
            params[name] = columns[name].values[code] if code >= 0 else fixed[name]
        for name in names:
            params[name] = numbers[name][points]  # type: ignore[index]
        yield points, params, names


def _equal(column: Column, default: Any) -> Indices:
    """Return codes that are the same for values that are equal."""
    known: dict[Hashable, int] = {}
    same = [known.setdefault(hashable(value), len(known)) for value in [*column.values, default]]
    return np.array(same, dtype=np.intp)[column.code]


def hashable(value: Any) -> Hashable:
    """Return a value where it can be compared by its hash, otherwise who it is."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value  # type: ignore[no-any-return]


def labels(columns: Sequence[Any], n_points: int) -> Indices:
    """Return numbers that are the same for points that agree in all columns."""
    label = np.zeros(n_points, dtype=np.intp)
    for column in columns:
        values, own = np.unique(column, return_inverse=True)
        label = np.unique(label * len(values) + own, return_inverse=True)[1]
    return label


def varied(models: list[dict[str, Any]]) -> list[str]:
    """Return the names of the parameters that are not the same in all models."""
    return [
        name
        for name, value in models[0].items()
        if not all(params[name] is value for params in models)
    ]
