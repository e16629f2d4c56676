"""How kernels and tasks agree, as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.plotting.style import (
    FAINT,
    LIKENESS_MAP,
    colour_bar,
    draw_map,
    name_ticks,
    new_axes,
    nice_range,
    size_of,
    width_of,
)

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
    >>> from kernelhood.plotting import plot_alignment
    >>> ax = plot_alignment([[1.0, 0.98], [0.985, 1.0]], ["north", "south"])
    >>> ax.images[0].get_clim()
    (0.98, 1.0)
    """
    values = np.asarray(alignment, dtype=np.float64)
    ax, side = _map_axes(ax, task_names)
    limits = nice_range(values)
    image = draw_map(ax, values, limits=limits, colours=LIKENESS_MAP, inches=(side, side))
    _name_both(ax, list(task_names), side, "neighborhood kernel of", "learned kernel of")
    colour_bar(ax, image, "alignment")
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
    >>> from kernelhood.plotting import plot_task_map
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
    low = min(nice_range(apart)[0], 1.0) if apart.size else 0.0
    # The diagonal is 1 whatever the tasks are, so it is no reason to spend colours.
    limits = (low, 1.0) if low < 1.0 else (0.0, 1.0)
    image = draw_map(ax, shown, limits=limits, colours=LIKENESS_MAP, inches=(side, side))
    _name_both(ax, [task_names[place] for place in order], side, "", "")
    colour_bar(ax, image, "likeness of tasks")
    return ax


def _map_axes(ax: Any, task_names: Sequence[Any]) -> tuple[Any, float]:
    """Return axes for a map and its side in inches; new ones leave room for the names."""
    if ax is not None:
        return ax, min(size_of(ax))
    side = float(np.clip(0.42 * len(task_names), 2.4, 8.0))
    names = width_of(task_names)
    return new_axes(None, (side + names + 1.5, 1.2 * side + names + 0.8)), side


def _tree(ax: Any, similarity: Array) -> list[int]:
    """Draw which tasks are joined, above axes; return the order of the leaves."""
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    apart = np.sqrt(np.maximum(2.0 - 2.0 * similarity, 0.0))
    np.fill_diagonal(apart, 0.0)
    ordered = len(similarity) <= _ORDERED
    links = linkage(squareform(apart, checks=False), "average", optimal_ordering=ordered)
    tree = ax.inset_axes((0.0, 1.02, 1.0, 0.15))
    look = {"no_labels": True, "color_threshold": 0.0, "above_threshold_color": FAINT}
    drawn = dendrogram(links, ax=tree, **look)
    tree.set_axis_off()
    leaves: list[int] = drawn["leaves"]
    return leaves


def _name_both(ax: Any, names: list[Any], side: float, below: str, beside: str) -> None:
    """Name the rows and the columns of a map of tasks."""
    said = name_ticks(ax.xaxis, names, inches=side)
    name_ticks(ax.yaxis, names, inches=side)
    left_out = "" if said == "task" else said
    ax.set_xlabel(f"{below}{' ' if below and left_out else ''}{left_out}", fontsize=9)
    ax.set_ylabel(beside, fontsize=9)
