"""Figures of what is learned, from numbers alone: weights, tasks, paths, effects and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.inspection import style

_TALLEST = 11.0
# A share has its number printed if the bar is this wide and there are few enough bars.
_WIDE, _FEW = 0.09, 25


class Part(NamedTuple):
    """A kernel, or all kernels that have no colour of their own, in a picture of shares."""

    name: str
    colour: str
    kernels: list[int]


def shares_of(weights: Array) -> Array:
    """Return weights as shares of each row's sum; a row of zeros stays one.

    Parameters
    ----------
    weights : ndarray of shape (n_rows, n_kernels)
        Not negative.
    """
    totals = weights.sum(axis=1, keepdims=True)
    shares: Array = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    return shares


def parts_of(shares: Array, kernel_names: Sequence[str]) -> list[Part]:
    """Return the kernels that are used: the largest by name, the others counted.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_kernels)
        Of the kernels.
    kernel_names : sequence of str
        Labels.
    """
    used = np.flatnonzero(shares.max(axis=0, initial=0.0) > 0).tolist()
    rest: list[int] = []
    if len(used) > len(style.COLOURS):
        ordered = sorted(used, key=lambda k: -float(shares[:, k].sum()))
        rest = sorted(ordered[len(style.COLOURS) - 1 :])
        used = sorted(ordered[: len(style.COLOURS) - 1])
    names = style.short_names([kernel_names[k] for k in used], style.LABEL_WIDTH + 6)
    parts = [
        Part(name, colour, [k]) for name, colour, k in zip(names, style.COLOURS, used, strict=False)
    ]
    return [*parts, Part(f"{len(rest)} other kernels", style.OTHER, rest)] if rest else parts


def plot_weights(
    weights: Array, task_names: Sequence[Any], kernel_names: Sequence[str], *, ax: Any = None
) -> Any:
    """Draw each task's kernel weights as shares of a bar.

    Kernels that no task uses are left out; if more than eight are used, the smallest are drawn
    as one.

    Parameters
    ----------
    weights : array-like of shape (n_tasks, n_kernels)
        Kernel weights.
    task_names : sequence of length n_tasks
        Labels; of many tasks only some are named.
    kernel_names : sequence of length n_kernels
        Labels.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.inspection.figures import plot_weights
    >>> ax = plot_weights([[1.0, 3.0], [0.0, 2.0]], ["north", "south"], ["linear", "gaussian(2)"])
    >>> ax.get_xlabel()
    'share of the kernel weight'
    """
    shares = shares_of(np.asarray(weights, dtype=np.float64))
    ax = _bar_axes(ax, len(shares))
    left = np.zeros(len(shares))
    for part in parts_of(shares, kernel_names):
        share = shares[:, part.kernels].sum(axis=1)
        bars = ax.barh(
            range(len(share)), share, left=left, label=part.name, **_look(part, len(shares))
        )
        if len(shares) <= _FEW:
            texts = [f"{one:.0%}" if one >= _WIDE else "" for one in share]
            looks = {"color": style.ink_on(part.colour), "fontsize": 7}
            ax.bar_label(bars, texts, label_type="center", **looks)
        left += share
    return _finish(ax, task_names, "share of the kernel weight", legend_at=1.01)


def plot_sharing(
    shared: Array,
    specific: Array,
    task_names: Sequence[Any],
    kernel_names: Sequence[str],
    *,
    ax: Any = None,
) -> Any:
    """Draw for every task how much of its kernel is common to all tasks, and how much its own.

    The common part of a bar is plain and stands to the left, the task's own part is hatched; the
    number beside the bar is the common share.

    Parameters
    ----------
    shared : array-like of shape (n_kernels,)
        Weights of the kernels that all tasks share.
    specific : array-like of shape (n_tasks, n_kernels)
        Weights that each task adds.
    task_names : sequence of length n_tasks
        Labels; of many tasks only some are named.
    kernel_names : sequence of length n_kernels
        Labels.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from kernelhood.inspection.figures import plot_sharing
    >>> ax = plot_sharing([3.0], [[0.0], [1.0]], ["alike", "apart"], ["linear"])
    >>> [text.get_text() for text in ax.texts]
    ['100%', '75%']
    """
    common, own = np.asarray(shared, dtype=np.float64), np.asarray(specific, dtype=np.float64)
    totals = common.sum() + own.sum(axis=1)
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    ax = _bar_axes(ax, len(own))
    left = np.zeros(len(own))
    parts = parts_of(scale[:, None] * (common + own), kernel_names)
    for weights, hatch in ((np.broadcast_to(common, own.shape), None), (own, "////")):
        for part in parts:
            share = scale * weights[:, part.kernels].sum(axis=1)
            name = part.name if hatch is None else None
            look = {**_look(part, len(own)), "hatch": hatch, "linewidth": 0.0}
            ax.barh(range(len(own)), share, left=left, label=name, **look)
            left += share
    step = -(-len(own) // (4 * _FEW))
    for place, share in list(enumerate(scale * common.sum()))[::step]:
        size = 8 if len(own) <= _FEW else 6
        ax.text(1.01, place, f"{share:.0%}", va="center", fontsize=size)
    label = "share of the kernel weight\nhatched: the task's own; number: common to all"
    return _finish(ax, task_names, label, legend_at=1.1)


def _bar_axes(ax: Any, n_tasks: int) -> Any:
    height = 0.34 * n_tasks + 1.1 if n_tasks <= _FEW else 0.2 * n_tasks + 1.1
    return style.new_axes(ax, (8.2, float(np.clip(height, 2.4, _TALLEST))))


def _look(part: Part, n_tasks: int) -> dict[str, Any]:
    """Return how the bars of a part are filled; many bars touch each other."""
    many = n_tasks > 4 * _FEW
    return {
        "color": part.colour,
        "edgecolor": "white",
        "linewidth": 0.0 if many else 0.6,
        "height": 1.0 if many else 0.78,
    }


def _finish(ax: Any, task_names: Sequence[Any], label: str, *, legend_at: float) -> Any:
    """Name the bars, and put the legend beside them."""
    said = style.name_ticks(ax.yaxis, list(task_names), inches=style.size_of(ax)[1])
    ax.set_ylim(len(task_names) - 0.4, -0.6)
    ax.set_xlim(0, 1)
    style.plain(ax)
    ax.set_xlabel(label, fontsize=9)
    ax.set_ylabel("" if said == "task" else said, fontsize=9)
    ax.tick_params(axis="y", labelsize=ax.get_yticklabels()[0].get_fontsize(), length=0)
    style.legend_outside(ax, at=legend_at)
    return ax


# Beyond this many tasks the leaves of the tree keep the order in which they were joined.
_ORDERED = 500


def plot_alignment(alignment: Array, task_names: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw the alignment between the tasks' kernels and the neighborhood kernels.

    The colours span the values that occur; the bar beside the map tells which those are.

    Parameters
    ----------
    alignment : array-like of shape (n_tasks, n_tasks)
        As an estimator's `alignment` returns it.
    task_names : sequence of length n_tasks
        Labels; of many tasks only some are named.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from kernelhood.inspection.figures import plot_alignment
    >>> ax = plot_alignment([[1.0, 0.98], [0.985, 1.0]], ["north", "south"])
    >>> ax.images[0].get_clim()
    (0.98, 1.0)
    """
    values = np.asarray(alignment, dtype=np.float64)
    ax, side = _map_axes(ax, task_names)
    limits = style.nice_range(values)
    image = style.draw_map(
        ax, values, limits=limits, colours=style.LIKENESS_MAP, inches=(side, side)
    )
    _name_both(ax, list(task_names), side, "neighborhood kernel of", "learned kernel of")
    style.colour_bar(ax, image, "alignment")
    return ax


