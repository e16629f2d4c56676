"""Figures that notebooks show; the only file that imports matplotlib at the top.

They are made without pyplot, so that scripts and servers neither open windows nor keep figures that
nobody closes.
"""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that a notebook draws if a cell ends with it."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", bbox_inches="tight")
        return content.getvalue()
