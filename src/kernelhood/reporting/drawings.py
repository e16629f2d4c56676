"""Drawings of an inspection as SVG; letters are the browser's, so that every script is shown."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from kernelhood._typing import Array

_BLUE, _GREY, _RED = "#1b5e8c", "#8593a3", "#c1272d"
_WIDTH = 340.0
_MOST_TASKS = 80
_LETTERS = 18


def shade(share: float) -> str:
    """Return a blue between white for 0 and dark for 1.

    Parameters
    ----------
    share : float
        Between 0 and 1.

    Examples
    --------
    >>> shade(0.0), shade(1.0)
    ('#ffffff', '#1b5e8c')
    """
    ends = zip((255, 255, 255), (0x1B, 0x5E, 0x8C), strict=True)
    part = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(low + part * (high - low)):02x}" for low, high in ends)


def score_drawing(rows: list[dict[str, Any]], baseline: str) -> str:
    """Draw the score of every task with its interval, and the baseline as a tick.

    Parameters
    ----------
    rows : list of dict
        Scores, as the record of a table's model has them.
    baseline : str
        The method that the tick stands for.
    """
    shown = rows[-_MOST_TASKS:]
    marks = [row[key] for row in shown for key in ("model", "low", "high", baseline)]
    finite = [value for value in marks if np.isfinite(value)]
    low, high = min(finite), max(finite)
    room = (high - low) or 1.0
    left, step = 120.0, 18.0

    def at(value: float) -> float:
        return float(left + (_WIDTH - left - 12.0) * (value - low) / room)

    parts = []
    for place, row in enumerate(shown):
        y = 16.0 + step * place
        name = "all rows" if row["task"] is None else row["task"]
        parts.append(_text(left - 6.0, y + 4.0, _cut(name, _LETTERS), "end"))
        if np.isfinite(row["low"]):
            parts.append(_line(at(row["low"]), y, at(row["high"]), y, _BLUE, 2.0))
        x = at(row[baseline])
        parts.append(_line(x, y - 6.0, x, y + 6.0, _RED, 1.5))
        parts.append(f'<circle cx="{at(row["model"]):.1f}" cy="{y:.1f}" r="3.5" fill="{_BLUE}"/>')
    y = 22.0 + step * len(shown)
    parts += [_text(left, y + 4.0, f"{low:.3g}", "start")]
    parts += [_text(_WIDTH - 2.0, y + 4.0, f"{high:.3g}", "end")]
    return _svg(_WIDTH, y + 12.0, parts, f"score of every task with its interval; tick: {baseline}")


def task_map(similarity: Array, names: list[str]) -> str:
    """Draw how alike tasks are in the order of a tree, and the tree above.

    Parameters
    ----------
    similarity : ndarray of shape (n_tasks, n_tasks)
        With a diagonal of ones.
    names : list of str
        Of the tasks; of very many, the first are drawn.
    """
    alike, shown = similarity[:_MOST_TASKS, :_MOST_TASKS], names[:_MOST_TASKS]
    n, cell, left, top = len(shown), 16.0, 150.0, 60.0
    parts, order = [], list(range(n))
    if n > 1:
        apart = np.sqrt(np.maximum(2.0 - 2.0 * alike, 0.0))
        np.fill_diagonal(apart, 0.0)
        tree = dendrogram(linkage(squareform(apart, checks=False), "average"), no_plot=True)
        order = tree["leaves"]
        tallest = max(max(heights) for heights in tree["dcoord"]) or 1.0
        for xs, heights in zip(tree["icoord"], tree["dcoord"], strict=True):
            # Leaves of scipy's trees stand at 5, 15, 25, ...
            corners = [
                f"{left + cell * x / 10.0:.1f},{top - 4.0 - (top - 14.0) * h / tallest:.1f}"
                for x, h in zip(xs, heights, strict=True)
            ]
            parts.append(f'<polyline points="{" ".join(corners)}" fill="none" stroke="{_GREY}"/>')
    for row, one in enumerate(order):
        y = top + cell * row
        parts.append(_text(left - 6.0, y + 12.0, _cut(shown[one], _LETTERS), "end"))
        for place, other in enumerate(order):
            value = float(alike[one, other])
            parts.append(
                f'<rect x="{left + cell * place:.0f}" y="{y:.0f}" width="{cell - 1:.0f}" '
                f'height="{cell - 1:.0f}" fill="{shade(value)}"><title>{escape(shown[one])}, '
                f"{escape(shown[other])}: {value:.2f}</title></rect>"
            )
    return _svg(
        left + cell * n + 8.0, top + cell * n + 8.0, parts, "likeness of tasks, with a tree"
    )


def _svg(width: float, height: float, parts: list[str], label: str) -> str:
    # A size beside the viewBox: a phone shows it one to one, and a wide map can be scrolled.
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _cut(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