def plot_task_map(similarity: Array, task_names: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw how alike tasks are: a heat map in the order of a tree, with the tree above it.

    Parameters
    ----------
    similarity : array-like of shape (n_tasks, n_tasks)
        With a diagonal of ones.
    task_names : sequence of length n_tasks
        Labels; of many tasks only some are named.
    ax : matplotlib axes, optional
        Where to draw the map; the tree gets axes above it.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from kernelhood.inspection.figures import plot_task_map
    >>> alike = [[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]
    >>> ax = plot_task_map(alike, ["a", "b", "c"])
    >>> sorted(text.get_text() for text in ax.get_yticklabels()) == ["a", "b", "c"]
    True
    """
    values = np.asarray(similarity, dtype=np.float64)
    ax, side = _map_axes(ax, task_names)
    order = _tree(ax, values) if len(values) > 1 else [0]
    shown = values[np.ix_(order, order)]
    apart = values[~np.eye(len(values), dtype=bool)]
    low = min(style.nice_range(apart)[0], 1.0) if apart.size else 0.0
    # The diagonal is 1 whatever the tasks are, so it gets no colour of its own.
    limits = (low, 1.0) if low < 1.0 else (0.0, 1.0)
    image = style.draw_map(
        ax, shown, limits=limits, colours=style.LIKENESS_MAP, inches=(side, side)
    )
    _name_both(ax, [task_names[place] for place in order], side, "", "")
    style.colour_bar(ax, image, "similarity of tasks")
    return ax


def _map_axes(ax: Any, task_names: Sequence[Any]) -> tuple[Any, float]:
    """Return axes for a map and its side in inches; new ones leave space for the names."""
    if ax is not None:
        return ax, min(style.size_of(ax))
    side = float(np.clip(0.42 * len(task_names), 2.4, 8.0))
    names = style.width_of(task_names)
    return style.new_axes(None, (side + names + 1.5, 1.2 * side + names + 0.8)), side


def _tree(ax: Any, similarity: Array) -> list[int]:
    """Draw which tasks are joined, above axes; return the order of the leaves."""
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    apart = np.sqrt(np.maximum(2.0 - 2.0 * similarity, 0.0))
    np.fill_diagonal(apart, 0.0)
    ordered = len(similarity) <= _ORDERED
    links = linkage(squareform(apart, checks=False), "average", optimal_ordering=ordered)
    tree = ax.inset_axes((0.0, 1.02, 1.0, 0.15))
    look = {"no_labels": True, "color_threshold": 0.0, "above_threshold_color": style.FAINT}
    drawn = dendrogram(links, ax=tree, **look)
    tree.set_axis_off()
    leaves: list[int] = drawn["leaves"]
    return leaves


def _name_both(ax: Any, names: list[Any], side: float, below: str, beside: str) -> None:
    """Name the rows and the columns of a map of tasks."""
    said = style.name_ticks(ax.xaxis, names, inches=side)
    style.name_ticks(ax.yaxis, names, inches=side)
    left_out = "" if said == "task" else said
    ax.set_xlabel(f"{below}{' ' if below and left_out else ''}{left_out}", fontsize=9)
    ax.set_ylabel(beside, fontsize=9)


def plot_path(
    scores: Array, weights: Array | None, kernel_names: Sequence[str], *, ax: Any = None
) -> Any:
    """Draw the scores and the kernel weights of models along a path, and mark the best.

    Parameters
    ----------
    scores : array-like of shape (n_models,)
        Mean test scores, from the strongest regularisation to the weakest.
    weights : array-like of shape (n_models, n_kernels) or None
        Mean kernel weights; drawn as shares.
    kernel_names : sequence of length n_kernels
        Labels.
    ax : matplotlib axes, optional
        Where to draw the scores; the weights stand above them.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from kernelhood.inspection.figures import plot_path
    >>> ax = plot_path([0.6, 0.9, 0.8], None, [])
    >>> ax.get_title(loc="right")
    'best: model 2 of 3, score 0.900'
    """
    values = np.asarray(scores, dtype=np.float64)
    ax = style.new_axes(ax, (8.2, 3.2 if weights is None else 5.2))
    steps = np.arange(1, len(values) + 1)
    best = int(np.nanargmax(values))
    ax.plot(steps, values, color=style.INK, lw=1.8, marker=".", ms=4)
    ax.plot(steps[best], values[best], "o", color=style.INK, ms=9, mfc="white")
    ax.axvline(steps[best], color=style.INK, lw=0.8, ls=":")
    ax.set_xlabel("model, from strong to weak regularisation", fontsize=9)
    ax.set_ylabel("mean test score", fontsize=9)
    style.plain(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlim(0.5, len(values) + 0.5)
    found = f"best: model {steps[best]} of {len(values)}, score {values[best]:.3f}"
    ax.set_title(found, loc="right", fontsize=9)
    if weights is not None:
        _draw_shares(ax, np.asarray(weights, dtype=np.float64), kernel_names, steps[best])
    return ax


def _draw_shares(ax: Any, weights: Array, kernel_names: Sequence[str], best: int) -> None:
    """Stack the shares of the kernels in the upper half of the axes, one bar a model."""
    low, high = ax.get_ylim()
    ticks = [tick for tick in ax.get_yticks() if low <= tick <= high]
    ax.set_ylim(low, high + 1.12 * (high - low))
    ax.set_yticks(ticks)
    ax.spines["left"].set_bounds(low, high)
    ax.yaxis.label.set_y(0.24)
    above = ax.inset_axes((0.0, 0.52, 1.0, 0.48))
    shares = shares_of(weights)
    steps, bottom = np.arange(1, len(shares) + 1), np.zeros(len(shares))
    for part in parts_of(shares, kernel_names):
        share = shares[:, part.kernels].sum(axis=1)
        above.bar(steps, share, bottom=bottom, width=1.0, color=part.colour, label=part.name)
        bottom += share
    above.axvline(best, color=style.INK, lw=0.8, ls=":")
    above.set(xlim=ax.get_xlim(), ylim=(0, 1))
    above.set_ylabel("share of the weight", fontsize=9)
    style.plain(above)
    above.tick_params(labelbottom=False)
    style.legend_outside(above, at=1.01)


# What a model knows of its tasks.

MAIN, WARM, BAD = style.COLOURS[0], style.COLOURS[1], style.COLOURS[2]
_SIZE = (5.0, 3.6)
#: Years that are drawn as dates, with space for the margins of a figure.
_YEARS, _DAYS_OF_A_YEAR = (1000.0, 9000.0), 365.2425
#: With so many tasks each is named, or has a bar.
_FEW_TASKS, _BARS, _NAMED = 8, 30, 5
#: Colours of the parts of the variance.
_PARTS = {"common": MAIN, "own": WARM, "occasion": style.COLOURS[6], "noise": style.OTHER}
_GROUPS = (style.COLOURS[4], style.COLOURS[3], style.COLOURS[7])


def draw_errors(
    error: Array, alone: Array, sharing: Sequence[str], names: Sequence[Any], unit: str, *, ax: Any
) -> Any:
    """Draw the error of every task with the others against that without them.

    Parameters
    ----------
    error, alone : ndarray of shape (n_tasks,)
        Errors with and without the other tasks.
    sharing : sequence of {"helped", "hurt", "no difference"}
        What is known of their difference.
    names : sequence
        The tasks.
    unit : str
        What the errors are.
    ax : matplotlib axes or None
        Where to draw.
    """
    ax = style.new_axes(ax, _SIZE)
    kinds = np.asarray(sharing)
    looks = {
        "no difference": (style.FAINT, "o", 14),
        "helped": (MAIN, "o", 26),
        "hurt": (BAD, "^", 46),
    }
    for kind, (colour, marker, size) in looks.items():
        at = kinds == kind
        if at.any():
            label = f"{kind} ({int(at.sum())})"
            dots = {"s": size, "color": colour, "marker": marker, "linewidths": 0.0}
            ax.scatter(alone[at], error[at], label=label, alpha=0.8, **dots)
    values = np.concatenate([error, alone])
    ends = np.array([values.min(), values.max()])
    if ends[0] > 0.0 and ends[1] > 10.0 * ends[0]:
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.plot(ends, ends, color=style.FAINT, lw=1.0, zorder=0)
    hurt = np.flatnonzero(kinds == "hurt")
    few = (
        np.arange(len(names))
        if len(names) <= _FEW_TASKS
        else hurt[: len(hurt) * (len(hurt) <= _NAMED)]
    )
    for place, one in zip(few, style.short_names([names[place] for place in few], 16), strict=True):
        at = (alone[place], error[place])
        offset = {"xytext": (5, 4), "textcoords": "offset points"}
        ax.annotate(one, at, color=style.INK, fontsize=8, **offset)
    return _named(ax, f"{unit} without the other tasks", "with all tasks")


def draw_shares(parts: dict[str, Array], names: Sequence[Any], *, ax: Any) -> Any:
    """Draw how much of every task's variance is common, its group's, its own, and noise.

    Parameters
    ----------
    parts : dict of str to ndarray of shape (n_tasks,)
        Mean squares.
    names : sequence
        The tasks.
    ax : matplotlib axes or None
        Where to draw.
    """
    used = {name: values for name, values in parts.items() if values.any()}
    whole = np.maximum(sum(used.values()), 1e-300)
    order = np.argsort(-(used.get("own", np.zeros(len(names))) / whole), kind="stable")
    many = len(names) > _BARS
    ax = style.new_axes(ax, _SIZE if many else (_SIZE[0], 1.3 + 0.24 * len(names)))
    groups, left = iter(_GROUPS), np.zeros(len(names))
    places = np.arange(len(names))
    for name, values in used.items():
        share = (values / whole)[order]
        colour = _PARTS.get(name) or next(groups, style.OTHER)
        label = f"{name} {100.0 * float(values.sum() / whole.sum()):.0f} %"
        look = {"color": colour, "label": label, "linewidth": 0.0}
        if many:  # one shape, and not thousands of bars
            ax.fill_betweenx(places, left, left + share, step="mid", **look)
        else:
            ax.barh(places, share, left=left, height=0.76, **look)
        left = left + share
    ax.set(xlim=(0, 1), ylim=(len(names) - 0.4, -0.6))
    if many:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(names):,} tasks, by the share of their own", fontsize=9)
    else:
        style.name_ticks(ax.yaxis, [names[place] for place in order], inches=style.size_of(ax)[1])
    return _named(ax, "share of the variance")


def draw_effect(
    at: Array,
    common: tuple[Array, Array, Array] | None,
    tasks: Array,
    *,
    kind: str,
    levels: Sequence[str],
    labels: tuple[str, str],
    n_tasks: int,
    ax: Any,
) -> Any:
    """Draw what a column does in common, with two standard deviations, and in tasks.

    Parameters
    ----------
    at : ndarray of shape (n_values,)
        Values of the column.
    common : tuple of ndarray of shape (n_values,), optional
        Middle and ends for a task that is not known.
    tasks : ndarray of shape (n_curves, n_values)
        The curves of some tasks.
    kind : {"number", "date", "category"}
        What the column is.
    levels : sequence of str
        Names of the values of a category.
    labels : tuple of str
        The column, and what is predicted.
    n_tasks : int
        How many tasks there are.
    ax : matplotlib axes or None
        Where to draw.
    """
    ax = style.new_axes(ax, _SIZE)
    points = _as_dates(at) if kind == "date" else at
    drawn = f"{len(tasks)} of {n_tasks:,} tasks" if len(tasks) < n_tasks else f"{n_tasks} tasks"
    looks = {"color": WARM, "lw": 1.0, "alpha": 0.75 if len(tasks) <= _BARS else 0.45}
    mark = "o" if kind == "category" else None
    for number, curve in enumerate(tasks):
        ax.plot(points, curve, label=drawn if number == 0 else None, marker=mark, ms=3, **looks)
    if common is not None:
        middle, low, high = common
        ax.fill_between(points, low, high, color=MAIN, alpha=0.2, linewidth=0.0)
        ax.plot(points, middle, color=MAIN, lw=2.2, marker=mark, label="new task, \u00b1 2 std")
    if kind == "category":
        style.name_ticks(ax.xaxis, list(levels), inches=style.size_of(ax)[0])
    return _named(ax, *labels)


def _as_dates(days: Array) -> Any:
    """Return days since 1970 as dates, or as years if they are beyond what matplotlib can draw."""
    years = 1970.0 + days / _DAYS_OF_A_YEAR
    if years.min() < _YEARS[0] or years.max() > _YEARS[1]:
        return years
    return days.astype("datetime64[D]")


def draw_reliability(
    expected: Array, found: dict[str, tuple[Array, Array]], labels: tuple[str, str], *, ax: Any
) -> Any:
    """Draw how often something happened against how often it should have.

    Parameters
    ----------
    expected : ndarray of shape (n_points,)
        Probabilities.
    found : dict of str to (ndarray, ndarray), of shape (n_points,) each
        Shares, and their standard errors, of some sets of rows.
    labels : tuple of str
        Of both axes.
    ax : matplotlib axes or None
        Where to draw.
    """
    ax = style.new_axes(ax, _SIZE)
    ax.plot([0, 1], [0, 1], color=style.FAINT, lw=1.0, zorder=0)
    for (name, (share, error)), colour in zip(found.items(), (MAIN, WARM), strict=False):
        looks = {"color": colour, "marker": "o", "ms": 4, "lw": 1.4, "capsize": 2}
        ax.errorbar(expected, share, yerr=2.0 * error, label=name, **looks)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return _named(ax, *labels)


def draw_rows(
    middle: Array,
    ends: tuple[Array, Array] | None,
    truth: Array,
    *,
    title: str,
    label: str,
    ax: Any,
) -> Any:
    """Draw left-out rows of a task in the order of their predictions.

    Parameters
    ----------
    middle : ndarray of shape (n_rows,)
        Predictions.
    ends : tuple of ndarray of shape (n_rows,), optional
        The ends of their intervals.
    truth : ndarray of shape (n_rows,)
        Targets.
    title, label : str
        Of the figure, and of what is predicted.
    ax : matplotlib axes or None
        Where to draw.
    """
    ax = style.new_axes(ax, _SIZE)
    order = np.argsort(middle, kind="stable")
    places = np.arange(1, len(order) + 1)
    if ends is not None:
        low, high = (one[order] for one in ends)
        ax.vlines(places, low, high, color=MAIN, alpha=0.35, lw=2.0, label="90 % interval")
        outside = (truth[order] < low) | (truth[order] > high)
    else:
        outside = np.abs(truth - middle)[order] > 0.5
    ax.plot(places, middle[order], color=MAIN, lw=1.4, label="predicted without the row")
    for rows, colour, name in ((~outside, style.INK, "target"), (outside, BAD, "target, missed")):
        ax.plot(places[rows], truth[order][rows], "o", ms=3.5, color=colour, label=name)
    return _named(ax, f"rows, by prediction\n{title}", label)


def _named(ax: Any, below: str, beside: str = "") -> Any:
    """Name the axes, and put the legend above them."""
    style.plain(ax)
    ax.set_xlabel(below, fontsize=9)
    if beside:
        ax.set_ylabel(beside, fontsize=9)
    looks = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "fontsize": 8.5}
    columns = min(len(ax.get_legend_handles_labels()[0]), 3)
    ax.legend(frameon=False, ncols=columns, borderaxespad=0.0, columnspacing=1.2, **looks)
    return ax
