"""The table of the comparison, as a frame, as text, in Markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood.datasets._extras import import_extra
from kernelhood.experiments.blocks import check_results, is_error
from kernelhood.experiments.methods import label
from kernelhood.experiments.metrics import METRICS
from kernelhood.experiments.published import published_score

TITLES = {"sarcos": "SARCOS"}


def table(results: Any) -> Any:
    """Summarise results: one line for every data set and method.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.

    Returns
    -------
    DataFrame
        Columns dataset, method, metric, runs, mean, error (standard error of the mean over runs),
        rank (1 is the best; ties share ranks) and published, the paper's figure or NaN. Scores are
        in percent where `metric` is accuracy or auc.
    """
    pd = import_extra("pandas", "bench")
    found = check_results(results)
    groups = found.groupby(["dataset", "method"], sort=False)["score"]
    lines = groups.agg(runs="count", mean="mean", error="sem").reset_index()
    lines["metric"] = [_metric_of(found, name) for name in lines["dataset"]]
    errors = np.array([is_error(found, name) for name in lines["dataset"]], dtype=bool)
    signed = lines["mean"].where(errors, -lines["mean"])
    lines["rank"] = signed.groupby(lines["dataset"]).rank()
    printed = [
        published_score(line.dataset, line.method, line.metric) for line in lines.itertuples()
    ]
    lines["published"] = pd.Series(printed, dtype=float, index=lines.index)
    percent = [name in METRICS and METRICS[name].percent for name in lines["metric"]]
    lines.loc[percent, ["mean", "error", "published"]] *= 100.0
    columns = ["dataset", "method", "metric", "runs", "mean", "error", "rank", "published"]
    return lines[columns]


def _metric_of(results: Any, dataset: str) -> str:
    if "metric" not in results.columns:
        return "score"
    return str(results.loc[results["dataset"] == dataset, "metric"].iloc[0])


def cell(line: Any, *, plus_minus: str = "±") -> str:
    """Return mean and standard error as text; a single run has no standard error.

    Errors below one have two more digits, or small ones would look alike.
    """
    digits = 4 if abs(line.mean) < 1.0 else 2
    spread = "" if np.isnan(line.error) else f" {plus_minus} {line.error:.{digits}f}"
    return f"{line.mean:.{digits}f}{spread}"


def grid_of_cells(results: Any) -> tuple[list[str], list[list[str]]]:
    """Return the head and the lines of the table for people: methods down, data sets across.

    A data set has the columns ours, rank and, where there are such figures, paper; the average
    rank over the data sets that all methods were run on closes the line.
    """
    summary = table(results)
    names = list(dict.fromkeys(summary["dataset"]))
    methods = list(dict.fromkeys(summary["method"]))
    lines = {(line.dataset, line.method): line for line in summary.itertuples()}
    printed = {
        name for name in names if summary[summary["dataset"] == name]["published"].notna().any()
    }
    head = ["method"]
    for name in names:
        metric = summary.loc[summary["dataset"] == name, "metric"].iloc[0]
        head += [f"{title(name)} {unit(metric)}", "rank"] + ["paper"] * (name in printed)
    body = []
    for method in methods:
        row = [label(method)]
        for name in names:
            row += _cells(lines.get((name, method)), name in printed)
        body.append(row)
    return [*head, "average rank"], [
        [*row, average] for row, average in zip(body, _averages(summary, methods), strict=True)
    ]


def _cells(line: Any, with_paper: bool) -> list[str]:
    if line is None:
        return ["failed", ""] + [""] * with_paper
    paper = "" if np.isnan(line.published) else f"{line.published:.2f}"
    return [cell(line), f"{line.rank:g}"] + [paper] * with_paper


def _averages(summary: Any, methods: Sequence[str]) -> list[str]:
    """Return the average rank of each method over the data sets that all have."""
    ranks = summary.pivot(index="dataset", columns="method", values="rank").dropna()
    return [f"{ranks[method].mean():.2f}" if len(ranks) else "" for method in methods]


def title(dataset: str) -> str:
    """Return the name of a data set as a heading."""
    return TITLES.get(dataset, dataset[:1].upper() + dataset[1:])


def unit(metric: str) -> str:
    """Return how a metric is shown."""
    names = {"accuracy": "accuracy %", "auc": "AUC %", "mse": "MSE", "nmse": "NMSE"}
    return names.get(metric, metric)


def to_text(results: Any) -> str:
    """Return the table with aligned columns."""
    head, body = grid_of_cells(results)
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if place else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [head, *body]
    )


def to_markdown(results: Any) -> str:
    """Return the table in Markdown."""
    head, body = grid_of_cells(results)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def to_latex(results: Any) -> str:
    """Return the table as a LaTeX tabular, the best of each data set in bold."""
    head, body = grid_of_cells(results)
    ranks = [place for place, name in enumerate(head) if name == "rank"]
    lines = []
    for row in body:
        cells = [_escape(text).replace("±", r"$\pm$") for text in row]
        for place in ranks:
            if row[place] == "1":
                cells[place - 1] = rf"\textbf{{{cells[place - 1]}}}"
        lines.append(" & ".join(cells) + r" \\")
    columns = "l" + "r" * (len(head) - 1)
    first = " & ".join(map(_escape, head)) + r" \\"
    parts = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", first, r"\hline", *lines, r"\hline"]
    return "\n".join([*parts, r"\end{tabular}"])


def _escape(text: str) -> str:
    for letter in "&%_#$":
        text = text.replace(letter, "\\" + letter)
    return text
