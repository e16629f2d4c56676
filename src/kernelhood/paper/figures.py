"""The figures of the comparison. They read only the frame, and use no state of matplotlib."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._support import import_extra
from kernelhood._typing import Array
from kernelhood.inspection import style
from kernelhood.inspection.figures import shares_of
from kernelhood.paper.methods import ALIGNED, label
from kernelhood.paper.statistics import average_ranks, critical_difference
from kernelhood.paper.table import (
    best_first,
    check_results,
    is_error,
    score_blocks,
    table,
    title,
    unit,
)

_STYLES = ("-", "--", ":")
# Alignments that differ by less are told in words.
_SAME = 5e-4


def plot_critical_difference(
    results: Any, *, blocks: str = "datasets", alpha: float = 0.05, ax: Any = None
) -> Any:
    """Draw average ranks; a bar joins methods that Nemenyi's test does not tell apart.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    blocks : {"datasets", "tasks"}
        What methods are ranked on.
    alpha : float
        Level of the test.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from kernelhood.paper.figures import plot_critical_difference
    >>> from kernelhood.paper.protocol import published_results
    >>> plot_critical_difference(published_results()).texts[-1].get_text()
    'critical difference 4.03'
    """
    means = average_ranks(results, blocks=blocks).sort_values(kind="stable")
    n_blocks = len(score_blocks(results, blocks).names)
    distance = critical_difference(len(means), n_blocks, alpha=alpha)
    k, half = len(means), (len(means) + 1) // 2
    ax = style.new_axes(ax, (6.4, 1.5 + 0.28 * half))
    ax.set(xlim=(0.4, k + 0.6), ylim=(-0.5 * half - 1.2, 1.6))
    ax.axis("off")
    ax.plot([1, k], [0, 0], color=style.INK, lw=1.2)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [0, 0.12], color=style.INK, lw=1)
        ax.text(tick, 0.2, str(tick), ha="center", va="bottom", fontsize=9)
    for place, (method, mean) in enumerate(means.items()):
        left = place < half
        depth = -0.9 - 0.5 * (place if left else k - 1 - place)
        edge, gap = (0.95, -0.06) if left else (k + 0.05, 0.06)
        ax.plot([mean, mean, edge], [0, depth, depth], color=style.FAINT, lw=0.9)
        text = f"{label(method)}  {mean:.2f}" if left else f"{mean:.2f}  {label(method)}"
        ax.text(edge + gap, depth, text, ha="right" if left else "left", va="center", fontsize=9)
    for level, (low, high) in enumerate(_cliques(np.asarray(means), distance)):
        height = -0.18 - 0.16 * level
        ax.plot([low - 0.04, high + 0.04], [height, height], color=style.COLOURS[2], lw=3.2)
    ax.plot([1, 1 + min(distance, k - 1)], [1.05, 1.05], color=style.COLOURS[2], lw=3.2)
    ax.text(1, 1.2, f"critical difference {distance:.2f}", va="bottom", fontsize=9)
    return ax


def _cliques(means: Array, distance: float) -> list[tuple[float, float]]:
    """Return the widest spans of average ranks, ascending, that stay within the distance."""
    spans: list[tuple[int, int]] = []
    for low in range(len(means)):
        high = int(np.searchsorted(means, means[low] + distance, side="right")) - 1
        if high > low and (not spans or high > spans[-1][1]):
            spans.append((low, high))
    return [(float(means[low]), float(means[high])) for low, high in spans]


def plot_figure_1(results: Any, dataset: str) -> Any:
    """Draw the paper's Figure 1: how the tasks' kernels align with the neighborhood matrices.

    Parameters
    ----------
    results : DataFrame
        Rows of `run`; alignments are averaged over runs.
    dataset : str
        The data set.

    Returns
    -------
    matplotlib figure, or None if no method has a neighborhood matrix

    Examples
    --------
    >>> import json, pandas as pd
    >>> alignment = json.dumps([[1.0, 0.9], [0.8, 1.0]])
    >>> row = {"dataset": "mine", "method": "mt-onmkl", "alignment": alignment}
    >>> plot_figure_1(pd.DataFrame([row]), "mine").axes[0].get_title()
    'MT-ONMKL'
    """
    rows = _of(results, dataset, "alignment")
    methods = [name for name in dict.fromkeys(rows["method"]) if name in ALIGNED]
    if not methods:
        return None
    first = next(iter(rows["weights"])) if "weights" in rows.columns else None
    side = 2.6
    found = [rows[rows["method"] == name]["alignment"] for name in methods]
    means = [np.mean([json.loads(text) for text in texts], axis=0) for texts in found]
    tasks = json.loads(first)["tasks"] if first else list(range(1, len(means[0]) + 1))
    room = style.width_of(tasks, 14)
    figure, panels = _panels(len(methods), (side + room + 0.9, side + room + 0.7))
    for ax, name, mean in zip(panels, methods, means, strict=True):
        limits = style.nice_range(mean)
        image = style.draw_map(
            ax, mean, limits=limits, colours=style.LIKENESS_MAP, inches=(side, side)
        )
        ax.set_title(label(name), fontsize=10)
        said = style.name_ticks(ax.xaxis, tasks, inches=side)
        style.name_ticks(ax.yaxis, tasks, inches=side)
        ax.set_xlabel(said.replace("task", "neighborhood of task", 1), fontsize=8)
        ax.set_ylabel("kernel of task", fontsize=8)
        style.colour_bar(ax, image, "alignment")
        if np.ptp(mean) < _SAME:
            look = {"ha": "center", "va": "center", "color": style.INK, "fontsize": 9}
            ax.text(0.5, 0.5, f"{mean.mean():.3f} everywhere", transform=ax.transAxes, **look)
    return figure


def plot_learned_weights(results: Any, dataset: str) -> Any:
    """Draw every method's kernel weights: tasks down, kernels across, mean share over runs.

    Parameters
    ----------
    results : DataFrame
        Rows of `run`.
    dataset : str
        The data set.

    Returns
    -------
    matplotlib figure, or None if the rows tell no weights

    Examples
    --------
    >>> import json, pandas as pd
    >>> weights = {"tasks": ["a"], "kernels": ["linear", "gaussian(2)"], "values": [[1.0, 3.0]]}
    >>> row = {"dataset": "mine", "method": "itl", "weights": json.dumps(weights)}
    >>> plot_learned_weights(pd.DataFrame([row]), "mine").axes[0].images[0].get_array().tolist()
    [[0.25, 0.75]]
    """
    rows = _of(results, dataset, "weights")
    methods = list(dict.fromkeys(rows["method"]))
    if not methods:
        return None
    found = {name: _alike(rows[rows["method"] == name]["weights"]) for name in methods}
    tasks = found[methods[0]][0]["tasks"]
    kernels = max((ones[0]["kernels"] for ones in found.values()), key=len)
    inches = (2.6, float(np.clip(0.25 * len(tasks), 1.2, 7.0)))
    size = (inches[0] + style.width_of(tasks) + 0.3, inches[1] + style.width_of(kernels) + 0.6)
    figure, panels = _panels(len(methods), size)
    for ax, name in zip(panels, methods, strict=True):
        image = _draw_weights(ax, found[name], inches)
        ax.set_title(label(name), fontsize=10)
    bar = figure.colorbar(image, ax=panels, location="bottom", shrink=0.4, aspect=35)
    bar.set_label("share of the weight", fontsize=9)
    bar.outline.set_visible(False)
    return figure


def _alike(texts: Any) -> list[dict[str, Any]]:
    """Return the runs that have the kernels that most of them have."""
    runs = [json.loads(text) for text in texts]
    kernels = Counter(tuple(one["kernels"]) for one in runs).most_common(1)[0][0]
    return [one for one in runs if tuple(one["kernels"]) == kernels]


def _draw_weights(ax: Any, runs: list[dict[str, Any]], inches: tuple[float, float]) -> Any:
    """Draw the mean shares of one method; a single kernel is a column as wide as any other."""
    tasks, kernels = runs[0]["tasks"], runs[0]["kernels"]
    shares = np.mean([shares_of(np.array(one["values"], dtype=float)) for one in runs], axis=0)
    width = inches[0] if len(kernels) > 1 else 0.35
    image = style.draw_map(
        ax, shares, limits=(0.0, 1.0), colours=style.SHARES_MAP, inches=(width, inches[1])
    )
    style.name_ticks(ax.yaxis, tasks, inches=inches[1])
    said = style.name_ticks(ax.xaxis, kernels, inches=width, what="kernel")
    single = "the only kernel" if len(kernels) == 1 else ""
    ax.set_xlabel(single if said == "kernel" else said, fontsize=8)
    return image


def plot_convergence(results: Any, dataset: str, *, ax: Any = None) -> Any:
    """Draw the gap of the worst task against the time of the fit, for the first run.

    The time is shared out evenly among the SVMs that the fit solved; all tasks are taken to advance
    side by side.

    Parameters
    ----------
    results : DataFrame
        Rows of `run`.
    dataset : str
        The data set.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes, or None if the rows tell no gaps

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"dataset": "mine", "method": "itl", "trace": "[[0.1, 1e-4]]", "fit_seconds": 2.0}
    >>> plot_convergence(pd.DataFrame([row]), "mine").lines[0].get_xdata().tolist()
    [1.0, 2.0]
    """
    rows = _of(results, dataset, "trace").drop_duplicates("method")
    if not len(rows):
        return None
    ax = style.new_axes(ax, (7.6, 3.8))
    for place, row in enumerate(rows.itertuples()):
        seconds, gaps = _worst_gap(json.loads(row.trace), float(row.fit_seconds))
        looks = {"color": style.COLOURS[place % 8], "ls": _STYLES[place // 8 % 3]}
        ax.plot(
            seconds, np.maximum(gaps, 1e-9), marker=".", lw=1.4, label=label(row.method), **looks
        )
    ax.set(xscale="log", yscale="log", xlabel="seconds", ylabel="gap of the worst task")
    ticker = import_extra("matplotlib.ticker", "bench")
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_locator(ticker.NullLocator())
    ax.grid(alpha=0.25)
    style.legend_outside(ax)
    style.plain(ax)
    return ax


def _worst_gap(traces: list[list[float]], seconds: float) -> tuple[Array, Array]:
    """Return time and largest gap after each round of SVMs, one SVM for every task not yet done."""
    lengths = np.array([len(trace) for trace in traces])
    rounds = np.arange(1, lengths.max() + 1)
    solved = np.minimum(rounds[:, None], lengths).sum(axis=1)
    padded = [[trace[min(k, len(trace)) - 1] for trace in traces] for k in rounds]
    return seconds * solved / lengths.sum(), np.max(padded, axis=1)


def _of(results: Any, dataset: str, column: str) -> Any:
    """Return the rows of a data set that have something in a column."""
    if dataset not in set(results["dataset"]):
        raise ValueError(f"dataset={dataset!r} is not among the results.")
    if column not in results.columns:
        return results.iloc[:0]
    return results[(results["dataset"] == dataset) & results[column].notna()]


def _panels(count: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """Return a figure and `count` axes of a size in inches, at most two beside each other."""
    columns = min(count, 2)
    lines = -(-count // columns)
    figure = style.new_figure((columns * size[0], lines * size[1] + 0.5), "bench")
    axes = np.ravel(figure.subplots(lines, columns, squeeze=False)).tolist()
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


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
    >>> from kernelhood.paper.figures import plot_scores
    >>> from kernelhood.paper.protocol import published_results
    >>> figure = plot_scores(published_results().query("dataset in ['letter', 'spam']"))
    >>> len(figure.axes)
    2
    """
    summary = table(results)
    names = list(dict.fromkeys(summary["dataset"]))
    n_methods = summary["method"].nunique()
    columns = 1 if len(names) == 1 else 2
    lines = -(-len(names) // columns)
    figure = style.new_figure(
        (5.4 if columns == 1 else 9.0, lines * (0.27 * n_methods + 1.1)), "bench"
    )
    axes = np.ravel(figure.subplots(lines, columns, squeeze=False)).tolist()
    for unused in axes[len(names) :]:
        unused.remove()
    for ax, name in zip(axes, names, strict=False):
        _draw_methods(ax, results, best_first(summary[summary["dataset"] == name]), name)
    return figure


def _draw_methods(ax: Any, results: Any, lines: Any, dataset: str) -> None:
    """Draw the methods of one data set, the best on top."""
    scale = _scale(lines)
    spans = []
    for place, line in enumerate(lines.itertuples()):
        best = line.mean == lines["mean"].iloc[0]
        colour = style.COLOURS[0] if best else style.FAINT
        tasks = [
            scale * score for score in _mean_task_scores(results, dataset, line.method).values()
        ]
        ax.plot(tasks, np.full(len(tasks), place), ".", color=colour, alpha=0.35, ms=5)
        error = 0.0 if np.isnan(line.error) else 2.0 * line.error
        spans.append((min([*tasks, line.mean - error]), max([*tasks, line.mean + error])))
        ax.errorbar(line.mean, place, xerr=error, fmt="o", color=colour, ms=7, lw=2, capsize=3)
    _zoom(ax, spans, list(lines["mean"]), [f"{one:.4g}" for one in lines["mean"]])
    ax.set_yticks(range(len(lines)), style.short_names(map(label, lines["method"])), fontsize=9)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.25)
    style.plain(ax)
    ax.tick_params(axis="y", length=0)
    smaller = " (smaller is better)" if is_error(results, dataset) else ""
    ax.set_xlabel(f"{unit(lines['metric'].iloc[0])}{smaller}", fontsize=9)
    ax.set_title(title(dataset), fontsize=10, loc="left", color=style.INK)


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
            ax.text(
                edge, place, words, transform=ax.get_yaxis_transform(), color=style.FAINT, **look
            )


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
    matplotlib figure, or None if the rows tell no scores of tasks

    Examples
    --------
    >>> from kernelhood.paper.figures import plot_task_scores
    >>> from kernelhood.paper.protocol import published_results
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
    figure = style.new_figure((6.8, 0.055 * (len(methods) + 2) * len(shown) + 1.4), "bench")
    ax = figure.subplots()
    drawn = []
    for place, method in enumerate(methods):
        found = _task_scores(rows, method)
        values = scale * np.array([[one.get(task, np.nan) for task in shown] for one in found])
        drawn.append(_draw_dots(ax, values, place, len(methods), label(method)))
    order = best_first(summary.reset_index(drop=True)).index.to_numpy()
    _edge_marks(ax, drawn, order)
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
    look = {"color": style.COLOURS[place % 8], "fmt": MARKERS[place % 8], "ms": 4, "lw": 1}
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
            look = {"color": style.COLOURS[place % 8], "ms": 5, "ls": "", "clip_on": False}
            ax.plot(np.full(out.sum(), side), rows[out], marker, **look)


