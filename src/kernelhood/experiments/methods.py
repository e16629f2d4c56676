"""The methods that can be compared, their hyper-parameters, and the search for the best ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Indices
from kernelhood.estimators import BASELINES, METHODS
from kernelhood.experiments.protocol import CLASSIFICATION, Metric
from kernelhood.formulations import FORMULATIONS
from kernelhood.model_selection import KernelSearchCV, paper_grid
from kernelhood.relations import TaskGroups

GRIDS = ("quick", "paper", "wide")

#: Methods that need groups of tasks.
GROUPED = ("mt-onmkl-groups",)

#: Methods that tell probabilities.
PROBABILISTIC = "mt-onmkl"

#: Methods with a neighborhood matrix, whose alignment the paper's Figure 1 shows.
ALIGNED = ("rpkl", "onjkl", "kta", "mt-onmkl")

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
    "pooled": "Pooled SVM",
}

#: What the parts of a method's name after "mt-onmkl" stand for.
_VARIANTS: dict[str, dict[str, Any]] = {
    "": {"formulation": next(iter(FORMULATIONS))},
    **{name: {"formulation": name} for name in list(FORMULATIONS)[1:]},
    "functions": {"sharing": "functions"},
    "mixed": {"relation": "mixed"},
    "groups": {"relation": "groups"},
    "inputs": {"relation": "inputs"},
}

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


def offered_methods() -> tuple[str, ...]:
    """Return the names of all methods, MT-ONMKL in each of its variants.

    Examples
    --------
    >>> [name for name in offered_methods() if name.startswith("mt-onmkl")][3:]
    ['mt-onmkl-functions', 'mt-onmkl-mixed', 'mt-onmkl-groups', 'mt-onmkl-inputs']
    """
    variants = [f"mt-onmkl-{name}" for name in _VARIANTS if name]
    return (*METHODS, *variants, *BASELINES)


def check_methods(methods: Any) -> tuple[str, ...]:
    """Return the methods asked for, all of them for None, or raise for an unknown one."""
    if methods is None:
        return offered_methods()
    names = [methods] if isinstance(methods, str) else list(methods)
    if not names:
        raise ValueError("methods is empty; give at least one.")
    for name in names:
        if name not in offered_methods():
            offered = ", ".join(offered_methods())
            raise ValueError(f"methods={name!r} is unknown; give names among {offered}.")
    return tuple(dict.fromkeys(names))


def make_estimator(method: str, kind: str, task_groups: Any = None) -> Any:
    """Return an unfitted estimator with the kernels of the paper.

    Parameters
    ----------
    method : str
        One of `offered_methods`.
    kind : {"classification", "regression"}
        What the targets are.
    task_groups : mapping of task to group, optional
        Needed by "mt-onmkl-groups".
    """
    name, settings = _split(method)
    if settings.get("relation") == "groups":
        settings = {"relation": TaskGroups(task_groups)}
    if name != "rpkl":  # It has a kernel of its own.
        settings = {"kernels": "paper", **settings}
    classifier, regressor = {**METHODS, **BASELINES}[name]
    return (classifier if kind == CLASSIFICATION else regressor)(**settings)


def make_grid(method: str, grid: str) -> Grid:
    """Return the values of the hyper-parameters to choose from.

    Where functions can be shared, tasks that have nothing in common may keep theirs to themselves:
    one of the grids then holds the models of "mt-onmkl". Other relations have the grids of shared
    functions.

    Parameters
    ----------
    method : str
        One of `offered_methods`.
    grid : {"quick", "paper", "wide"}
        A handful of points, those of the paper, or those of the paper with C up to 2^20.
    """
    if grid not in GRIDS:
        raise ValueError(f"grid={grid!r} is unknown; give one of {', '.join(GRIDS)}.")
    together = _QUICK_SHARED_FUNCTIONS if grid == "quick" else _SHARED_FUNCTIONS
    settings = variant_settings(method)
    if "relation" in settings:
        return [dict(points) for points in together]
    if "sharing" not in settings:
        return _points(method, grid)
    alone = _points("mt-onmkl", grid)
    default = {name: [value] for name, value in _VARIANTS[""].items()}
    return [
        {"sharing": ["weights"], **default, **alone},
        *({"sharing": ["functions"], **points} for points in together),
    ]


def _points(method: str, grid: str) -> dict[str, list[Any]]:
    """Return the grid of a method that has one."""
    if grid == "quick":
        return dict(_QUICK[method])
    points = paper_grid(_split(method)[0])
    return {**points, "C": points["C"] + _LARGER_C} if grid == "wide" else points


def variant_settings(method: str) -> dict[str, Any]:
    """Return the parameters that a method's name stands for, beside the estimator's defaults."""
    return dict(_split(method)[1])


def search(
    estimator: Any,
    grid: Grid,
    data: tuple[Any, AnyArray, AnyArray],
    split: tuple[Indices, Indices],
    metric: Metric,
) -> tuple[dict[str, Any], float]:
    """Return the parameters that do best on the validation part, and their score there.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    grid : dict or list of dict
        Values of each parameter.
    data : tuple
        X, y and task of all rows.
    split : tuple of ndarray of int
        Rows that train and rows that validate; no others are looked at.
    metric : Metric
        The score; its mean over tasks decides.
    """
    X, y, task = data
    rows, n_train = np.concatenate(split), len(split[0])
    places = np.arange(len(rows))
    cv = [(places[:n_train], places[n_train:])]
    found = KernelSearchCV(estimator, grid, cv=cv, scoring=metric.scoring, refit=False)
    found.fit(X[rows], y[rows], task=task[rows])
    return dict(found.best_params_), metric.from_scorer(float(found.best_score_))


def label(method: str) -> str:
    """Return the name of a method as papers print it."""
    return LABELS.get(method, method)


def _split(method: str) -> tuple[str, dict[str, Any]]:
    """Return the name in the registry, and the settings that make the variant."""
    if not method.startswith("mt-onmkl"):
        return method, {}
    return "mt-onmkl", _VARIANTS[method.removeprefix("mt-onmkl").lstrip("-")]
