"""The figures of the comparison. They read only the frame, and use no state of matplotlib."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from kernelhood._extras import import_extra
from kernelhood._typing import Array
from kernelhood.experiments.methods import ALIGNED, label
from kernelhood.experiments.statistics import average_ranks, critical_difference
from kernelhood.experiments.table import score_blocks

_COLOURS = ("#1b5e8c", "#c1272d", "#2e8b57", "#b8860b", "#6a4c93", "#444444", "#d2691e", "#008b8b")
_STYLES = ("-", "--", ":")


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
    """
    means = average_ranks(results, blocks=blocks).sort_values(kind="stable")
    n_blocks = len(score_blocks(results, blocks).names)
    distance = critical_difference(len(means), n_blocks, alpha=alpha)
    k, half = len(means), (len(means) + 1) // 2
    ax = _axes(ax, (6.4, 1.5 + 0.28 * half))
    ax.set(xlim=(0.4, k + 0.6), ylim=(-0.5 * half - 1.2, 1.6))
    ax.axis("off")
    ax.plot([1, k], [0, 0], color="black", lw=1.2)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [0, 0.12], color="black", lw=1)
        ax.text(tick, 0.2, str(tick), ha="center", va="bottom", fontsize=9)
    for place, (method, mean) in enumerate(means.items()):
        left = place < half
        depth = -0.9 - 0.5 * (place if left else k - 1 - place)
        edge, gap = (0.95, -0.06) if left else (k + 0.05, 0.06)
        ax.plot([mean, mean, edge], [0, depth, depth], color="#555555", lw=0.9)
        text = f"{label(method)}  {mean:.2f}" if left else f"{mean:.2f}  {label(method)}"
        ax.text(edge + gap, depth, text, ha="right" if left else "left", va="center", fontsize=9)
    for level, (low, high) in enumerate(_cliques(np.asarray(means), distance)):
        height = -0.18 - 0.16 * level
        ax.plot([low - 0.04, high + 0.04], [height, height], color="#c1272d", lw=3.2)
    ax.plot([1, 1 + min(distance, k - 1)], [1.05, 1.05], color="#c1272d", lw=3.2)
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
    matplotlib figure, or None where no method has a neighborhood matrix
    """
    rows = _of(results, dataset, "alignment")
    methods = [name for name in dict.fromkeys(rows["method"]) if name.startswith(ALIGNED)]
    if not methods:
        return None
    means = {
        name: np.mean(
            [json.loads(text) for text in rows[rows["method"] == name]["alignment"]], axis=0
        )
        for name in methods
    }
    lowest = min(float(mean.min()) for mean in means.values())
    low = min(np.floor(20.0 * lowest) / 20.0, 0.95)
    figure, panels = _panels(len(methods), 3.1)
    for ax, name in zip(panels, methods, strict=True):
        image = ax.imshow(means[name], vmin=low, vmax=1.0, cmap="viridis")
        ax.set_title(label(name), fontsize=10)
        ax.set(xlabel="neighborhood of task", ylabel="kernel of task")
        ax.set_xticks([0, len(means[name]) - 1], ["1", str(len(means[name]))])
        ax.set_yticks([0, len(means[name]) - 1], ["1", str(len(means[name]))])
    _colorbar(figure, image, panels, "alignment")
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
    matplotlib figure, or None where the rows tell no weights
    """
    rows = _of(results, dataset, "weights")
    methods = list(dict.fromkeys(rows["method"]))
    if not methods:
        return None
    found = {
        name: [json.loads(text) for text in rows[rows["method"] == name]["weights"]]
        for name in methods
    }
    n_tasks = max(len(ones[0]["tasks"]) for ones in found.values())
    crowded = n_tasks > 12
    figure, panels = _panels(len(methods), 1.2 + (0.11 if crowded else 0.16) * n_tasks)
    for ax, name in zip(panels, methods, strict=True):
        first = found[name][0]
        shares = np.mean([_shares(np.array(one["values"])) for one in found[name]], axis=0)
        image = ax.imshow(shares, vmin=0.0, vmax=1.0, cmap="magma_r", aspect="auto")
        ax.set_title(label(name), fontsize=10)
        ax.set_yticks(range(len(first["tasks"])), first["tasks"], fontsize=6 if crowded else 7)
        ax.set_xticks([])
    usual = found[methods[-1]][0]["kernels"]
    for place, (ax, name) in enumerate(zip(panels, methods, strict=True)):
        names = found[name][0]["kernels"]
        if names != usual:
            ax.set_xticks(range(len(names)), names, fontsize=7)
        elif place >= len(methods) - 2:
            ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    _colorbar(figure, image, panels, "share of the weight")
    return figure


