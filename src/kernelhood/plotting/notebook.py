"""Figures that show themselves: in a notebook, or wherever pyplot is interactive.

Elsewhere figures are made without pyplot, so that scripts and servers neither open windows nor
keep figures that nobody closes.
"""

from __future__ import annotations

import io
import sys

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that a notebook draws where a cell ends with it."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", bbox_inches="tight")
        return content.getvalue()


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
