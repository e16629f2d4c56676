"""The table as text, Markdown and LaTeX."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._support import aligned, import_extra
from kernelhood._typing import Array
from kernelhood.paper.methods import label
from kernelhood.paper.protocol import METRICS, published_score


def to_text(results: Any) -> str:
    """Return the table with aligned columns.

    Examples
    --------
    >>> from kernelhood import paper
    >>> paper.to_text(paper.published_results()).splitlines()[-1].split()[:2]
    ['MT-ONMKL', '62.61']
    """
    head, body = grid_of_cells(results)
    return "\n".join(aligned([head, *body]))


def to_markdown(results: Any) -> str:
    """Return the table in Markdown.

    Examples
    --------
    >>> from kernelhood import paper
    >>> print(paper.to_markdown(paper.published_results())[:32])
    | method | Landmine accuracy % |
    """
    return as_markdown(*grid_of_cells(results))


def to_latex(results: Any) -> str:
    r"""Return the table as a LaTeX tabular, the best of each data set in bold.

    Examples
    --------
    >>> from kernelhood import paper
    >>> print(paper.to_latex(paper.published_results())[:15])
    \begin{tabular}
    """
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


def times_cells(results: Any) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of the seconds that a run of each method takes.

    Of variants that share a search, the first one has done it for the others.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method, score and seconds.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelhood.paper.table import times_cells
    >>> rows = {"dataset": "letter", "method": ["kta", "itl"], "score": 0.9, "seconds": [2.0, 1.0]}
    >>> times_cells(pd.DataFrame(rows))[1][-1]
    ['all', '3.0', '3.0']
    """
    found = check_results(results)
    means = found.pivot_table("seconds", "method", "dataset", sort=False)
    means["all"] = means.sum(axis=1)
    head = ["seconds a run", *map(title, means.columns[:-1]), "all"]
    names = {name: label(name) for name in means.index}
    means.loc["all"] = means.sum()
    body = [
        [names.get(name, name), *("" if np.isnan(one) else f"{one:.1f}" for one in line)]
        for name, line in zip(means.index, means.to_numpy(), strict=True)
    ]
    return head, body


def validation_cells(results: Any) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of scores on the part that chose the parameters.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method, score, validation_score and metric.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelhood.paper.table import validation_cells
    >>> rows = {"dataset": "letter", "method": ["kta", "itl"], "metric": "accuracy", "score": 0.9}
    >>> validation_cells(pd.DataFrame({**rows, "validation_score": [0.92, 0.94]}))[1]
    [['KTA', '92.00', '2'], ['ITL', '94.00', '1']]
    """
    known = results.assign(score=results["validation_score"].where(results["score"].notna()))
    head, body = grid_of_cells(known)
    kept = [place for place, name in enumerate(head[:-1]) if name != "paper"]
    return [head[n] for n in kept], [[row[n] for n in kept] for row in body]


def as_markdown(head: list[str], body: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape(text: str) -> str:
    for letter in "&%_#$":
        text = text.replace(letter, "\\" + letter)
    return text


# Rows of results, averaged: a matrix to test on, and the table for people.
#
# Functions take a frame with the columns dataset, method and score, such as `run` returns; a column
# metric says whether larger is better.


NEEDED = ("dataset", "method", "score")

TITLES = {"sarcos": "SARCOS"}


@dataclass(frozen=True)
class Blocks:
    """Mean scores, larger is better.

    Attributes
    ----------
    names : tuple of str
        The blocks: data sets, or tasks of data sets.
    methods : tuple of str
        The methods, in the order in which they occur.
    scores : ndarray of shape (n_blocks, n_methods)
        Means over runs, errors with the opposite sign; in percent if scores are shown so.
    """

    names: tuple[str, ...]
    methods: tuple[str, ...]
    scores: Array


def check_results(results: Any) -> Any:
    """Return the rows that have a score, or raise if the frame is not one of results."""
    missing = [name for name in NEEDED if name not in getattr(results, "columns", ())]
    if missing:
        raise ValueError(
            f"results lack {', '.join(missing)}; give a data frame with one row for every data "
            f"set, method and run, and at least the columns {', '.join(NEEDED)}."
        )
    if "metric" in results.columns:
        unknown = sorted(set(results["metric"].dropna()) - set(METRICS))
        if unknown:
            raise ValueError(f"metric {unknown[0]!r} is unknown; give {', '.join(METRICS)}.")
        if (results.groupby("dataset")["metric"].nunique() > 1).any():
            raise ValueError("results hold two metrics for one data set; keep one.")
    return results[results["score"].notna()]


def is_error(results: Any, dataset: str) -> bool:
    """Return whether smaller scores are better on a data set; larger are if nothing is said."""
    if "metric" not in results.columns:
        return False
    names = results.loc[results["dataset"] == dataset, "metric"].dropna()
    return bool(len(names)) and not METRICS[names.iloc[0]].greater_is_better


def score_blocks(results: Any, blocks: str = "datasets") -> Blocks:
    """Return the mean scores of all methods on the blocks that all of them have.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score; and task_scores if blocks are tasks.
    blocks : {"datasets", "tasks"}
        Whether a line of the matrix is a data set or a single task of one.
    """
    if blocks not in ("datasets", "tasks"):
        raise ValueError(f"blocks={blocks!r} is unknown; give 'datasets' or 'tasks'.")
    found = check_results(results)
    methods = ranked_methods(results)
    rows = found[["dataset", "method", "score"]].assign(block=found["dataset"])
    if blocks == "tasks":
        rows = _task_rows(found)
    means = rows.groupby(["block", "method"], sort=False)["score"].mean().unstack("method")
    means = means.reindex(columns=list(methods)).dropna()
    origin = dict(zip(rows["block"], rows["dataset"], strict=True))
    signs = np.array([-1.0 if is_error(found, origin[name]) else 1.0 for name in means.index])
    scales = np.array([_scale_of(_metric_of(found, origin[name])) for name in means.index])
    scores = means.to_numpy(dtype=np.float64).reshape(len(means), len(methods))
    return Blocks(tuple(means.index), methods, (signs * scales)[:, None] * scores)


def ranked_methods(results: Any) -> tuple[str, ...]:
    """Return the methods that were tried on every data set; all, if there would be but one."""
    names, count = check_results(results)["method"], results["dataset"].nunique()
    tried = results.groupby("method")["dataset"].nunique()
    everywhere = [name for name in dict.fromkeys(names) if tried[name] == count]
    return tuple(everywhere if len(everywhere) > 1 else dict.fromkeys(names))


def _task_rows(found: Any) -> Any:
    """Return one row for every task of every row."""
    if "task_scores" not in found.columns:
        raise ValueError("blocks='tasks' needs the column task_scores.")
    pd = import_extra("pandas", "bench")
    rows = [
        (row.dataset, row.method, score, f"{row.dataset}: {task}")
        for row in found.itertuples()
        for task, score in json.loads(row.task_scores).items()
    ]
    return pd.DataFrame(rows, columns=["dataset", "method", "score", "block"])


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
        rank (1 is the best; ties share ranks) among the methods that were tried on every data set,
        NaN for others, and published, the paper's figure or NaN. Scores are in percent if
        `metric` is accuracy or auc.

    Examples
    --------
    >>> from kernelhood import paper
    >>> paper.table(paper.published_results()).query("rank == 1")["method"].tolist()
    ['mt-onmkl', 'mt-onmkl', 'mt-onmkl', 'mt-onmkl', 'mt-mkl']
    """
    pd = import_extra("pandas", "bench")
    found = check_results(results)
    groups = found.groupby(["dataset", "method"], sort=False)["score"]
    lines = groups.agg(runs="count", mean="mean", error="sem").reset_index()
    lines["metric"] = [_metric_of(found, name) for name in lines["dataset"]]
    scales = np.array([_scale_of(name) for name in lines["metric"]])
    errors = np.array([is_error(found, name) for name in lines["dataset"]], dtype=bool)
    signed = lines["mean"].where(errors, -lines["mean"])
    ranked = lines["method"].isin(ranked_methods(results))
    lines["rank"] = signed.where(ranked).groupby(lines["dataset"]).rank()
    printed = [
        published_score(line.dataset, line.method, line.metric) for line in lines.itertuples()
    ]
    lines["published"] = pd.Series(printed, dtype=float, index=lines.index)
    for name in ("mean", "error", "published"):
        lines[name] *= scales
    columns = ["dataset", "method", "metric", "runs", "mean", "error", "rank", "published"]
    return lines[columns]


