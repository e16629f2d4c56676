"""What may be chosen: banks, relations, formulations and losses, from the user's parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood.automatic.kinds import EVIDENCE, PRICES, Kind, rewarded, untuned
from kernelhood.relations import SharedFunctions, TaskGroups, TaskRelation, as_relation

#: With more tasks, weights of every task and kernel are too many to be worth their time.
_MANY_TASKS = {"small": 30}
_MANY = 5

#: The evidence holds all kernel matrices, and takes time with the cube of what is solved together.
_MOST_ROWS = {"small": 2000}
_MOST = 600

#: Weights of the concentration term of `normalized`, as a share of C / n_samples.
REWARDS = {"fast": (0.5,), "full": (0.03, 0.5, 2.0)}

Settings = Mapping[str, Any]

#: Relations by the word for each: parameters of an estimator.
RELATIONS: dict[str, Settings] = {
    "independent": {"relation": "independent", "specific_cost": 1.0},
    "mixed": {"relation": "mixed", "specific_cost": 1.0},
    "pooled": {"relation": "mixed", "specific_cost": np.inf},
    "functions": {"relation": "functions", "specific_cost": 1.0},
}

#: Intercepts of their own, whatever the relation.
FREE = "free intercepts"

_FORMULATIONS = ("corrected", "normalized", "evidence")
_LOSSES = ("epsilon_insensitive", "squared")
_EPSILONS = (0.1, 0.01, 0.4)


@dataclass(frozen=True)
class Candidates:
    """What may be chosen.

    Attributes
    ----------
    banks, relations, losses : dict of dict
        Parameters of the estimator by the word for each. Kinds are compared with the first loss.
    formulations : tuple of str
        Some of "corrected", "normalized" and, for squared loss, "evidence".
    rewards : tuple of float
        Weights of the concentration term of `normalized`.
    n_tasks, n_samples : int
        Size of the training part of a split.
    n_rows : int
        Rows that the chosen model is fitted to.
    """

    banks: Mapping[str, Settings]
    relations: Mapping[str, Settings]
    losses: Mapping[str, Settings]
    formulations: tuple[str, ...]
    rewards: tuple[float, ...]
    n_tasks: int
    n_samples: int
    n_rows: int

    def kinds(self, bank: str) -> list[Kind]:
        """Return the kinds that begin the race with one of the banks."""
        word, loss = next(iter(self.losses.items()))
        begin = [
            Kind(bank, relation, word, settings={**self.banks[bank], **own, **loss}, ladder=PRICES)
            for relation, own in self.relations.items()
            if relation != "functions" or len(self.relations) == 1
        ]
        if "corrected" in self.formulations:
            return begin
        if "normalized" in self.formulations:
            return [one for kind in begin for one in self.normalized(kind)]
        return [kind.changed(ladder=EVIDENCE) for kind in begin]

    def default(self) -> Kind | None:
        """Return the kind of the estimators as they come, None where that may not be chosen."""
        if "normalized" not in self.formulations:
            return None
        bank = list(self.banks)[-1]
        relation = "mixed" if "mixed" in self.relations else next(iter(self.relations))
        word, loss = next(iter(self.losses.items()))
        settings = {**self.banks[bank], **self.relations[relation], **loss}
        ladder = untuned(self._solved_together(relation))
        return Kind(bank, relation, word, settings=settings, ladder=ladder)

    def variants(self, leader: Kind) -> Iterator[Kind]:
        """Yield kinds that are close to the leader and best at about its strength."""
        for word, own in self.losses.items():
            if word != leader.loss and own["loss"] == leader.settings["loss"]:
                yield leader.changed(loss=word, settings=own)
        few = self.n_tasks <= _MANY_TASKS.get(leader.bank, _MANY)
        if few and leader.relation in ("mixed", "independent") and "functions" in self.relations:
            yield leader.changed(relation="functions", settings=self.relations["functions"])

    def other_losses(self, leader: Kind) -> list[Kind]:
        """Return the leader with losses of another form, whose strengths are others."""
        return [
            leader.changed(loss=word, settings=own)
            for word, own in self.losses.items()
            if word != leader.loss and own["loss"] != leader.settings["loss"]
        ]

    def normalized(self, leader: Kind) -> list[Kind]:
        """Return the leader with the trace fixed and concentrated kernels rewarded.

        The default is such a model already, so that a leader with its kernels has won against it.
        """
        if "normalized" not in self.formulations or self._is_default(leader):
            return []
        rows = self._solved_together(leader.relation)
        return [rewarded(leader, share, rows) for share in self.rewards]

    def free_intercepts(self, leader: Kind) -> list[Kind]:
        """Return the leader with intercepts that nothing shrinks, where its own are shrunk."""
        relation = as_relation(leader.settings["relation"])
        if not relation.couples or isinstance(relation, SharedFunctions):
            return []
        return [leader.changed(intercept=FREE, settings={"intercept": "task"})]

    def evidence(self, leader: Kind) -> list[Kind]:
        """Return kinds whose strength the likelihood chooses, with the leader's relation or mixed.

        The first bank, which has few kernels, is the one that the likelihood can be trusted with.
        Where all tasks together are too many rows, they are tried on their own.
        """
        squared = [word for word, own in self.losses.items() if own.get("loss") == "squared"]
        if "evidence" not in self.formulations or not squared:
            return []
        first = next(iter(self.banks))
        # Free intercepts, as functions have them, would leave new tasks without a deviation.
        relations = [leader.relation] if leader.relation != "functions" else []
        relations += ["independent" if self._takes_long(first, "mixed") else "mixed"]
        return [
            leader.changed(
                bank=bank,
                relation=relation,
                loss=squared[0],
                intercept="",
                settings={
                    "intercept": "auto",
                    **self.banks[bank],
                    **self.relations[relation],
                    **self.losses[squared[0]],
                },
                ladder=EVIDENCE,
            )
            for bank in dict.fromkeys([first, leader.bank])
            for relation in dict.fromkeys(relations)
            if relation in self.relations and not self._takes_long(bank, relation)
        ]

    def _takes_long(self, bank: str, relation: str) -> bool:
        """Return whether the evidence of a bank is too much work."""
        parts = self.n_tasks if relation == "independent" else 1
        most = _MOST_ROWS.get(bank, _MOST)
        return parts * (self.n_rows / parts) ** 3 > most**3

    def _solved_together(self, relation: str) -> int:
        """Return how many samples are one problem, about."""
        alone = relation == "independent"
        return max(1, self.n_samples // self.n_tasks) if alone else self.n_samples

    def _is_default(self, leader: Kind) -> bool:
        default = self.default()
        words = (leader.bank, leader.relation)
        several = len(self.formulations) > 1 and len(self.rewards) == 1
        return several and default is not None and words == (default.bank, default.relation)


def candidates_of(asked: Any, n_tasks: int, n_samples: int, n_rows: int) -> Candidates:
    """Return what the parameters of an estimator leave open.

    Parameters
    ----------
    asked : MTONMKLClassifierCV or MTONMKLRegressorCV
        With its parameters.
    n_tasks, n_samples : int
        Size of the training part of a split.
    n_rows : int
        Rows that the chosen model is fitted to.
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
        _relations(asked.relation, asked.task_groups, grid.get("relation"), n_tasks),
        losses,
        tuple(formulations),
        rewards,
        n_tasks,
        n_samples,
        n_rows,
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
