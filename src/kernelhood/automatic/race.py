"""Choosing a model by a race: many kinds on few splits, few kinds on all of them.

1. *Scouting.* Every relation with the first bank, at two strengths a factor of 30 apart and then
   onwards as long as that helps, on the first two splits; then the other banks with the relations
   that are not clearly behind.
2. *Comparing.* The best three kinds that are not clearly behind on all splits; those that are then
   not clearly behind half a step to both sides as well.
3. *Varying.* The leader with other losses, relations close to its own, and with `normalized`.
4. *Refining.* The leader half a step and a quarter of a step to both sides.

A kind is clearly behind where its paired differences to the leader, over splits and tasks, sum up
to more than two standard errors. Whoever challenges the leader after the comparison has to be ahead
of it by one, and another strength by half of one: of many models that are equally good, one is
always ahead by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kernelhood.automatic.kinds import Kind
from kernelhood.automatic.ledger import Entry, Ledger

SCOUTS = 2
FINALISTS = 3
BEHIND = 2.0
AHEAD = 1.0


class Race:
    """The rounds in which a model is chosen.

    Parameters
    ----------
    ledger : Ledger
        Evaluates models and remembers them.

    Attributes
    ----------
    leader : Entry
        The best model so far, after the comparison.
    """

    leader: Entry

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.scouts = list(range(min(SCOUTS, ledger.n_splits)))
        self.everywhere = list(range(ledger.n_splits))

    def scout(self, kinds: Sequence[Kind]) -> None:
        """Evaluate kinds at few strengths on few splits."""
        asked = [(kind, level) for kind in kinds for level in kind.ladder.levels]
        while asked:
            self.ledger.evaluate(asked, self.scouts)
            onward = [self._beyond(kind) for kind in self.leading(kinds)]
            asked = [one for one in onward if one is not None]

    def compare(self, kinds: Sequence[Kind]) -> None:
        """Evaluate the best kinds on all splits, around their best strengths."""
        best = [self.best_of(kind) for kind in kinds]
        self.ledger.evaluate([(one.kind, one.level) for one in best], self.everywhere)
        near = [self._around(self.best_of(kind), 0.5) for kind in self.leading(kinds)]
        self.ledger.evaluate([one for some in near for one in some], self.everywhere)

    def start(self) -> Entry:
        """Return the best of the models that were evaluated on all splits, from now on the leader."""
        self.leader = self._best([one for one in self.ledger.entries.values() if one.seen.all()])
        return self.leader

    def vary(self, kinds: Iterable[Kind]) -> Entry:
        """Evaluate kinds at the leader's strength on all splits."""
        kinds, level = list(kinds), self.leader.level
        self.ledger.evaluate([(kind, level) for kind in kinds], self.everywhere)
        return self._challenged(kinds, AHEAD)

    def challenge(self, kinds: Sequence[Kind]) -> Entry:
        """Scout kinds, and evaluate on all splits those that do no worse than the leader there."""
        self.scout(kinds)
        goal = self._scouted(self.leader)
        near = [kind for kind in kinds if self._scouted(self.best_of(kind)) >= goal]
        if near:
            self.compare(near)
        return self._challenged(near, AHEAD)

    def refine(self) -> Entry:
        """Evaluate the leader's neighbours on all splits."""
        for part in (0.5, 0.25):
            self.ledger.evaluate(self._around(self.leader, part), self.everywhere)
            self._challenged([self.leader.kind], 0.5 * AHEAD)
        return self.leader

    def _challenged(self, kinds: Sequence[Kind], margin: float) -> Entry:
        """Let the best model of some kinds lead if it is ahead by so many standard errors."""
        if kinds:
            best = self._best([self.best_of(kind) for kind in kinds])
            lead, error = self.ledger.lead(best, self.leader)
            if best.seen.all() and lead > margin * error:
                self.leader = best
        return self.leader

    def leading(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Return the kinds that are not clearly behind the best of them, best first."""
        ranked = sorted(kinds, key=lambda kind: -self._scouted(self.best_of(kind)))
        first = self.best_of(ranked[0])
        return [kind for kind in ranked if not self._is_behind(self.best_of(kind), first)]

    def best_of(self, kind: Kind) -> Entry:
        """Return a kind's best model among those that were evaluated on most splits."""
        own = self.ledger.of(kind)
        most = max(one.seen.sum() for one in own)
        return self._best([one for one in own if one.seen.sum() == most])

    def _best(self, entries: Sequence[Entry]) -> Entry:
        """Return the best of some models, of equals the one that is regularised most."""
        return max(entries, key=lambda one: (self.ledger.mean(one), -one.level))

    def _scouted(self, entry: Entry) -> float:
        """Return the score on the splits that all kinds were evaluated on."""
        return self.ledger.mean(entry, np.array(self.scouts))

    def _is_behind(self, entry: Entry, first: Entry) -> bool:
        lead, error = self.ledger.lead(first, entry)
        return lead > BEHIND * error

    def _beyond(self, kind: Kind) -> tuple[Kind, float] | None:
        """Return the next model of a kind whose best one is the last, unless that is the end."""
        levels = [one.level for one in self.ledger.of(kind)]
        best, step = self.best_of(kind).level, kind.ladder.step
        if best == min(levels):
            return (kind, best - step) if best - step >= kind.ladder.ends[0] else None
        if best == max(levels):
            return (kind, best + step) if best + step <= kind.ladder.ends[1] else None
        return None

    def _around(self, entry: Entry, part: float) -> list[tuple[Kind, float]]:
        """Return a model and its neighbours at a part of a step."""
        kind, step = entry.kind, entry.kind.ladder.step * part
        low, high = kind.ladder.ends
        levels = (entry.level, entry.level - step, entry.level + step)
        return [(kind, level) for level in levels if low <= level <= high]
