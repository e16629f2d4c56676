"""What a comparison found, in words: one sentence to open with, and the tests behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelhood.experiments.methods import label
from kernelhood.experiments.protocol import TABLE_1
from kernelhood.experiments.statistics import (
    ROPE,
    bayesian_comparison,
    choose_blocks,
    friedman,
    holm,
    iman_davenport,
)
from kernelhood.experiments.table import cell, score_blocks, table, title, unit

_LEVEL = 0.05
# Longer lists are counted.
_LISTED = 4


def p_text(p: float, digits: int = 3) -> str:
    """Return a p-value for print.

    Parameters
    ----------
    p : float
        From 0 to 1.
    digits : int
        Decimals; what they do not show is given as a bound.

    Examples
    --------
    >>> p_text(0.0741), p_text(1e-9)
    ('= 0.074', '< 0.001')
    """
    least = 10.0**-digits
    return f"= {p:.{digits}f}" if p >= least else f"< {least:.{digits}f}"


def headline(results: Any) -> str:
    """Return one sentence that says which method was best, and whether the tests support it.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.

    Examples
    --------
    >>> from kernelhood.experiments import published_results
    >>> print(headline(published_results()))
    MT-ONMKL has the best average rank of 7 methods on 5 data sets (1.40); Holm's test at 0.05 ...
    """
    blocks = choose_blocks(results)
    if blocks is None:
        return _scores_only(results)
    found = score_blocks(results, blocks)
    against = holm(results, blocks=blocks)
    best = against.attrs["control"]
    n, k = found.scores.shape
    what = (
        "data sets"
        if blocks == "datasets"
        else f"tasks of {title(str(results['dataset'].iloc[0]))}"
    )
    rank = k * (k + 1) / 2.0 - float(against["average rank"].sum())
    told = [label(name) for name in against.index[against["holm"] < _LEVEL]]
    rest = [label(name) for name in against.index[against["holm"] >= _LEVEL]]
    start = f"{label(best)} has the best average rank of {k} methods on {n} {what} ({rank:.2f})"
    if not told:
        return f"{start}, but Holm's test at {_LEVEL} tells it from no other method."
    if not rest:
        return f"{start}, and Holm's test at {_LEVEL} tells it from all others."
    others = listed(rest) if len(rest) <= _LISTED else f"the {len(rest)} others"
    some = listed(told) if len(told) <= _LISTED else f"{len(told)} of them"
    return f"{start}; Holm's test at {_LEVEL} tells it from {some}, not from {others}."


def _scores_only(results: Any) -> str:
    """Return the best score of every data set."""
    lines = table(results)
    best = lines.loc[lines.groupby("dataset", sort=False)["rank"].idxmin()]
    found = [
        f"{label(line.method)} scores {cell(line)} ({unit(line.metric)}) on {title(line.dataset)}"
        for line in best.itertuples()
    ]
    return "; ".join(found) + "."


def listed(names: Sequence[str]) -> str:
    """Return names as people write them.

    Parameters
    ----------
    names : sequence of str
        At least one.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def findings(results: Any) -> list[str]:
    """Return sentences: Friedman, Iman and Davenport, and Holm's comparisons with the best.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.

    Examples
    --------
    >>> from kernelhood.experiments import findings, published_results
    >>> print(findings(published_results())[0])
    7 methods on 5 data sets: Friedman's chi2 = 11.507 (df 6, p = 0.074), Iman and ...
    """
    blocks = choose_blocks(results)
    if blocks is None:
        return ["Statistics need two methods on two data sets, or on one with several tasks."]
    sentences = _tests(results, blocks)
    ranked = score_blocks(results, blocks).methods
    if blocks == "datasets" and "metric" in results.columns:
        sentences.append(_probabilities(results))
        if set(TABLE_1) < set(ranked):
            sentences.append("The seven methods of the paper alone:")
            sentences += _tests(results[results["method"].isin(TABLE_1)], blocks)
    if blocks == "tasks":
        sentences.append(
            "Ranks here are over the tasks of one data set, which are not independent: take the "
            "p-values as a description only."
        )
    left_out = sorted(set(results["dataset"]) - set(score_blocks(results).names))
    if left_out:
        sentences.append(f"Left out, because a method has no score there: {', '.join(left_out)}.")
    without = [label(name) for name in dict.fromkeys(results["method"]) if name not in ranked]
    if without:
        sentences.append(f"Not ranked, because not tried on all data sets: {listed(without)}.")
    return sentences


def _tests(results: Any, blocks: str) -> list[str]:
    """Return what Friedman's test and its likes say, and Holm's comparisons with the best."""
    found = score_blocks(results, blocks)
    chi2, f = friedman(results, blocks=blocks), iman_davenport(results, blocks=blocks)
    against = holm(results, blocks=blocks)
    what = "data sets" if blocks == "datasets" else "tasks"
    others = [
        f"{label(name)} {p_text(p, 4).removeprefix('= ')}" for name, p in against["holm"].items()
    ]
    return [
        f"{len(found.methods)} methods on {len(found.names)} {what}: Friedman's chi2 = "
        f"{chi2.statistic:.3f} (df {chi2.df[0]}, p {p_text(chi2.p_value)}), Iman and Davenport's "
        f"F = {f.statistic:.3f} (df {f.df[0]} and {f.df[1]}, p {p_text(f.p_value)}).",
        f"Best average rank: {label(against.attrs['control'])}. Holm's p of the others against "
        f"it: {', '.join(others)}.",
    ]


def _probabilities(results: Any) -> str:
    """Return how probable it is that the best method is better than each other one."""
    found = bayesian_comparison(results)
    others = [
        f"{label(name)} {row.better:.2f} ({row.same:.2f} the same)"
        for name, row in zip(found.index, found.itertuples(index=False), strict=True)
    ]
    return (
        f"Probability that {label(found.attrs['control'])} has a smaller error, by more than "
        f"{100 * ROPE:g} %, than each other method (Bayesian signed-rank test): "
        f"{', '.join(others)}."
    )


def notes(results: Any) -> list[str]:
    """Return what a reader of the table must know: units, failures."""
    lines = []
    names = set(results["dataset"])
    if "landmine" in names:
        lines.append("Landmine: all mines and as many other objects of each field.")
    if "load" in names:
        lines.append(
            "Load: errors on the standardised load; the unit of the paper's figures is unknown, so "
            "the two cannot be compared."
        )
    for (dataset, error), rows in failures(results).groupby(["dataset", "error"], sort=False):
        methods = ", ".join(dict.fromkeys(rows["method"]))
        runs = ", ".join(map(str, dict.fromkeys(rows["run"])))
        many = "runs" if rows["run"].nunique() > 1 else "run"
        lines.append(f"Failed: {dataset}, {methods}, {many} {runs}: {error}")
    return lines


def failures(results: Any) -> Any:
    """Return the rows of runs that failed; none where the frame does not tell."""
    if not {"error", "run"} <= set(results.columns):
        return results.iloc[:0].assign(error=None, run=0)
    return results[results["error"].notna()]
