"""What was chosen, in words."""

from __future__ import annotations

import numpy as np

from kernelhood.automatic.ledger import Entry, Ledger

_RELATIONS = {
    "independent": "every task on its own",
    "mixed": "one function for all tasks, and deviations of one size",
    "pooled": "one function for all tasks and nothing else",
    "functions": "one function for all tasks, and deviations of their own size",
    "groups": "one function for all tasks, one for each group, and deviations",
}
_BANKS = {"small": "a small bank", "full": "a bank with kernels on single columns"}


def summary_of(ledger: Ledger, best: Entry, classifies: bool) -> str:
    """Return a few sentences about a choice.

    Parameters
    ----------
    ledger : Ledger
        All models that were evaluated.
    best : Entry
        The one that was chosen.
    classifies : bool
        Whether targets are classes.
    """
    score = _score_word(ledger, classifies)
    lines = [
        f"Chosen: {described(best)}.",
        f"Its {score} is {ledger.mean(best):.4g}, the mean over {ledger.n_splits} splits.",
        _against(ledger, best, _best_other(ledger, best), "The runner-up of another kind is"),
    ]
    if best.kind.relation != "independent":
        alone = _best_alone(ledger)
        lines.append(_against(ledger, best, alone, "The best with one model a task is"))
    lines.append(_edge(best))
    return "\n".join(line for line in [*lines, _effort(ledger)] if line)


def described(entry: Entry) -> str:
    """Return a model in words."""
    kind = entry.kind
    words = [_RELATIONS.get(kind.relation, f"the relation {kind.relation}")]
    words.append(kind.intercept)
    words.append(_BANKS.get(kind.bank, f"the {kind.bank} kernels"))
    numbers = {name: entry.params[name] for name in ("C", "beta") if name in entry.params}
    shown = ", ".join(f"{name}={value:.3g}" for name, value in numbers.items())
    words += [kind.loss, f"formulation {kind.formulation}" + (f" with {shown}" if shown else "")]
    return "; ".join(word for word in words if word)


def _score_word(ledger: Ledger, classifies: bool) -> str:
    if ledger.scorer.scoring is not None:
        name = ledger.scorer.scoring
        return f"score ({name})" if isinstance(name, str) else "score"
    return "accuracy" if classifies else "share of squared error explained"


def _best_other(ledger: Ledger, best: Entry) -> Entry | None:
    """Return the best model of another kind, of those that were evaluated on most splits."""
    return _most_tried(
        ledger,
        [
            one
            for one in ledger.entries.values()
            if one.kind is not best.kind and one.kind.name != best.kind.name
        ],
    )


def _best_alone(ledger: Ledger) -> Entry | None:
    alone = [one for one in ledger.entries.values() if one.kind.relation == "independent"]
    return _most_tried(ledger, alone)


def _most_tried(ledger: Ledger, entries: list[Entry]) -> Entry | None:
    if not entries:
        return None
    return max(entries, key=lambda one: (int(one.seen.sum()), ledger.mean(one)))


def _against(ledger: Ledger, best: Entry, other: Entry | None, start: str) -> str:
    """Return how a model compares with the chosen one, on the splits that both have seen."""
    if other is None:
        return ""
    splits = ledger.common(best, other)
    lead, error = ledger.lead(best, other)
    where = "" if len(splits) == ledger.n_splits else f" on {len(splits)} of the splits"
    verdict = "ahead of it" if lead >= 0.0 else "behind it"
    doubt = f", +- {error:.2g}" if np.isfinite(error) else ""
    return (
        f"{start} {described(other)}: {ledger.mean(other, splits):.4g}{where}; the chosen one is "
        f"{abs(lead):.2g} {verdict}{doubt}."
    )


def _edge(best: Entry) -> str:
    """Return what to do where the chosen model is at an end of its path."""
    low, high = best.kind.ladder.ends
    if low < best.level < high or low == high:
        return ""
    which = "strongest" if best.level <= low else "weakest"
    name = "beta" if best.kind.formulation == "corrected" else "C"
    return (
        f"{name} sits at the {which} regularisation that is tried: look further with "
        "KernelSearchCV around best_params_."
    )


def _effort(ledger: Ledger) -> str:
    entries = list(ledger.entries.values())
    fits = sum(int(one.seen.sum()) for one in entries)
    dropped = sum(not one.seen.all() for one in entries)
    return (
        f"{len(entries)} models were tried in {fits} fits; {dropped} of them were dropped before "
        "all splits were used."
    )
