"""What a reader of the table must know beside it."""

from __future__ import annotations

from typing import Any


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
