"""What the statistics say, in words."""

from __future__ import annotations

from typing import Any

from kernelhood.experiments.blocks import score_blocks
from kernelhood.experiments.methods import label
from kernelhood.experiments.statistics import friedman, holm, iman_davenport


def choose_blocks(results: Any) -> str | None:
    """Return what to rank methods on: data sets, single tasks where there is one, None if nothing.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    """
    found = score_blocks(results)
    if len(found.methods) < 2:
        return None
    if len(found.names) >= 2:
        return "datasets"
    if "task_scores" in results.columns and len(score_blocks(results, "tasks").names) >= 2:
        return "tasks"
    return None


def findings(results: Any) -> list[str]:
    """Return sentences: Friedman, Iman and Davenport, and Holm's comparisons with the best.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    """
    blocks = choose_blocks(results)
    if blocks is None:
        return ["Statistics need two methods on two data sets, or on one with several tasks."]
    found = score_blocks(results, blocks)
    chi2, f = friedman(results, blocks=blocks), iman_davenport(results, blocks=blocks)
    against = holm(results, blocks=blocks)
    what = "data sets" if blocks == "datasets" else "tasks"
    sentences = [
        f"{len(found.methods)} methods on {len(found.names)} {what}: Friedman's chi2 = "
        f"{chi2.statistic:.3f} (df {chi2.df[0]}, p = {chi2.p_value:.3f}), Iman and Davenport's "
        f"F = {f.statistic:.3f} (df {f.df[0]} and {f.df[1]}, p = {f.p_value:.3f}).",
        f"Best average rank: {label(against.attrs['control'])}. Holm's p of the others against "
        "it: " + ", ".join(f"{label(name)} {p:.4f}" for name, p in against["holm"].items()) + ".",
    ]
    if blocks == "tasks":
        sentences.append(
            "Ranks here are over the tasks of one data set, which are not independent: take the "
            "p-values as a description only."
        )
    left_out = sorted(set(results["dataset"]) - set(score_blocks(results).names))
    if left_out:
        sentences.append(f"Left out, because a method has no score there: {', '.join(left_out)}.")
    return sentences


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
