"""The models of a search, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.plotting.bars import parts_of, shares_of
from kernelhood.plotting.style import INK, legend_outside, new_axes, plain


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
    >>> from kernelhood.plotting import plot_path
    >>> ax = plot_path([0.6, 0.9, 0.8], None, [])
    >>> ax.get_title(loc="right")
    'best: model 2 of 3, score 0.900'
    """
    values = np.asarray(scores, dtype=np.float64)
    ax = new_axes(ax, (8.2, 3.2 if weights is None else 5.2))
    steps = np.arange(1, len(values) + 1)
    best = int(np.nanargmax(values))
    ax.plot(steps, values, color=INK, lw=1.8, marker=".", ms=4)
    ax.plot(steps[best], values[best], "o", color=INK, ms=9, mfc="white")
    ax.axvline(steps[best], color=INK, lw=0.8, ls=":")
    ax.set_xlabel("model, from strong to weak regularisation", fontsize=9)
    ax.set_ylabel("mean test score", fontsize=9)
    plain(ax)
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
    above.axvline(best, color=INK, lw=0.8, ls=":")
    above.set(xlim=ax.get_xlim(), ylim=(0, 1))
    above.set_ylabel("share of the weight", fontsize=9)
    plain(above)
    above.tick_params(labelbottom=False)
    legend_outside(above, at=1.01)
