"""Pictures of learned kernels. Every function draws into `ax` and returns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array

_NAMED = 40
_ORDERED = 500


def plot_weights(
    weights: Array, task_names: Sequence[Any], kernel_names: Sequence[str], *, ax: Any = None
) -> Any:
    """Draw each task's kernel weights as shares of a bar.

    Parameters
    ----------
    weights : ndarray of shape (n_tasks, n_kernels)
        Kernel weights; kernels that no task uses are left out of the legend.
    task_names, kernel_names : sequence
        Labels.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax, figsize=(7.5, 0.42 * len(task_names) + 1.6))
    totals = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    left = np.zeros(len(task_names))
    used = np.flatnonzero(shares.max(axis=0) > 0).tolist()
    for colour, number in zip(_colours(len(used)), used, strict=False):
        share = shares[:, number]
        ax.barh(range(len(share)), share, left=left, color=colour, label=kernel_names[number])
        left += share
    return _labelled_bars(ax, task_names, "share of the kernel weight", 1.0)


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
    shared : ndarray of shape (n_kernels,)
        Weights of the kernels that all tasks share.
    specific : ndarray of shape (n_tasks, n_kernels)
        Weights that each task adds.
    task_names, kernel_names : sequence
        Labels.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax, figsize=(7.5, 0.42 * len(task_names) + 1.6))
    totals = shared.sum() + specific.sum(axis=1)
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    used = np.flatnonzero((shared + specific).max(axis=0) > 0).tolist()
    colours = dict(zip(used, _colours(len(used)), strict=False))
    places, left = range(len(task_names)), np.zeros(len(task_names))
    for own, hatch in ((np.broadcast_to(shared, specific.shape), None), (specific, "///")):
        for number in used:
            share = scale * own[:, number]
            name = kernel_names[number] if hatch is None else None
            style = {"color": colours[number], "hatch": hatch, "edgecolor": "white", "lw": 0}
            ax.barh(places, share, left=left, label=name, **style)
            left += share
    for place, share in enumerate(scale * shared.sum()):
        ax.text(1.01, place, f"{share:.0%}", va="center", fontsize="small")
    label = "share of the kernel weight; hatched: the task's own, number: common to all"
    return _labelled_bars(ax, task_names, label, 1.1)


def _labelled_bars(ax: Any, task_names: Sequence[Any], label: str, legend_at: float) -> Any:
    """Finish a picture with a bar of shares for each task; return its axes."""
    ax.set_yticks(range(len(task_names)), [str(name) for name in task_names])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel(label)
    ax.legend(loc="center left", bbox_to_anchor=(legend_at, 0.5), frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_alignment(alignment: Array, task_names: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw the alignment between the tasks' kernels and the neighborhood kernels.

    Parameters
    ----------
    alignment : ndarray of shape (n_tasks, n_tasks)
        As an estimator's `alignment` returns it.
    task_names : sequence
        Labels.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    side = 0.45 * len(task_names) + 2.2
    ax = _axes(ax, figsize=(side + 0.8, side))
    names = [str(name) for name in task_names]
    least = np.floor(10.0 * float(np.nanmin(alignment))) / 10.0
    image = ax.imshow(alignment, vmin=min(least, 0.9), vmax=1.0, cmap="viridis")
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("neighborhood kernel of")
    ax.set_ylabel("learned kernel of")
    ax.figure.colorbar(image, ax=ax, label="alignment", fraction=0.046, pad=0.04)
    return ax


def plot_task_map(similarity: Array, task_names: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw how alike tasks are: a heat map in the order of a tree, with the tree above it.

    Parameters
    ----------
    similarity : ndarray of shape (n_tasks, n_tasks)
        With a diagonal of ones.
    task_names : sequence
        Labels; of many tasks only some are named.
    ax : matplotlib axes, optional
        Where to draw the map; the tree gets axes above it.

    Returns
    -------
    matplotlib axes
    """
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    n = len(task_names)
    side = min(0.32 * n, 8.0) + 2.5
    ax = _axes(ax, figsize=(side + 1.0, side + 0.8))
    order = list(range(n))
    if n > 1:
        apart = np.sqrt(np.maximum(2.0 - 2.0 * similarity, 0.0))
        np.fill_diagonal(apart, 0.0)
        links = linkage(squareform(apart, checks=False), "average", optimal_ordering=n <= _ORDERED)
        tree = ax.inset_axes((0.0, 1.02, 1.0, 0.15))
        drawn = dendrogram(
            links, ax=tree, no_labels=True, color_threshold=0.0, above_threshold_color="0.4"
        )
        tree.set_axis_off()
        order = drawn["leaves"]
    least = min(0.0, float(similarity.min()))
    image = ax.imshow(similarity[np.ix_(order, order)], vmin=least, vmax=1.0, cmap="viridis")
    step = -(-n // _NAMED)
    names = [str(task_names[place]) for place in order]
    ax.set_xticks(range(0, n, step), names[::step], rotation=90)
    ax.set_yticks(range(0, n, step), names[::step])
    ax.figure.colorbar(image, ax=ax, label="likeness of tasks", fraction=0.046, pad=0.04)
    return ax


def plot_search_path(
    scores: Array, weights: Array | None, kernel_names: Sequence[str], *, ax: Any = None
) -> Any:
    """Draw the scores and the kernel weights of models along a path, and mark the best.

    Parameters
    ----------
    scores : ndarray of shape (n_models,)
        Mean test scores, from the strongest regularisation to the weakest.
    weights : ndarray of shape (n_models, n_kernels) or None
        Mean kernel weights; drawn as shares.
    kernel_names : sequence
        Labels.
    ax : matplotlib axes, optional
        Where to draw the scores; the weights get an axis on its right.

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax, figsize=(8.0, 4.2))
    steps = np.arange(len(scores))
    if weights is not None:
        totals = weights.sum(axis=1, keepdims=True)
        shares = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
        right = ax.twinx()
        used = np.flatnonzero(shares.max(axis=0) > 0).tolist()
        for colour, number in zip(_colours(len(used)), used, strict=False):
            right.plot(steps, shares[:, number], color=colour, lw=1, label=kernel_names[number])
        right.set_ylabel("share of the kernel weight")
        right.set_ylim(0, 1)
        right.legend(loc="center left", bbox_to_anchor=(1.1, 0.5), frameon=False)
    best = int(np.nanargmax(scores))
    ax.plot(steps, scores, color="black", lw=2, label="score")
    ax.plot(best, scores[best], "o", color="black", ms=9, mfc="white")
    ax.axvline(best, color="black", lw=0.8, ls=":")
    ax.set_xlabel("model, from strong to weak regularisation")
    ax.set_ylabel("mean test score")
    return ax


def _axes(ax: Any, *, figsize: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib: install it with pip install 'kernelhood[plot]'."
        ) from error
    return Figure(figsize=figsize, layout="constrained").subplots()


def _colours(count: int) -> Any:
    from matplotlib import colormaps

    return colormaps["turbo"](np.linspace(0.05, 0.95, max(count, 2)))
