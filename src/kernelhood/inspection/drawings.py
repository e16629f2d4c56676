"""Drawings of what a model knows of its tasks, from numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.inspection.style import (
    COLOURS,
    FAINT,
    INK,
    OTHER,
    name_ticks,
    new_axes,
    plain,
    short_names,
    size_of,
)

MAIN, WARM, BAD = COLOURS[0], COLOURS[1], COLOURS[2]
_SIZE = (5.0, 3.6)
#: Years that are drawn as dates, with space for the margins of a figure.
_YEARS, _DAYS_OF_A_YEAR = (1000.0, 9000.0), 365.2425
#: With so many tasks each is named, or has a bar.
_FEW, _BARS, _NAMED = 8, 30, 5
#: Colours of the parts of the variance.
_PARTS = {"common": MAIN, "own": WARM, "occasion": COLOURS[6], "noise": OTHER}
_GROUPS = (COLOURS[4], COLOURS[3], COLOURS[7])


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
    ax = new_axes(ax, _SIZE)
    kinds = np.asarray(sharing)
    looks = {
        "no difference": (FAINT, "o", 14),
        "helped": (MAIN, "o", 26),
        "hurt": (BAD, "^", 46),
    }
    for kind, (colour, marker, size) in looks.items():
        at = kinds == kind
        if at.any():
            label = f"{kind} ({int(at.sum())})"
            style = {"s": size, "color": colour, "marker": marker, "linewidths": 0.0}
            ax.scatter(alone[at], error[at], label=label, alpha=0.8, **style)
    values = np.concatenate([error, alone])
    ends = np.array([values.min(), values.max()])
    if ends[0] > 0.0 and ends[1] > 10.0 * ends[0]:
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.plot(ends, ends, color=FAINT, lw=1.0, zorder=0)
    hurt = np.flatnonzero(kinds == "hurt")
    few = np.arange(len(names)) if len(names) <= _FEW else hurt[: len(hurt) * (len(hurt) <= _NAMED)]
    for place, one in zip(few, short_names([names[place] for place in few], 16), strict=True):
        at = (alone[place], error[place])
        offset = {"xytext": (5, 4), "textcoords": "offset points"}
        ax.annotate(one, at, color=INK, fontsize=8, **offset)
    return _finish(ax, f"{unit} without the other tasks", "with all tasks")


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
    ax = new_axes(ax, _SIZE if many else (_SIZE[0], 1.3 + 0.24 * len(names)))
    groups, left = iter(_GROUPS), np.zeros(len(names))
    places = np.arange(len(names))
    for name, values in used.items():
        share = (values / whole)[order]
        colour = _PARTS.get(name) or next(groups, OTHER)
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
        name_ticks(ax.yaxis, [names[place] for place in order], inches=size_of(ax)[1])
    return _finish(ax, "share of the variance")


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
    ax = new_axes(ax, _SIZE)
    points = _as_dates(at) if kind == "date" else at
    drawn = f"{len(tasks)} of {n_tasks:,} tasks" if len(tasks) < n_tasks else f"{n_tasks} tasks"
    style = {"color": WARM, "lw": 1.0, "alpha": 0.75 if len(tasks) <= _BARS else 0.45}
    mark = "o" if kind == "category" else None
    for number, curve in enumerate(tasks):
        ax.plot(points, curve, label=drawn if number == 0 else None, marker=mark, ms=3, **style)
    if common is not None:
        middle, low, high = common
        ax.fill_between(points, low, high, color=MAIN, alpha=0.2, linewidth=0.0)
        ax.plot(points, middle, color=MAIN, lw=2.2, marker=mark, label="new task, \u00b1 2 std")
    if kind == "category":
        name_ticks(ax.xaxis, list(levels), inches=size_of(ax)[0])
    return _finish(ax, *labels)


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
    ax = new_axes(ax, _SIZE)
    ax.plot([0, 1], [0, 1], color=FAINT, lw=1.0, zorder=0)
    for (name, (share, error)), colour in zip(found.items(), (MAIN, WARM), strict=False):
        style = {"color": colour, "marker": "o", "ms": 4, "lw": 1.4, "capsize": 2}
        ax.errorbar(expected, share, yerr=2.0 * error, label=name, **style)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return _finish(ax, *labels)


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
    ax = new_axes(ax, _SIZE)
    order = np.argsort(middle, kind="stable")
    places = np.arange(1, len(order) + 1)
    if ends is not None:
        low, high = (one[order] for one in ends)
        ax.vlines(places, low, high, color=MAIN, alpha=0.35, lw=2.0, label="90 % interval")
        outside = (truth[order] < low) | (truth[order] > high)
    else:
        outside = np.abs(truth - middle)[order] > 0.5
    ax.plot(places, middle[order], color=MAIN, lw=1.4, label="predicted without the row")
    for rows, colour, name in ((~outside, INK, "target"), (outside, BAD, "target, missed")):
        ax.plot(places[rows], truth[order][rows], "o", ms=3.5, color=colour, label=name)
    return _finish(ax, f"rows, by prediction\n{title}", label)


def _finish(ax: Any, below: str, beside: str = "") -> Any:
    """Name the axes, and put the legend above them."""
    plain(ax)
    ax.set_xlabel(below, fontsize=9)
    if beside:
        ax.set_ylabel(beside, fontsize=9)
    style = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "fontsize": 8.5}
    columns = min(len(ax.get_legend_handles_labels()[0]), 3)
    ax.legend(frameon=False, ncols=columns, borderaxespad=0.0, columnspacing=1.2, **style)
    return ax
