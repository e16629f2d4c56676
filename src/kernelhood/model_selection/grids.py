"""Grids of hyper-parameters, and which of their points are the same model."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from kernelhood._typing import Indices
from kernelhood.estimators._base import TECHNICAL, MultiTaskKernelModel

_C = tuple(2.0**k for k in range(-13, 14))
_POWERS = tuple(2.0**k for k in range(41))

_OWN: dict[str, dict[str, tuple[Any, ...]]] = {
    "mt-onmkl": {"eta": _POWERS, "beta": _POWERS},
    "itl": {},
    "avmtmkl": {},
    "mt-mkl": {},
    "rpkl": {"spread_level": (1, 2, 3)},
    "onjkl": {"rho": tuple(2.0**k for k in range(-10, 11, 4))},
    "kta": {"eta": _POWERS},
    "pooled": {},
}


def paper_grid(method: str = "mt-onmkl") -> dict[str, list[Any]]:
    """Return the grid of the paper's experiments.

    C runs over 2^-13 ... 2^13 for every method; eta and beta over 2^0 ... 2^40; RPKL's spread
    level over 1, 2, 3. The paper gives no grid for ONJKL's rho: 2^-10, 2^-6 ...
    2^10 are used.

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
    model_of: Indices
    models: list[dict[str, Any]]
    strength: Indices
    reasons: dict[int, str]


def distinct_models(estimator: MultiTaskKernelModel, grid: Any) -> Models:
    """Return the points of a grid and the models they stand for.

    Parameters
    ----------
    estimator : estimator
        Says by `_canonical` which parameters give the same predictor.
    grid : dict or list of dict
        As scikit-learn's ParameterGrid takes it.
    """
    points = list(ParameterGrid(grid))
    if not points:
        raise ValueError("param_grid holds no point.")
    defaults = estimator.get_params(deep=False)
    _check_names(points, defaults, estimator)
    fixed, given = _without_technical(defaults), [_without_technical(point) for point in points]
    keys: list[Hashable | None] = []
    reasons: dict[int, str] = {}
    found: dict[Hashable, dict[str, Any]] = {}
    for number, point in enumerate(given):
        try:
            canonical = estimator._canonical({**fixed, **point})
        except ValueError as error:
            reasons[number] = str(error)
            keys.append(None)
            continue
        key = _key(canonical)
        keys.append(key)
        if key not in found:
            found[key] = canonical
    if not found:
        raise ValueError(f"param_grid has no point that can be solved: {reasons[0]}")
    models = sorted(
        found.values(),
        key=lambda params: (
            _settings(params),
            _kernel_settings(params, estimator),
            estimator._path_order(params),
        ),
    )
    place = {_key(params): number for number, params in enumerate(models)}
    model_of = np.array([-1 if key is None else place[key] for key in keys], dtype=np.intp)
    by_strength = sorted(range(len(models)), key=lambda number: _strength(models[number]))
    strength = np.argsort(np.array(by_strength, dtype=np.intp))
    return Models(points, model_of, models, strength, reasons)


def _without_technical(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that make a model; the same ones where all of them do."""
    if TECHNICAL.isdisjoint(params):
        return params
    return {name: value for name, value in params.items() if name not in TECHNICAL}


def _check_names(points: list[dict[str, Any]], defaults: Mapping[str, Any], estimator: Any) -> None:
    for name in {name for point in points for name in point}:
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
        return tuple(value if isinstance(value, Hashable) else id(value) for value in key)
    return key


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _settings(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what is no number: models that differ here are on paths of their own."""
    return tuple((name, str(value)) for name, value in params.items() if not _is_number(value))


def _kernel_settings(params: Mapping[str, Any], estimator: Any) -> tuple[float, ...]:
    """Return the numbers that shape kernels, so that each stack is evaluated once on a path."""
    names = estimator._stack_parameters
    return tuple(params[name] for name in names if _is_number(params[name]))


def _strength(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a sort key from strong regularisation to weak: C upwards, prices downwards."""
    prices = [-value for name, value in sorted(params.items()) if _is_number(value) and name != "C"]
    return (params["C"], prices)
