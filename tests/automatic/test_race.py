"""The race on scores that are made up: which models are looked at on which splits."""

import numpy as np

from kernelhood.automatic.kinds import Kind
from kernelhood.automatic.ledger import Ledger
from kernelhood.automatic.race import Race


class _MadeUp(Ledger):
    """A ledger in which the score of a level on a split is given by a function."""

    def __init__(self, score, n_splits=5):
        super().__init__(None, [[]] * n_splits, 1, None, "tasks", False, None, None)
        self.score = score

    def _solve(self, entries, splits):
        for entry in entries:
            entry.scores[splits, 0] = [self.score(entry.level, split) for split in splits]
            entry.seen[splits] = True


def refined(score):
    """Return the race after the leader, which starts at level 1, was refined."""
    race, kind = Race(_MadeUp(score)), Kind("small", "mixed")
    race.ledger.evaluate([(kind, 1.0)], race.everywhere)
    race.start()
    race.refine()
    return race


def seen(race):
    """Return on how many splits each level was evaluated."""
    return {one.level: int(one.seen.sum()) for one in race.ledger.entries.values()}


def test_a_better_strength_is_found_and_a_worse_one_given_up_after_two_splits():
    race = refined(lambda level, split: -((level - 1.6) ** 2) + 0.01 * split)
    assert race.leader.level == 1.75
    # Steps of 1.5: half of one to both sides of 1, then a quarter around 1.75.
    assert seen(race) == {1.0: 5, 0.25: 2, 1.75: 5, 1.375: 2, 2.125: 2}


def test_a_strength_that_leads_on_two_splits_only_does_not_lead():
    race = refined(lambda level, split: 1.0 if level == 1.0 or split < 2 else 0.0)
    assert race.leader.level == 1.0
    assert all(count == 5 for count in seen(race).values())


def test_entries_are_the_same_to_six_digits():
    ledger, kind = _MadeUp(lambda level, split: 0.0), Kind("small", "mixed")
    assert ledger.entry(kind, 0.1 + 0.2) is ledger.entry(kind, 0.3)
    assert ledger.entry(kind, 0.3) is not ledger.entry(kind, 0.31)
    assert np.isnan(ledger.entry(kind, 0.3).scores).all()


def test_finalists_differ_in_their_relation_where_they_can():
    race = Race(_MadeUp(lambda level, split: 0.0))
    words = [("full", "pooled"), ("small", "pooled"), ("small", "mixed"), ("full", "mixed")]
    ranked = [Kind(bank, relation) for bank, relation in words]
    assert race.finalists(ranked) == [ranked[0], ranked[2]]
    assert race.finalists(ranked[:2]) == ranked[:2]
    assert race.finalists(ranked[:1]) == ranked[:1]
