"""The values of the hyper-parameters that a method chooses from."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood.experiments.methods.names import RIVALS, split_name
from kernelhood.experiments.methods.rivals import rival_grid
from kernelhood.model_selection import paper_grid

GRIDS = ("quick", "paper", "wide")

Grid = dict[str, list[Any]] | list[dict[str, list[Any]]]

#: The paper has no such models. Of `corrected` only beta / C**2 matters, so that C stays 1.
_SHARED_FUNCTIONS: list[dict[str, list[Any]]] = [
    {
        "formulation": ["corrected"],
        "beta": [4.0**k for k in range(-5, 1)],
        "specific_cost": [1.0, 4.0, np.inf],
    },
    {
        "formulation": ["normalized"],
        "C": [2.0**k for k in (3, 5, 7)],
        "beta": [2.0**k for k in (-12, -9, -6)],
        "specific_cost": [4.0],
    },
]
_QUICK_SHARED_FUNCTIONS: list[dict[str, list[Any]]] = [
    {
        "formulation": ["corrected"],
        "beta": [2.0**k for k in (-10, -6, -2)],
        "specific_cost": [1.0, 4.0, np.inf],
    },
    {
        "formulation": ["normalized"],
        "C": [2.0**5],
        "beta": [2.0**k for k in (-9, -6)],
        "specific_cost": [4.0],
    },
]

#: Beyond the paper's 2^13, for targets in large units and little noise.
_LARGER_C = [2.0**k for k in range(14, 21)]

_PENALTIES = [2.0**k for k in (-3, 0, 3, 6)]
_QUICK: dict[str, dict[str, list[Any]]] = {
    "itl": {"C": _PENALTIES},
    "avmtmkl": {"C": _PENALTIES},
    "mt-mkl": {"C": _PENALTIES},
    "rpkl": {"C": _PENALTIES, "spread_level": [1, 2, 3]},
    "onjkl": {"C": _PENALTIES, "rho": [2.0**-2, 2.0**4]},
    "kta": {"C": _PENALTIES, "eta": [2.0**-12, 2.0**-6]},
    # Only C and the reward of concentration, 2 eta beta / (eta - 2 beta), matter.
    "mt-onmkl": {"C": _PENALTIES, "beta": [2.0**-12, 2.0**-6]},
    # Only beta / C**2 matters.
    "mt-onmkl-corrected": {"beta": [2.0**k for k in (-20, -16, -12, -8, -4, 0)]},
    # Only C and beta / eta matter.
    "mt-onmkl-printed": {"C": _PENALTIES, "eta": [2.0**4, 2.0**12], "beta": [1.0]},
    "pooled": {"C": _PENALTIES},
}


def check_grid(grid: str) -> None:
    """Raise for the name of a grid that there is not."""
    if grid not in GRIDS:
        raise ValueError(f"grid={grid!r} is unknown; give one of {', '.join(GRIDS)}.")


def make_grid(method: str, grid: str) -> Grid:
    """Return the values of the hyper-parameters of one kind of models.

    Relations other than shared functions have the grids of these.

    Parameters
    ----------
    method : str
        One of `offered_methods`, but for "mt-onmkl-best".
    grid : {"quick", "paper", "wide"}
        A handful of points, those of the paper, or those of the paper with C up to 2^20.
    """
    check_grid(grid)
    if method in RIVALS:
        return rival_grid(method, quick=grid == "quick")
    name, settings = split_name(method)
    if "formulation" in settings or name != "mt-onmkl":
        return _points(method, name, grid)
    together = _QUICK_SHARED_FUNCTIONS if grid == "quick" else _SHARED_FUNCTIONS
    return [dict(points) for points in together]


def _points(method: str, name: str, grid: str) -> dict[str, list[Any]]:
    """Return the grid of a method that has one."""
    if grid == "quick":
        return dict(_QUICK[method])
    points = paper_grid(name)
    return {**points, "C": points["C"] + _LARGER_C} if grid == "wide" else points
