"""The names of the methods that can be compared, and what they stand for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelhood.estimators import (
    BASELINES,
    METHODS,
    KernelhoodClassifier,
    KernelhoodRegressor,
)
from kernelhood.estimators.formulations import FORMULATIONS
from kernelhood.kernels import AutoBank, Gaussian, KernelBank
from kernelhood.paper.protocol import CLASSIFICATION
from kernelhood.paper.rivals import RIVALS, make_rival, rival_grid
from kernelhood.relations import TaskGroups, as_relation
from kernelhood.search.grid import paper_grid

#: Methods that need groups of tasks.
GROUPED = ("mt-onmkl-groups",)

#: The method of the paper.
PROPOSED = "mt-onmkl"

#: The best model that validation finds among all variants of MT-ONMKL and more.
BEST = "mt-onmkl-best"

#: The estimator that has nothing to choose.
UNTUNED = "kernelhood"

#: One SVM a task with the widest Gaussian of the paper's bank: no kernel is learned.
WIDEST = "one-gaussian"

#: What is not in a comparison unless it is named: nothing of the paper.
NAMED_ONLY = (WIDEST, UNTUNED, *RIVALS)

#: Methods that have models in common.
SHARING = "mt-onmkl"

#: What the parts of a method's name after "mt-onmkl" stand for.
VARIANTS: dict[str, dict[str, Any]] = {
    "": {"formulation": next(iter(FORMULATIONS))},
    **{name: {"formulation": name} for name in list(FORMULATIONS)[1:]},
    "functions": {"relation": "functions"},
    "mixed": {"relation": "mixed"},
    "groups": {"relation": "groups"},
    "inputs": {"relation": "inputs"},
}

#: Methods with a neighborhood matrix, whose alignment the paper's Figure 1 shows.
ALIGNED = (
    "rpkl",
    "onjkl",
    "kta",
    "mt-onmkl",
    *(f"mt-onmkl-{name}" for name in list(FORMULATIONS)[1:]),
)

LABELS = {
    "itl": "ITL",
    "avmtmkl": "AVMTMKL",
    "mt-mkl": "MT-MKL",
    "rpkl": "RPKL",
    "onjkl": "ONJKL",
    "kta": "KTA",
    "mt-onmkl": "MT-ONMKL",
    "mt-onmkl-corrected": "MT-ONMKL corrected",
    "mt-onmkl-printed": "MT-ONMKL printed",
    "mt-onmkl-functions": "MT-ONMKL functions",
    "mt-onmkl-mixed": "MT-ONMKL mixed",
    "mt-onmkl-groups": "MT-ONMKL groups",
    "mt-onmkl-inputs": "MT-ONMKL inputs",
    "mt-onmkl-best": "MT-ONMKL best",
    "pooled": "Pooled SVM",
    "one-gaussian": "One Gaussian (256)",
    "kernelhood": "kernelhood",
    "boosting": "Gradient boosting",
    "one-hot-svm": "One-hot SVM",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "gpboost": "GPBoost",
}


def offered_methods() -> tuple[str, ...]:
    """Return the names of all methods, MT-ONMKL in each of its variants.

    Examples
    --------
    >>> [name for name in offered_methods() if name.startswith("mt-onmkl")][3:]
    ['mt-onmkl-functions', 'mt-onmkl-mixed', 'mt-onmkl-groups', 'mt-onmkl-inputs', 'mt-onmkl-best']
    """
    variants = [f"mt-onmkl-{name}" for name in VARIANTS if name]
    return (*METHODS, *variants, BEST, *BASELINES, *NAMED_ONLY)


def check_methods(methods: Any) -> tuple[str, ...]:
    """Return the methods asked for, for None those of the paper, or raise for an unknown one."""
    if methods is None:
        return tuple(name for name in offered_methods() if name not in NAMED_ONLY)
    names = [methods] if isinstance(methods, str) else list(methods)
    if not names:
        raise ValueError("methods is empty; give at least one.")
    for name in names:
        if name not in offered_methods():
            offered = ", ".join(offered_methods())
            raise ValueError(f"methods={name!r} is unknown; give names among {offered}.")
    return tuple(dict.fromkeys(names))


def split_name(method: str) -> tuple[str, dict[str, Any]]:
    """Return the name in the registry of estimators, and the settings that make the variant."""
    if method == WIDEST:
        return "avmtmkl", {"kernels": KernelBank([Gaussian(256.0)])}
    if not method.startswith("mt-onmkl"):
        return method, {}
    return "mt-onmkl", VARIANTS[method.removeprefix("mt-onmkl").lstrip("-")]


def label(method: str) -> str:
    """Return the name of a method as papers print it."""
    return LABELS.get(method, method)


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
    WIDEST: {"C": _PENALTIES},
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
    if method == UNTUNED:
        return {}
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


class Candidates(NamedTuple):
    """Models of one kind.

    Attributes
    ----------
    method : str
        The method or variant that they are models of.
    settings : dict
        Parameters that all of them have, beside those that the variant stands for.
    grid : dict or list of dict
        Parameters to choose from.
    """

    method: str
    settings: dict[str, Any]
    grid: Grid

    @property
    def choices(self) -> dict[str, Any]:
        """What distinguishes these models from others of MT-ONMKL, as it can be stored."""
        settings = {**split_name(self.method)[1], **self.settings}
        return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) else repr(value)


def candidates(
    method: str, grid: str, kind: str = CLASSIFICATION, *, grouped: bool = False
) -> list[Candidates]:
    """Return the kinds of models that a method chooses among.

    If functions can be shared, tasks that have nothing in common may keep theirs to themselves:
    the models of "mt-onmkl" are among those of "mt-onmkl-functions".

    Parameters
    ----------
    method : str
        One of `offered_methods`.
    grid : {"quick", "paper", "wide"}
        Name of the grid.
    kind : {"classification", "regression"}
        What the targets are.
    grouped : bool
        Whether groups of tasks are known.
    """
    check_grid(grid)
    if method == BEST:
        return _all_kinds(grid, kind, grouped)
    names = ["mt-onmkl", method] if method == "mt-onmkl-functions" else [method]
    return [Candidates(name, {}, make_grid(name, grid)) for name in names]


def _all_kinds(grid: str, kind: str, grouped: bool) -> list[Candidates]:
    """Return all variants with the kernels of the paper, and some with kernels fitted to X."""
    variants = [f"mt-onmkl-{name}".rstrip("-") for name in VARIANTS]
    names = [name for name in variants if grouped or name not in GROUPED]
    ours = [Candidates(name, {}, make_grid(name, grid)) for name in names]
    separate = {"kernels": FITTED, "relation": "independent"}
    losses: list[dict[str, Any]] = [{}] if kind == CLASSIFICATION else _LOSSES
    fitted = [
        Candidates("mt-onmkl-corrected", {**separate, **loss}, dict(_PRICES)) for loss in losses
    ]
    # The squared loss of tasks that are solved as one takes linear systems of all their samples.
    together = Candidates("mt-onmkl-mixed", {"kernels": FITTED}, dict(_PRICES))
    return [*ours, *fitted, together]


def with_relations(grid: Grid, relation: Any) -> Grid:
    """Return a grid with relations in the place of the costs of what tasks have for themselves.

    Parameters
    ----------
    grid : dict or list of dict
        May have "specific_cost".
    relation : str or TaskRelation
        What the estimator has.
    """
    if isinstance(grid, dict):
        return grid
    found = []
    for points in grid:
        own = {name: values for name, values in points.items() if name != "specific_cost"}
        if "specific_cost" in points:
            known: Any = as_relation(relation)
            own["relation"] = [known.with_specific_cost(c) for c in points["specific_cost"]]
        found.append(own)
    return found


#: Inputs in units of their spread, and Gaussians from narrow to nearly linear ones.
FITTED = AutoBank(single_columns=False, spreads=(0.5, 1.0, 2.0, 4.0, 8.0))

_LOSSES: list[dict[str, Any]] = [{"loss": "squared"}, {"epsilon": 0.1}, {"epsilon": 0.01}]

#: If columns and targets are standardised, a few values do.
_PRICES: dict[str, list[Any]] = {
    "formulation": ["corrected"],
    "beta": [10.0**k for k in range(-4, 1)],
}


def make_estimator(method: str, kind: str, task_groups: Any = None, **settings: Any) -> Any:
    """Return an unfitted estimator, with the kernels of the paper if nothing else is said.

    Parameters
    ----------
    method : str
        One of `offered_methods`, but for "mt-onmkl-best".
    kind : {"classification", "regression"}
        What the targets are.
    task_groups : mapping of task to group, optional
        Needed by "mt-onmkl-groups".
    **settings : object
        Further parameters.
    """
    if method == UNTUNED:
        return KernelhoodClassifier() if kind == CLASSIFICATION else KernelhoodRegressor()
    if method in RIVALS:
        return make_rival(method, kind).set_params(**settings)
    name, variant = split_name(method)
    if variant.get("relation") == "groups":
        variant = {"relation": TaskGroups(task_groups)}
    if name != "rpkl":  # It has a kernel of its own.
        variant = {"kernels": "paper", **variant}
    classifier, regressor = {**METHODS, **BASELINES}[name]
    return (classifier if kind == CLASSIFICATION else regressor)(**{**variant, **settings})
