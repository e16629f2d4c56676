"""Scores as dots with intervals: methods over a data set, and task by task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.experiments.methods import label
from kernelhood.experiments.table import check_results, is_error, table, title, unit
from kernelhood.plotting.style import (
    COLOURS,
    FAINT,
    INK,
    new_figure,
    plain,
    short_names,
)

MARKERS = "osD^vP*X"
# Beyond this many tasks a picture task by task cannot be read.
_MOST_TASKS = 30


def plot_scores(results: Any) -> Any:
    """Draw what was found: for every method its mean score, the interval of it, and the tasks.

    A large dot is the mean over tasks and runs, its line two standard errors over runs to either
    side; a small dot is a task. The best method stands on top of each panel, one for each data set.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score; task_scores gives the small dots.

    Returns
    -------
    matplotlib figure

    Examples
    --------
    >>> from kernelhood.experiments import plot_scores, published_results
    >>> figure = plot_scores(published_results().query("dataset in ['letter', 'spam']"))
    >>> len(figure.axes)
    2
    """
    summary = table(results)
    names = list(dict.fromkeys(summary["dataset"]))
    n_methods = summary["method"].nunique()
    columns = 1 if len(names) == 1 else 2
    lines = -(-len(names) // columns)
    figure = new_figure((5.4 if columns == 1 else 9.0, lines * (0.27 * n_methods + 1.1)), "bench")
    axes = np.ravel(figure.subplots(lines, columns, squeeze=False)).tolist()
    for unused in axes[len(names) :]:
        unused.remove()
    for ax, name in zip(axes, names, strict=False):
        _draw_methods(ax, results, summary[summary["dataset"] == name].sort_values("rank"), name)
    return figure


def _draw_methods(ax: Any, results: Any, lines: Any, dataset: str) -> None:
    """Draw the methods of one data set, the best on top."""
    scale = _scale(lines)
    spans = []
    for place, line in enumerate(lines.itertuples()):
        best = line.rank == lines["rank"].min()
        colour = COLOURS[0] if best else FAINT
        tasks = [
            scale * score for score in _mean_task_scores(results, dataset, line.method).values()
        ]
        ax.plot(tasks, np.full(len(tasks), place), ".", color=colour, alpha=0.35, ms=5)
        error = 0.0 if np.isnan(line.error) else 2.0 * line.error
        spans.append((min([*tasks, line.mean - error]), max([*tasks, line.mean + error])))
        ax.errorbar(line.mean, place, xerr=error, fmt="o", color=colour, ms=7, lw=2, capsize=3)
    _zoom(ax, spans, list(lines["mean"]), [f"{one:.4g}" for one in lines["mean"]])
    ax.set_yticks(range(len(lines)), short_names(map(label, lines["method"])), fontsize=9)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.25)
    plain(ax)
    ax.tick_params(axis="y", length=0)
    smaller = " (smaller is better)" if is_error(results, dataset) else ""
    ax.set_xlabel(f"{unit(lines['metric'].iloc[0])}{smaller}", fontsize=9)
    ax.set_title(title(dataset), fontsize=10, loc="left", color=INK)


def _zoom(ax: Any, spans: list[tuple[float, float]], means: list[float], texts: list[str]) -> None:
    """Show what the better half of the methods needs; a mean further out is written at the edge."""
    half = np.array(spans[: max(2, -(-len(spans) // 2))])
    low, high = float(half.min()), float(half.max())
    room = max(high - low, 1e-9)
    low, high = max(low - room, float(np.min(spans))), min(high + room, float(np.max(spans)))
    pad = 0.03 * (high - low)
    ax.set_xlim(low - pad, high + pad)
    for place, (mean, text) in enumerate(zip(means, texts, strict=True)):
        if not low - pad <= mean <= high + pad:
            left = mean < low
            edge, words = (0.0, f"◂ {text}") if left else (1.0, f"{text} ▸")
            look = {"ha": "left" if left else "right", "va": "center", "fontsize": 9}
            ax.text(edge, place, words, transform=ax.get_yaxis_transform(), color=FAINT, **look)


def plot_task_scores(results: Any, dataset: str) -> Any:
    """Draw the score of every method on every task, with two standard errors over runs.

    Parameters
    ----------
    results : DataFrame
        Rows of `run`.
    dataset : str
        The data set.

    Returns
    -------
    matplotlib figure, or None where the rows tell no scores of tasks

    Examples
    --------
    >>> from kernelhood.experiments import plot_task_scores, published_results
    >>> plot_task_scores(published_results(), "letter") is None
    True
    """
    rows = check_results(results)
    rows = rows[rows["dataset"] == dataset]
    if "task_scores" not in rows.columns or rows.empty:
        return None
    summary = table(results)
    summary = summary[summary["dataset"] == dataset]
    methods, scale = list(summary["method"]), _scale(summary)
    tasks = list(json.loads(rows["task_scores"].iloc[0]))
    shown = tasks[:: -(-len(tasks) // _MOST_TASKS)]
    figure = new_figure((6.8, 0.055 * (len(methods) + 2) * len(shown) + 1.4), "bench")
    ax = figure.subplots()
    drawn = []
    for place, method in enumerate(methods):
        found = _task_scores(rows, method)
        values = scale * np.array([[one.get(task, np.nan) for task in shown] for one in found])
        drawn.append(_draw_dots(ax, values, place, len(methods), label(method)))
    _edge_marks(ax, drawn, np.argsort(summary["rank"].to_numpy(), kind="stable"))
    _name_rows(ax, shown, len(tasks))
    ax.set_xlabel(unit(summary["metric"].iloc[0]), fontsize=9)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return figure


def _draw_dots(ax: Any, values: Array, place: int, count: int, name: str) -> tuple[Any, Any]:
    """Draw one method's scores, each task's a little below those of the method before."""
    with np.errstate(invalid="ignore"):
        means = values.mean(axis=0)
        errors = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0 * means
    rows = np.arange(values.shape[1]) + 0.76 * ((place + 0.5) / count - 0.5)
    look = {"color": COLOURS[place % 8], "fmt": MARKERS[place % 8], "ms": 4, "lw": 1}
    hollow = {"mfc": "white"} if place >= 8 else {}
    ax.errorbar(means, rows, xerr=2.0 * errors, label=name, **look, **hollow)
    return means, rows


def _edge_marks(ax: Any, drawn: list[tuple[Any, Any]], order: Any) -> None:
    """Show the range that the better half of the methods needs; put an arrow for what is out."""
    half = np.concatenate([drawn[place][0] for place in order[: max(2, -(-len(drawn) // 2))]])
    every = np.concatenate([means for means, _ in drawn])
    low, high = float(np.nanmin(half)), float(np.nanmax(half))
    room = 0.6 * max(high - low, 1e-9)
    low, high = max(low - room, np.nanmin(every)), min(high + room, np.nanmax(every))
    pad = 0.04 * max(high - low, 1e-9)
    ax.set_xlim(low - pad, high + pad)
    for place, (means, rows) in enumerate(drawn):
        for side, marker, out in ((low, "<", means < low - pad), (high, ">", means > high + pad)):
            look = {"color": COLOURS[place % 8], "ms": 5, "ls": "", "clip_on": False}
            ax.plot(np.full(out.sum(), side), rows[out], marker, **look)


def _name_rows(ax: Any, shown: Sequence[str], n_tasks: int) -> None:
    ax.set_yticks(range(len(shown)), short_names(shown), fontsize=8)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    for line in range(1, len(shown)):
        ax.axhline(line - 0.5, color=FAINT, lw=0.4, alpha=0.5)
    ax.grid(axis="x", alpha=0.25)
    plain(ax)
    ax.tick_params(axis="y", length=0)
    if len(shown) < n_tasks:
        ax.set_ylabel(f"{len(shown)} of {n_tasks} tasks", fontsize=9)


def _scale(lines: Any) -> float:
    """Return what scores are multiplied by in print."""
    return 100.0 if unit(lines["metric"].iloc[0]).endswith("%") else 1.0


def _task_scores(rows: Any, method: str) -> list[dict[str, float]]:
    """Return the scores of the tasks, a dictionary for each run."""
    return [json.loads(text) for text in rows.loc[rows["method"] == method, "task_scores"]]


def _mean_task_scores(results: Any, dataset: str, method: str) -> dict[str, float]:
    """Return the mean score of every task over the runs; nothing where rows do not tell."""
    if "task_scores" not in results.columns:
        return {}
    rows = results[(results["dataset"] == dataset) & results["score"].notna()]
    found = _task_scores(rows, method)
    return (
        {task: float(np.mean([one[task] for one in found])) for task in found[0]} if found else {}
    )
