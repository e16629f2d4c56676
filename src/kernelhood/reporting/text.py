"""An inspection for a terminal."""

from __future__ import annotations

import unicodedata

import numpy as np

from kernelhood._typing import Array
from kernelhood.reporting.cells import score_cells, share_cells, summary_lines
from kernelhood.reporting.contents import Inspection

_MOST_NAMES = 12


def to_text(found: Inspection) -> str:
    """Return an inspection as plain text.

    Parameters
    ----------
    found : Inspection
        What is known of a model.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> from kernelhood.reporting import inspect_model, to_text
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = kh.ITLRegressor(kernels=[kh.Gaussian(0.5)]).fit(X, X[:, 0] ** 2)
    >>> [line for line in to_text(inspect_model(model)).splitlines() if "Kernels" in line]
    ["Kernels, % of a task's weights"]
    """
    width = max(map(len, found.facts))
    lines = [found.title, "", *(f"{name:<{width}}  {text}" for name, text in found.facts.items())]
    lines += ["", "Worth a look", *(f"- {note}" for note in found.notes or ["nothing was found."])]
    lines += _scores(found)
    if summary_lines(found):
        lines += ["", "Model", *summary_lines(found)]
    if found.columns:
        lines += ["", "Use of columns, % of what moves a task's predictions"]
        lines += _shares(found.tasks, found.columns, found.usage)
    if found.similarity.size:
        lines += ["", "Kernels, % of a task's weights"]
        lines += _shares(found.tasks, found.kernels, found.weights)
        lines += ["", f"Nearest tasks: {found.likeness}", *_nearest(found)]
    columns = found.record.get("columns", {})
    if columns:
        lines += ["", "Columns", *grid([[name, text] for name, text in columns.items()])]
    return "\n".join(lines)


def grid(rows: list[list[str]]) -> list[str]:
    """Return rows of cells as lines, names to the left and numbers to the right.

    Parameters
    ----------
    rows : list of list of str
        All of one length.
    """
    if not rows:
        return []
    # A task's name may hold a line break.
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(_width(row[k]) for row in cells) for k in range(len(cells[0]))]
    if len(widths) == 2:
        widths[1] = 0
    lines = []
    for row in cells:
        blanks = [" " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        numbers = [f"{blank}{cell}" for cell, blank in zip(row[1:], blanks[1:], strict=True)]
        lines.append("  ".join([f"{row[0]}{blanks[0]}", *numbers]))
    return lines


def _width(text: str) -> int:
    """Return how many places of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _scores(found: Inspection) -> list[str]:
    head, rows = score_cells(found)
    if not rows:
        return []
    title = f"Scores: {found.record['metric']} on {found.record['judged']}"
    return ["", title, *grid([head, *rows])]


def _shares(tasks: list[str], names: list[str], shares: Array) -> list[str]:
    """Return the table of shares; of many names only the largest."""
    if not names:
        return ["none"]
    order = np.argsort(-shares.mean(axis=0), kind="stable")[:_MOST_NAMES]
    kept = [names[k] for k in np.sort(order)]
    left = len(names) - len(kept)
    rows = grid([["task", *kept], *share_cells(tasks, kept, shares[:, np.sort(order)])])
    return [*rows, *([f"and {left} more with smaller shares"] if left else [])]


def _nearest(found: Inspection) -> list[str]:
    if len(found.tasks) < 2:
        return ["there is only one task"]
    alike = found.similarity - 2.0 * np.eye(len(found.tasks))
    best = alike.argmax(axis=1)
    return grid(
        [
            [name, f"{found.tasks[other]} ({found.similarity[place, other]:.2f})"]
            for place, (name, other) in enumerate(zip(found.tasks, best.tolist(), strict=True))
        ]
    )
