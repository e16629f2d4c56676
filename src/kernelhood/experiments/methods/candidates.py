"""The kinds of models that a method chooses among on the validation part."""

from __future__ import annotations

from typing import Any, NamedTuple

from kernelhood.estimators import BASELINES, METHODS
from kernelhood.experiments.methods.grids import Grid, check_grid, make_grid
from kernelhood.experiments.methods.names import BEST, GROUPED, RIVALS, VARIANTS, split_name
from kernelhood.experiments.methods.rivals import make_rival
from kernelhood.experiments.protocol import CLASSIFICATION
from kernelhood.kernels import AutoBank
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
        own = {} if self.method in RIVALS else split_name(self.method)[1]
        written = {name: _plain(value) for name, value in self.settings.items()}
        return {**own, **written}


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) else repr(value)


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
    """Return all variants with the kernels of the paper, and some with kernels fitted to X."""
    variants = [f"mt-onmkl-{name}".rstrip("-") for name in VARIANTS]
    names = [name for name in variants if grouped or name not in GROUPED]
    ours = [Candidates(name, {}, make_grid(name, grid)) for name in names]
    separate = {"kernels": FITTED, "sharing": "weights"}
    losses: list[dict[str, Any]] = [{}] if kind == CLASSIFICATION else _LOSSES
    fitted = [
        Candidates("mt-onmkl-corrected", {**separate, **loss}, dict(_PRICES)) for loss in losses
    ]
    # The squared loss of tasks that are solved as one takes linear systems of all their samples.
    together = Candidates("mt-onmkl-mixed", {"kernels": FITTED}, dict(_PRICES))
    if kind == CLASSIFICATION:
        return [*ours, *fitted, together]
    by_evidence = [
        Candidates("mt-onmkl", {**separate, "loss": "squared", "kernels": bank}, dict(_EVIDENCE))
        for bank in (FITTED, "auto")
    ]
    return [*ours, *fitted, together, *by_evidence]


#: Inputs in units of their spread, and Gaussians from narrow to nearly linear ones.
FITTED = AutoBank(single_columns=False, spreads=(0.5, 1.0, 2.0, 4.0, 8.0))

_LOSSES: list[dict[str, Any]] = [{"loss": "squared"}, {"epsilon": 0.1}, {"epsilon": 0.01}]

#: Where columns and targets are standardised, a few values do.
_PRICES: dict[str, list[Any]] = {
    "formulation": ["corrected"],
    "beta": [10.0**k for k in range(-4, 1)],
}

#: Weights and noise of each task by its likelihood: nothing is left to choose but the kernels.
_EVIDENCE: dict[str, list[Any]] = {"formulation": ["evidence"]}


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