def best_first(lines: Any) -> Any:
    """Return the lines of one data set in a `table`, the best mean first."""
    metric = lines["metric"].iloc[0]
    falls = metric not in METRICS or METRICS[metric].greater_is_better
    return lines.sort_values("mean", ascending=not falls, kind="stable")


def _metric_of(results: Any, dataset: str) -> str:
    if "metric" not in results.columns:
        return "score"
    return str(results.loc[results["dataset"] == dataset, "metric"].iloc[0])


def _scale_of(metric: str) -> float:
    """Return what scores are multiplied by in tables: 100 for those in percent."""
    return 100.0 if metric in METRICS and METRICS[metric].percent else 1.0


def _decimals(value: float) -> int:
    """Return how many decimals are printed; errors below one have more, or would look alike."""
    return 4 if abs(value) < 1.0 else 2


def cell(line: Any, *, plus_minus: str = "±") -> str:
    """Return mean and standard error as text; a single run has no standard error."""
    digits = _decimals(line.mean)
    spread = "" if np.isnan(line.error) else f" {plus_minus} {line.error:.{digits}f}"
    return f"{line.mean:.{digits}f}{spread}"


def grid_of_cells(results: Any) -> tuple[list[str], list[list[str]]]:
    """Return the head and the lines of the table for people: methods down, data sets across.

    A data set has the columns ours, rank and, if there are such figures, paper; the average
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
    tried = set(zip(results["dataset"], results["method"], strict=True))
    body = []
    for method in methods:
        row = [label(method)]
        for name in names:
            absent = "failed" if (name, method) in tried else ""
            row += _cells(lines.get((name, method)), name in printed, absent)
        body.append(row)
    return [*head, "average rank"], [
        [*row, average] for row, average in zip(body, _averages(results, summary), strict=True)
    ]


def _cells(line: Any, with_paper: bool, absent: str) -> list[str]:
    if line is None:
        return [absent, ""] + [""] * with_paper
    paper = "" if np.isnan(line.published) else f"{line.published:.2f}"
    rank = "" if np.isnan(line.rank) else f"{line.rank:g}"
    return [cell(line), rank] + [paper] * with_paper


def _averages(results: Any, summary: Any) -> list[str]:
    """Return the average rank of each method among those that were tried on every data set."""
    ranks = summary.pivot(index="dataset", columns="method", values="rank")
    means = ranks[list(ranked_methods(results))].dropna().mean()
    found = [means.get(method, np.nan) for method in dict.fromkeys(summary["method"])]
    return ["" if np.isnan(mean) else f"{mean:.2f}" for mean in found]


def title(dataset: str) -> str:
    """Return the name of a data set as a heading."""
    return TITLES.get(dataset, dataset[:1].upper() + dataset[1:])


def unit(metric: str) -> str:
    """Return how a metric is shown."""
    names = {"accuracy": "accuracy %", "auc": "AUC %", "mse": "MSE", "nmse": "NMSE"}
    return names.get(metric, metric)
