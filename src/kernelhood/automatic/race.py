"""Choosing a model by a race: many kinds on few splits, few kinds on all of them.

1. *Scouting.* Every relation with the first bank, at two strengths a factor of 30 apart and then
   onwards as long as that helps, on the first two splits; then the best two relations with the
   other banks, at their best strength.
2. *Comparing.* The best two kinds, of two relations if possible, on all splits, and the better of
   them half a step to both sides. It leads if it is ahead of the untuned default by one standard
   error; otherwise the latter does.
3. *Varying.* The leader with other losses, relations close to its own, intercepts that are not
   shrunk, `normalized` and the evidence, first on two splits, and on all of them where that does
   no worse than the leader. To take the lead, a variant has to be ahead by one standard error: of
   many models that are equally good, one is always ahead by chance.
4. *Refining.* The leader half a step to both sides, with `corrected` a quarter of a step, too, on
   two splits and then on all of them as above; then up to a step to stronger regularisation, as
   long as that is behind by less than half a standard error.

Standard errors are those of paired differences over splits and tasks. A kind is clearly behind
where it is behind by more than two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kernelhood.automatic.kinds import Kind
from kernelhood.automatic.ledger import Entry, Ledger

SCOUTS = 2
FINALISTS = 2
BEHIND = 2.0
AHEAD = 1.0
HARDLY = 0.5
_STEPS = 2


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
            onward = [self._beyond(kind) for kind in self.leading(kinds)[:FINALISTS]]
            asked = [one for one in onward if one is not None]

    def scout_near(self, kinds: Sequence[Kind], others: Sequence[Kind]) -> None:
        """Evaluate kinds at the best strengths of others with the same relation, on few splits."""
        levels = {kind.relation: self.best_of(kind).level for kind in others}
        asked = [(kind, levels[kind.relation]) for kind in kinds]
        self.ledger.evaluate(asked, self.scouts)

    def finalists(self, ranked: Sequence[Kind]) -> list[Kind]:
        """Return the best kinds of different relations, and more if there are too few of these."""
        first = {kind.relation: kind for kind in reversed(ranked)}
        different = [kind for kind in ranked if first[kind.relation] is kind]
        others = [kind for kind in ranked if first[kind.relation] is not kind]
        return [*different, *others][:FINALISTS]

    def compare(self, kinds: Sequence[Kind]) -> None:
        """Evaluate kinds on all splits, and the best of them at neighbouring strengths, too."""
        best = [self.best_of(kind) for kind in kinds]
        self.ledger.evaluate([(one.kind, one.level) for one in best], self.everywhere)
        first = self._best([self.best_of(kind) for kind in kinds])
        self.ledger.evaluate(self._around(first, 0.5), self.everywhere)

    def start(self) -> Entry:
        """Let the best of the models that were evaluated on all splits lead."""
        self.leader = self._best([one for one in self.ledger.entries.values() if one.seen.all()])
        return self.leader

    def hold(self, kind: Kind, level: float) -> Entry:
        """Let a model lead that is to be kept unless the leader is ahead of it."""
        self.ledger.evaluate([(kind, level)], self.scouts)
        held = self.best_of(kind)
        if self._is_behind(held, self.leader):
            return self.leader
        self.ledger.evaluate([(kind, level)], self.everywhere)
        lead, error = self.ledger.lead(self.leader, held)
        if lead <= AHEAD * error:
            self.leader = held
        return self.leader

    def vary(self, kinds: Iterable[Kind]) -> Entry:
        """Try kinds at the leader's strength."""
        kinds, level = list(kinds), self.leader.level
        self.ledger.evaluate([(kind, level) for kind in kinds], self.scouts)
        near = self._as_good(kinds)
        self.ledger.evaluate([(kind, level) for kind in near], self.everywhere)
        return self._challenged(near, AHEAD)

    def challenge(self, kinds: Sequence[Kind]) -> Entry:
        """Try kinds at strengths of their own."""
        if not kinds:
            return self.leader
        self.scout(kinds)
        near = self._as_good(kinds)
        if near:
            self.compare(near)
        return self._challenged(near, AHEAD)

    def _as_good(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Return the kinds that do no worse than the leader on the first splits."""
        goal = self._scouted(self.leader)
        return [kind for kind in kinds if self._scouted(self.best_of(kind)) >= goal]

    def refine(self) -> None:
        """Look for a better strength of the leader."""
        for part in self.leader.kind.ladder.parts:
            near = self._around(self.leader, part)
            self.ledger.evaluate(near, self.scouts)
            goal = self._scouted(self.leader)
            good = [one for one in near if self._scouted(self.ledger.entry(*one)) >= goal]
            self.ledger.evaluate(good, self.everywhere)
            self._challenged([self.leader.kind], 0.0)

    def settle(self) -> Entry:
        """Go to stronger regularisation as long as that is hardly worse, and return the winner."""
        best = settled = self.leader
        kind, step = best.kind, 0.5 * best.kind.ladder.step
        for number in range(1, 1 + _STEPS):
            level = round(best.level - number * step, 6)
            if level < kind.ladder.ends[0]:
                break
            self.ledger.evaluate([(kind, level)], self.everywhere)
            stronger = self.ledger.entry(kind, level)
            lead, error = self.ledger.lead(best, stronger)
            if lead > HARDLY * error:
                break
            settled = stronger
        return settled

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
