"""What may be chosen: the kinds of models that take part in each round of the race."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelhood.automatic.kinds import EVIDENCE, PRICES, Kind, rewarded, untuned
from kernelhood.kernels import Kernel
from kernelhood.relations import SharedFunctions, as_relation

#: With more tasks, weights of every task and kernel are too many to be worth their time.
_MANY_TASKS = {"small": 30}
_MANY = 5

#: The evidence holds all kernel matrices, and takes time with the cube of what is solved together.
_MOST_ROWS = {"small": 2000}
_MOST = 600

Settings = Mapping[str, Any]

#: Intercepts of their own, whatever the relation.
FREE = "free intercepts"


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
    n_tasks, n_rows : int
        Size of the table that the chosen model is fitted to.
    n_samples : int
        Rows in the training part of a split.
    n_alone : int
        How many of them are of one task, on average over the tasks that are there.
    fits : callable
        Whether the fit of a kind's parameters to all rows is not refused.
    """

    banks: Mapping[str, Settings]
    relations: Mapping[str, Settings]
    losses: Mapping[str, Settings]
    formulations: tuple[str, ...]
    rewards: tuple[float, ...]
    n_tasks: int
    n_samples: int
    n_rows: int
    n_alone: int
    fits: Callable[[Settings], bool] = lambda _: True

    def different(self, fitted: Callable[[Settings], Sequence[Kernel]]) -> Candidates:
        """Return the same without banks that are another one on this table.

        Parameters
        ----------
        fitted : callable
            Returns the kernels of an estimator with the parameters of a bank.
        """
        if len(self.banks) == 1:
            return self
        known: list[Sequence[Kernel]] = []
        banks = {}
        for word, own in self.banks.items():
            kernels = fitted(own)
            if kernels not in known:
                known.append(kernels)
                banks[word] = own
        return replace(self, banks=banks)

    def kinds(self, bank: str) -> list[Kind]:
        """Return the kinds that begin the race with one of the banks."""
        word, loss = next(iter(self.losses.items()))
        begin = [
            Kind(bank, relation, word, settings={**self.banks[bank], **own, **loss}, ladder=PRICES)
            for relation, own in self.relations.items()
            if relation != "functions" or len(self.relations) == 1
        ]
        begin = [kind for kind in begin if self.fits(kind.settings)]
        if not begin:
            raise ValueError(
                f"loss={loss['loss']!r} cannot be fitted to {self.n_rows} rows with any relation "
                "that may be chosen; use relation='independent' or loss='epsilon_insensitive'."
            )
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
        if not self.fits(settings):
            return None
        ladder = untuned(self._solved_together(relation))
        return Kind(bank, relation, word, settings=settings, ladder=ladder)

    def variants(self, leader: Kind) -> Iterator[Kind]:
        """Yield kinds that are close to the leader and best at about its strength."""
        for word, own in self.losses.items():
            if word != leader.loss and own["loss"] == leader.settings["loss"]:
                yield leader.changed(loss=word, settings=own)
        few = self.n_tasks <= _MANY_TASKS.get(leader.bank, _MANY)
        if few and leader.relation in ("mixed", "independent") and "functions" in self.relations:
            joined = leader.changed(relation="functions", settings=self.relations["functions"])
            if self.fits(joined.settings):
                yield joined

    def other_losses(self, leader: Kind) -> list[Kind]:
        """Return the leader with losses of another form, whose strengths are others."""
        others = [
            leader.changed(loss=word, settings=own)
            for word, own in self.losses.items()
            if word != leader.loss and own["loss"] != leader.settings["loss"]
        ]
        return [kind for kind in others if self.fits(kind.settings)]

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
        offered = [
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
        return [kind for kind in offered if self.fits(kind.settings)]

    def _takes_long(self, bank: str, relation: str) -> bool:
        """Return whether the evidence of a bank is too much work."""
        parts = self.n_tasks if relation == "independent" else 1
        most = _MOST_ROWS.get(bank, _MOST)
        return parts * (self.n_rows / parts) ** 3 > most**3

    def _solved_together(self, relation: str) -> int:
        """Return how many samples are one problem, about."""
        return self.n_alone if relation == "independent" else self.n_samples

    def for_all_rows(self, kind: Kind, level: float) -> dict[str, Any]:
        """Return the parameters of a model for the whole table, of which a split has a part."""
        whole = self.n_rows
        if kind.relation == "independent":
            whole = max(1, self.n_rows // self.n_tasks)
        return kind.at(level, self._solved_together(kind.relation) / whole)

    def _is_default(self, leader: Kind) -> bool:
        default = self.default()
        words = (leader.bank, leader.relation)
        several = len(self.formulations) > 1 and len(self.rewards) == 1
        return several and default is not None and words == (default.bank, default.relation)
