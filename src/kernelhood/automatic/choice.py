"""The whole race: which kinds take part in which round."""

from __future__ import annotations

from kernelhood.automatic.candidates import Candidates
from kernelhood.automatic.kinds import Kind
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
    running: list[Kind] = []
    for bank in candidates.banks:
        near = {kind.relation for kind in running[:FINALISTS]}
        kinds = [one for one in candidates.kinds(bank) if not near or one.relation in near]
        race.scout(kinds)
        running = race.leading([*running, *kinds])
    ledger.begin("comparing")
    race.compare(running[:FINALISTS])
    ledger.begin("varying")
    leader = race.start()
    leader = race.vary(candidates.variants(leader.kind))
    if leader.kind.formulation == "corrected":
        race.challenge(candidates.normalized(leader.kind))
    ledger.begin("refining")
    race.refine()
    return race.settle()