def _name_rows(ax: Any, shown: Sequence[str], n_tasks: int) -> None:
    ax.set_yticks(range(len(shown)), style.short_names(shown), fontsize=8)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    for line in range(1, len(shown)):
        ax.axhline(line - 0.5, color=style.FAINT, lw=0.4, alpha=0.5)
    ax.grid(axis="x", alpha=0.25)
    style.plain(ax)
    ax.tick_params(axis="y", length=0)
    if len(shown) < n_tasks:
        ax.set_ylabel(f"{len(shown)} of {n_tasks} tasks", fontsize=9)


def _scale(lines: Any) -> float:
    """Return what scores are multiplied by in figures."""
    return 100.0 if unit(lines["metric"].iloc[0]).endswith("%") else 1.0


def _task_scores(rows: Any, method: str) -> list[dict[str, float]]:
    """Return the scores of the tasks, a dictionary for each run."""
    return [json.loads(text) for text in rows.loc[rows["method"] == method, "task_scores"]]


def _mean_task_scores(results: Any, dataset: str, method: str) -> dict[str, float]:
    """Return the mean score of every task over the runs; nothing if rows do not tell."""
    if "task_scores" not in results.columns:
        return {}
    rows = results[(results["dataset"] == dataset) & results["score"].notna()]
    found = _task_scores(rows, method)
    return (
        {task: float(np.mean([one[task] for one in found])) for task in found[0]} if found else {}
    )
