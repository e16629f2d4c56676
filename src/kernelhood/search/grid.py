"""The points of a grid as one column for each parameter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from sklearn.model_selection import ParameterGrid

from kernelhood._typing import Array, Indices
from kernelhood.estimators.base import MultiTaskModel, method_type
from kernelhood.estimators.method import TECHNICAL
from kernelhood.estimators.related_model import check_names

_EXACT = 2**53


@dataclass(frozen=True)
class Column:
    """The values of one parameter.

    Attributes
    ----------
    values : list
        Different values, in the order they are given in.
    code : ndarray of int, shape (n_points,)
        The place of each point's value, -1 if the point leaves the parameter open.
    """

    values: list[Any]
    code: Indices

    @property
    def masked(self) -> Any:
        """The values as objects, masked if there is none."""
        table = np.empty(len(self.values) + 1, dtype=object)
        for place, value in enumerate(self.values):
            table[place] = value
        return np.ma.MaskedArray(table[self.code], mask=self.code < 0)

    def numbers(self, default: Any) -> Array | None:
        """Return the values as numbers, or None if they are not, with one for open points."""
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
    """Go through the settings of a grid, what is not a number, and the points that have each.

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
    """Return a value if it can be compared by its hash, otherwise its id."""
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


T = TypeVar("T")

_C = tuple(2.0**k for k in range(-13, 14))
_POWERS = tuple(2.0**k for k in range(41))

_OWN: dict[str, dict[str, tuple[Any, ...]]] = {
    "mt-onmkl": {"eta": _POWERS, "beta": _POWERS},
    "itl": {},
    "avmtmkl": {},
    "mt-mkl": {},
    "rpkl": {"spread_level": (1, 2, 3)},
    "onjkl": {"rho": tuple(2.0**k for k in (-10, -6, -2, -1, 2, 6, 10, 14, 18, 22, 26, 30))},
    "kta": {"eta": _POWERS},
    "pooled": {},
}


def paper_grid(method: str = "mt-onmkl") -> dict[str, list[Any]]:
    r"""Return the grid of the paper's experiments.

    C runs over :math:`2^{-13}, \dots, 2^{13}` for every method, eta and beta over
    :math:`2^0, \dots, 2^{40}`, RPKL's spread level over 1, 2, 3. The paper gives no grid for
    ONJKL's rho: :math:`2^{-10}, 2^{-6}, \dots, 2^{30}` are used, and 1/2, for which the matrix is
    the printed one, :math:`K + (Y\alpha)(Y\alpha)'`.

    Parameters
    ----------
    method : str
        A key of ``kernelhood.estimators.METHODS``.

    Examples
    --------
    >>> grid = paper_grid()
    >>> len(grid["C"]) * len(grid["eta"]) * len(grid["beta"])
    45387
    """
    if method not in _OWN:
        raise ValueError(f"method must be one of {', '.join(_OWN)}, got {method!r}.")
    grid: dict[str, list[Any]] = {"C": list(_C)}
    grid.update({name: list(values) for name, values in _OWN[method].items()})
    return grid


@dataclass(frozen=True)
class Models:
    """The distinct models of a grid.

    Attributes
    ----------
    points : list of dict
        All points of the grid.
    columns : dict of str to Column
        Their values, by the name of the parameter.
    model_of : ndarray of int, shape (n_points,)
        The model of each point, -1 for points outside the estimator's domain.
    models : list of dict
        Parameters to solve each model with, in the order of the path.
    strength : ndarray of int, shape (n_models,)
        Rank of each model, 0 for the strongest regularisation.
    reasons : dict
        Why a point is outside the domain, by its number.
    """

    points: list[dict[str, Any]]
    columns: dict[str, Column]
    model_of: Indices
    models: list[dict[str, Any]]
    strength: Indices
    reasons: dict[int, str]


def without_prefix(grid: Any, prefix: str) -> Any:
    """Return a grid with the names that parameters have in the estimator itself.

    Parameters
    ----------
    grid : dict or list of dict
        As scikit-learn's ParameterGrid takes it.
    prefix : str
        What comes before these names if the estimator is inside another, as in a pipeline.
    """
    if not prefix:
        return grid
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    for name in (name for part in parts for name in part):
        if not name.startswith(prefix):
            raise ValueError(
                f"param_grid names {name!r}, but a search goes through the parameters of this "
                f"library's estimator only, such as {prefix}C. Use scikit-learn's GridSearchCV for "
                "those of other steps."
            )
    return [{name.removeprefix(prefix): part[name] for name in part} for part in parts]


def named_by(models: Models, prefix: str) -> Models:
    """Return models with the names that parameters have in the whole estimator."""
    if not prefix:
        return models
    points = [{prefix + name: value for name, value in one.items()} for one in models.points]
    columns = {prefix + name: column for name, column in models.columns.items()}
    return replace(models, points=points, columns=columns)


