"""What the parameters of an estimator leave open: banks, relations, formulations and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood.automatic.candidates import Candidates, Settings
from kernelhood.relations import TaskGroups, TaskRelation, as_relation

#: Weights of the concentration term of `normalized`, as a share of C / n_samples.
REWARDS = {"fast": (0.5,), "full": (0.03, 0.5, 2.0)}

#: Relations by the word for each: parameters of an estimator.
RELATIONS: dict[str, Settings] = {
    "independent": {"relation": "independent", "specific_cost": 1.0},
    "mixed": {"relation": "mixed", "specific_cost": 1.0},
    "pooled": {"relation": "mixed", "specific_cost": np.inf},
    "functions": {"relation": "functions", "specific_cost": 1.0},
}

_FORMULATIONS = ("corrected", "normalized", "evidence")
_LOSSES = ("epsilon_insensitive", "squared")
_EPSILONS = (0.1, 0.01, 0.4)


def candidates_of(
    asked: Any, n_tasks: int, n_samples: int, n_rows: int, n_alone: int | None = None
) -> Candidates:
    """Return what the parameters of an estimator leave open.

    Parameters
    ----------
    asked : MTONMKLClassifierCV or MTONMKLRegressorCV
        With its parameters.
    n_tasks : int
        Number of all tasks.
    n_samples : int
        Rows in the training part of a split.
    n_rows : int
        Rows that the chosen model is fitted to.
    n_alone : int, optional
        Rows of one task in the training part of a split, on average; by default of all tasks.
    """
    grid = asked.grid if isinstance(asked.grid, dict) else {}
    _check_grid(asked, grid)
    rewards = REWARDS["fast" if isinstance(asked.grid, dict) else asked.grid]
    formulations = grid.get("formulation", _FORMULATIONS)
    if asked.formulation is not None:
        formulations = (asked.formulation,)
    losses = asked._losses(grid)
    if tuple(formulations) == ("evidence",) and "squared loss" in losses:
        losses = {"squared loss": losses["squared loss"]}
    return Candidates(
        _banks(asked.kernels, grid.get("kernels", ("small", "auto"))),
        _allowed(
            _relations(asked.relation, asked.task_groups, grid.get("relation"), n_tasks),
            asked.unseen_task,
        ),
        losses,
        tuple(formulations),
        rewards,
        n_tasks,
        n_samples,
        n_rows,
        max(1, n_samples // n_tasks if n_alone is None else n_alone),
    )


def _check_grid(asked: Any, grid: Settings) -> None:
    known = asked._choices
    for name, values in grid.items():
        if name not in known:
            raise ValueError(f"grid names {name!r}; it may name {', '.join(known)}.")
        if isinstance(values, str) or not hasattr(values, "__len__") or not len(values):
            raise ValueError(f"grid[{name!r}] must be a list of values to try, got {values!r}.")
    offered = _FORMULATIONS if "loss" in known else _FORMULATIONS[:2]
    wrong = [one for one in grid.get("formulation", ()) if one not in offered]
    if wrong:
        raise ValueError(f"grid['formulation'] may hold {', '.join(offered)}, got {wrong[0]!r}.")


def _banks(kernels: Any, tried: Any) -> dict[str, Settings]:
    """Return the banks, by the word for each."""
    given = list(tried) if kernels is None else [kernels]
    words = [_bank_word(one, number, len(given)) for number, one in enumerate(given, 1)]
    return {word: {"kernels": bank} for word, bank in zip(words, given, strict=True)}


def _bank_word(bank: Any, number: int, count: int) -> str:
    if isinstance(bank, str):
        return "full" if bank == "auto" else bank
    return "given" if count == 1 else f"given {number}"


def _relations(relation: Any, groups: Any, tried: Any, n_tasks: int) -> dict[str, Settings]:
    """Return the relations to try, by the word for each; a single task relates to none."""
    if relation is not None:
        return dict([_named_relation(relation)])
    if n_tasks == 1:
        return {"independent": RELATIONS["independent"]}
    found = dict(RELATIONS) if tried is None else dict(_named_relation(one) for one in tried)
    for one in _as_list(groups):
        more = one if isinstance(one, TaskRelation) else TaskGroups(one)
        word = "groups" if isinstance(more, TaskGroups) else str(more)
        word = word if word not in found else f"{word} {len(found)}"
        found[word] = {"relation": more, "specific_cost": 1.0}
    return found


def _allowed(relations: dict[str, Settings], unseen_task: str) -> dict[str, Settings]:
    """Return the relations that can predict unseen tasks, if these are to be."""
    if unseen_task != "shared":
        return relations
    found = {word: one for word, one in relations.items() if as_relation(one["relation"]).common}
    if not found:
        raise ValueError(
            "unseen_task='shared' needs a relation with a common function, such as 'mixed', and "
            f"several tasks: got {', '.join(relations)}."
        )
    return found


def _named_relation(given: Any) -> tuple[str, Settings]:
    if isinstance(given, str) and given in RELATIONS:
        return given, RELATIONS[given]
    return str(given), {"relation": given, "specific_cost": 1.0}


def _as_list(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def losses_of(loss: Any, epsilon: float | None, grid: Settings) -> dict[str, Settings]:
    """Return the losses of regression to try, by the word for each.

    Parameters
    ----------
    loss : str, Loss or None
        The only one, or None for a choice.
    epsilon : float or None
        Half the width of the insensitive tube, or None for a choice.
    grid : dict
        May have lists for "loss" and "epsilon".
    """
    tubes = grid.get("epsilon", _EPSILONS) if epsilon is None else (epsilon,)
    losses = grid.get("loss", _LOSSES) if loss is None else (loss,)
    found: dict[str, Settings] = {}
    for one in losses:
        if one == "epsilon_insensitive":
            found.update({f"epsilon {tube:g}": {"loss": one, "epsilon": tube} for tube in tubes})
        else:
            found[f"{one} loss"] = {"loss": one}
    return found
