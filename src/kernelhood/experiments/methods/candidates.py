"""The kinds of models that a method chooses among on the validation part."""

from __future__ import annotations

from typing import Any, NamedTuple

from kernelhood.estimators import BASELINES, METHODS
from kernelhood.experiments.methods.grids import Grid, check_grid, make_grid
from kernelhood.experiments.methods.names import BEST, GROUPED, RIVALS, VARIANTS, split_name
from kernelhood.experiments.methods.rivals import make_rival
from kernelhood.experiments.protocol import CLASSIFICATION
from kernelhood.relations import TaskGroups


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
        """What tells these models from others of MT-ONMKL, as it can be written down."""
        return {**split_name(self.method)[1], **self.settings}


def candidates(
    method: str, grid: str, kind: str = CLASSIFICATION, *, grouped: bool = False
) -> list[Candidates]:
    """Return the kinds of models that a method chooses among.

    Where functions can be shared, tasks that have nothing in common may keep theirs to themselves:
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
    """Return all variants with the kernels of the paper, and relations with fitted kernels."""
    variants = [f"mt-onmkl-{name}".rstrip("-") for name in VARIANTS]
    names = [name for name in variants if grouped or name not in GROUPED]
    ours = [Candidates(name, {}, make_grid(name, grid)) for name in names]
    relations = [name for name in names if "relation" in split_name(name)[1]]
    banks = [{"kernels": "small"}, {"kernels": "auto"}]
    losses: list[dict[str, Any]] = [{}]
    if kind != CLASSIFICATION:
        losses = [{"epsilon": 0.1}, {"loss": "squared"}]
    fitted = [
        Candidates(name, {**bank, **loss}, _FITTED)
        for name in ["mt-onmkl-corrected", *relations]
        for bank in banks
        for loss in losses
    ]
    return [*ours, *fitted]


#: Where columns and targets are standardised, a few values do.
_FITTED: Grid = {"formulation": ["corrected"], "beta": [10.0**k for k in (-4, -3, -2, -1)]}


def make_estimator(method: str, kind: str, task_groups: Any = None, **settings: Any) -> Any:
    """Return an unfitted estimator, with the kernels of the paper where nothing else is said.

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
    if method in RIVALS:
        return make_rival(method, kind).set_params(**settings)
    name, variant = split_name(method)
    if variant.get("relation") == "groups":
        variant = {"relation": TaskGroups(task_groups)}
    if name != "rpkl":  # It has a kernel of its own.
        variant = {"kernels": "paper", **variant}
    classifier, regressor = {**METHODS, **BASELINES}[name]
    return (classifier if kind == CLASSIFICATION else regressor)(**{**variant, **settings})