def distinct_models(estimator: MultiTaskModel, grid: Any) -> Models:
    """Return the points of a grid and the models they stand for.

    Parameters
    ----------
    estimator : estimator
        Its method says by `canonical` which parameters give the same predictor.
    grid : dict or list of dict
        As scikit-learn's ParameterGrid takes it.
    """
    listed = ParameterGrid(grid)
    points, columns = list(listed), grid_columns(listed)
    if not points:
        raise ValueError("param_grid holds no point.")
    defaults = estimator.get_params(deep=False)
    _check_names(columns, defaults, estimator)
    fixed = _without_technical(defaults)
    first, reasons = _first_alike(estimator, points, columns, fixed)
    found: dict[Hashable, dict[str, Any]] = {}
    keys: dict[int, Hashable] = {}
    for number in np.unique(first[first >= 0]).tolist():
        params = {**fixed, **_without_technical(points[number])}
        canonical = method_type(estimator, params).canonical(params)
        keys[number] = _key(canonical)
        found.setdefault(keys[number], canonical)
    if not found:
        raise ValueError(f"param_grid has no point that can be solved: {reasons[0]}")
    names = varied(list(found.values()))
    order = _path_order(estimator, list(found.values()), names)
    different = list(found.items())
    models = [different[number][1] for number in order]
    place = {different[number][0]: rank for rank, number in enumerate(order)}
    # One entry more, for the -1 of points outside the domain.
    model_at = np.full(len(points) + 1, -1, dtype=np.intp)
    model_at[list(keys)] = [place[key] for key in keys.values()]
    return Models(points, columns, model_at[first], models, _strengths(models, names), reasons)


def _first_alike(
    estimator: MultiTaskModel,
    points: list[dict[str, Any]],
    columns: dict[str, Column],
    fixed: dict[str, Any],
) -> tuple[Indices, dict[int, str]]:
    """Return for every point the first one with the same canonical numbers and settings.

    It is -1 for points outside the domain, for which the reason is returned.
    """
    first = np.full(len(points), -1, dtype=np.intp)
    for numbers, params, names in by_setting(_without_technical(columns), fixed, len(points)):
        method = method_type(estimator, params)
        inside = np.broadcast_to(method.in_domain(params), len(numbers))
        if not inside.any():
            continue
        with np.errstate(all="ignore"):
            canonical = method.canonical(params)
        changed = [
            value[inside]
            for name, value in canonical.items()
            if isinstance(value, np.ndarray) and (name in names or value is not params[name])
        ]
        numbers = numbers[inside]
        _, start, label = np.unique(
            labels(changed, len(numbers)), return_index=True, return_inverse=True
        )
        first[numbers] = numbers[start][label]
    reasons = {}
    for number in np.flatnonzero(first < 0).tolist():
        params = {**fixed, **_without_technical(points[number])}
        reasons[number] = method_type(estimator, params).why_outside(params)
    return first, reasons


def _path_order(
    estimator: MultiTaskModel, models: list[dict[str, Any]], names: list[str]
) -> list[int]:
    """Return the numbers of the models, which differ in what is named, in the order of the path."""

    def place(number: int) -> tuple[Any, ...]:
        params = models[number]
        method = method_type(estimator, params)
        shaped = [params[name] for name in method.kernel_parameters]
        numbers = tuple(value for value in shaped if _is_number(value))
        return _settings(params, names), numbers, method.path_order(params)

    return sorted(range(len(models)), key=place)


def _strengths(models: list[dict[str, Any]], names: list[str]) -> Indices:
    """Return the rank of each model, 0 for the strongest regularisation."""
    prices = sorted(name for name in names if name != "C")
    order = sorted(range(len(models)), key=lambda number: _strength(models[number], prices))
    return np.argsort(np.array(order, dtype=np.intp))


def _without_technical(params: dict[str, T]) -> dict[str, T]:
    """Return the parameters that make a model; the same ones if all of them do."""
    if TECHNICAL.isdisjoint(params):
        return params
    return {name: value for name, value in params.items() if name not in TECHNICAL}


def _check_names(names: Iterable[str], defaults: Mapping[str, Any], estimator: Any) -> None:
    check_names(names)
    for name in names:
        if name not in defaults:
            raise ValueError(
                f"param_grid names {name!r}, which {type(estimator).__name__} does not have; "
                f"it has {', '.join(sorted(defaults))}."
            )


def _key(canonical: dict[str, Any]) -> Hashable:
    """Return the values of the parameters, or what can be hashed of them."""
    key = tuple(canonical.values())
    try:
        hash(key)
    except TypeError:
        return tuple(map(hashable, key))
    return key


def _is_number(value: Any) -> bool:
    if type(value) is float:  # which most of a grid is, and cheaper to tell
        return True
    return isinstance(value, Real) and not isinstance(value, bool)


def _settings(params: Mapping[str, Any], names: list[str]) -> tuple[Any, ...]:
    """Return what is not a number: models that differ here are on paths of their own."""
    return tuple((name, str(params[name])) for name in names if not _is_number(params[name]))


def _strength(params: Mapping[str, Any], names: list[str]) -> tuple[Any, ...]:
    """Return a sort key from strong regularisation to weak: C upwards, prices downwards."""
    prices = [-params[name] for name in names if _is_number(params[name])]
    return (params["C"], prices)
