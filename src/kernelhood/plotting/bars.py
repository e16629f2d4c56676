"""Kernel weights as bars: one bar a task, one colour a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.plotting.style import (
    COLOURS,
    LABEL_WIDTH,
    OTHER,
    ink_on,
    legend_outside,
    name_ticks,
    new_axes,
    plain,
    short_names,
    size_of,
)

_TALLEST = 11.0
# A share has its number printed where the bar is this wide and there are few enough bars.
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
    if len(used) > len(COLOURS):
        ordered = sorted(used, key=lambda k: -float(shares[:, k].sum()))
        rest = sorted(ordered[len(COLOURS) - 1 :])
        used = sorted(ordered[: len(COLOURS) - 1])
    names = short_names([kernel_names[k] for k in used], LABEL_WIDTH + 6)
    parts = [Part(name, colour, [k]) for name, colour, k in zip(names, COLOURS, used, strict=False)]
    return [*parts, Part(f"{len(rest)} other kernels", OTHER, rest)] if rest else parts


def plot_weights(
    weights: Array, task_names: Sequence[Any], kernel_names: Sequence[str], *, ax: Any = None
) -> Any:
    """Draw each task's kernel weights as shares of a bar.

    Kernels that no task uses are left out; where more than eight are used, the smallest are drawn
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
    >>> from kernelhood.plotting import plot_weights
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
            style = {"color": ink_on(part.colour), "fontsize": 7}
            ax.bar_label(bars, texts, label_type="center", **style)
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
    >>> from kernelhood.plotting import plot_sharing
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
    return new_axes(ax, (8.2, float(np.clip(height, 2.4, _TALLEST))))


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
    said = name_ticks(ax.yaxis, list(task_names), inches=size_of(ax)[1])
    ax.set_ylim(len(task_names) - 0.4, -0.6)
    ax.set_xlim(0, 1)
    plain(ax)
    ax.set_xlabel(label, fontsize=9)
    ax.set_ylabel("" if said == "task" else said, fontsize=9)
    ax.tick_params(axis="y", labelsize=ax.get_yticklabels()[0].get_fontsize(), length=0)
    legend_outside(ax, at=legend_at)
    return ax
