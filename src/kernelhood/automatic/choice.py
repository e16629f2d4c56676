"""The whole race: which kinds take part in which round."""

from __future__ import annotations

from kernelhood.automatic.candidates import Candidates
from kernelhood.automatic.ledger import Entry, Ledger
from kernelhood.automatic.race import FINALISTS, Race


def chosen(ledger: Ledger, candidates: Candidates) -> Entry:
    """Run the race and return the winner.

    Parameters
    ----------
    ledger : Ledger
        Evaluates models and remembers them.
    candidates : Candidates
        What may be chosen.
    """
    race = Race(ledger)
    ledger.begin("scouting")
    first, *others = candidates.banks
    kinds = candidates.kinds(first)
    race.scout(kinds)
    running = race.leading(kinds)
    near = running[:FINALISTS]
    for bank in others:
        relations = {kind.relation for kind in near}
        more = [one for one in candidates.kinds(bank) if one.relation in relations]
        race.scout_near(more, near)
        running = race.leading([*running, *more])
    ledger.begin("comparing")
    race.compare(race.finalists(running))
    leader = race.start()
    default = candidates.default()
    if default is not None:
        leader = race.hold(default, 0.0)
    ledger.begin("varying")
    leader = race.vary(candidates.variants(leader.kind))
    leader = race.vary(candidates.free_intercepts(leader.kind))
    leader = race.challenge(candidates.other_losses(leader.kind))
    if leader.kind.formulation == "corrected":
        leader = race.challenge(candidates.normalized(leader.kind))
    if leader.kind.formulation != "evidence":
        race.challenge(candidates.evidence(leader.kind))
    ledger.begin("refining")
    race.refine()
    return race.settle()