def _shares(weights: Array) -> Array:
    totals = weights.sum(axis=1, keepdims=True)
    shares: Array = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    return shares


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
    matplotlib axes, or None where the rows tell no gaps
    """
    rows = _of(results, dataset, "trace").drop_duplicates("method")
    if not len(rows):
        return None
    ax = _axes(ax, (6.4, 3.8))
    for place, row in enumerate(rows.itertuples()):
        seconds, gaps = _worst_gap(json.loads(row.trace), float(row.fit_seconds))
        style = {"color": _COLOURS[place % 8], "ls": _STYLES[place // 8 % 3]}
        ax.plot(
            seconds, np.maximum(gaps, 1e-9), marker=".", lw=1.4, label=label(row.method), **style
        )
    ax.set(xscale="log", yscale="log", xlabel="seconds", ylabel="gap of the worst task")
    ticker = import_extra("matplotlib.ticker", "bench")
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_locator(ticker.NullLocator())
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _worst_gap(traces: list[list[float]], seconds: float) -> tuple[Array, Array]:
    """Return time and largest gap after each round of SVMs, one SVM for every task not yet done."""
    lengths = np.array([len(trace) for trace in traces])
    rounds = np.arange(1, lengths.max() + 1)
    solved = np.minimum(rounds[:, None], lengths).sum(axis=1)
    padded = [[trace[min(k, len(trace)) - 1] for trace in traces] for k in rounds]
    return seconds * solved / lengths.sum(), np.max(padded, axis=1)


def picture(figure: Any, kind: str) -> bytes:
    """Return a figure as a file of a kind, the same bytes for the same figure.

    Parameters
    ----------
    figure : matplotlib figure
        The figure.
    kind : {"png", "svg"}
        Format.
    """
    matplotlib = import_extra("matplotlib", "bench")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout is found; it need not be sought for every format
    content = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": "kernelhood"}):
        figure.savefig(content, format=kind, dpi=130, bbox_inches="tight", metadata=metadata)
    return content.getvalue()


def _of(results: Any, dataset: str, column: str) -> Any:
    """Return the rows of a data set that have something in a column."""
    if dataset not in set(results["dataset"]):
        raise ValueError(f"dataset={dataset!r} is not among the results.")
    if column not in results.columns:
        return results.iloc[:0]
    return results[(results["dataset"] == dataset) & results[column].notna()]


def _panels(count: int, height: float) -> tuple[Any, list[Any]]:
    """Return a figure and `count` axes, two beside each other."""
    lines = (count + 1) // 2
    figure = _figure((6.8 if count > 1 else 4.2, height * lines))
    columns = min(count, 2)
    axes = np.ravel(figure.subplots(lines, columns, squeeze=False)).tolist()
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def _colorbar(figure: Any, image: Any, panels: list[Any], text: str) -> None:
    bar = figure.colorbar(image, ax=panels, location="bottom", label=text, shrink=0.5, aspect=35)
    bar.outline.set_visible(False)


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    return _figure(size).subplots() if ax is None else ax


def _figure(size: tuple[float, float]) -> Any:
    figure = import_extra("matplotlib.figure", "bench").Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.1)
    return figure
