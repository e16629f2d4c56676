"""Pages of HTML that need nothing but themselves: light or dark, on a desk or on a phone."""

from __future__ import annotations

import io
import json
import re
import warnings
from html import escape
from pathlib import Path
from typing import Any

from kernelhood._support import import_extra
from kernelhood.inspection.figures import BAD, MAIN, WARM
from kernelhood.inspection.style import FAINT, INK, OTHER

#: A table with more rows scrolls in a box of its own.
_TALL = 25


def heading(name: str) -> str:
    """Return a column's name; the percent sign stays with the word before it."""
    return escape(name).replace(" %", "&nbsp;%")


def plain_table(name: str, head: list[str], rows: list[list[str]]) -> list[str]:
    """Return a table that is not sorted, with its name above it.

    Parameters
    ----------
    name : str
        What it shows.
    head : list of str
        The names of the columns.
    rows : list of list of str
        The cells.
    """
    tops = "".join(f'<th scope="col"><span>{heading(text)}</span></th>' for text in head)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return [
        f"<h2>{escape(name)}</h2>",
        f'<div class="wide"><table><thead><tr>{tops}</tr></thead><tbody>{lines}</tbody></table>',
        "</div>",
    ]


def page(title: str, body: list[str]) -> str:
    """Return a whole page that needs nothing but itself.

    Parameters
    ----------
    title : str
        Heading.
    body : list of str
        HTML below it.
    """
    # The browser itself is told to fetch nothing.
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    )
    beside = Path(__file__)
    style, script = (beside.with_name(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>\n{style}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *body,
        f"<script>\n{script}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def pictures(figure: Any) -> tuple[bytes, bytes]:
    """Return a figure as SVG and as PNG, the same bytes for the same figure.

    Parameters
    ----------
    figure : matplotlib figure
        The figure.
    """
    matplotlib = import_extra("matplotlib", "bench")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # layout and edges are found once for both formats
    edges = figure.get_tightbbox().padded(0.1)
    files = []
    for kind, metadata in (("svg", {"Date": None}), ("png", {})):
        content = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "kernelhood"}):
            figure.savefig(content, format=kind, dpi=130, bbox_inches=edges, metadata=metadata)
        files.append(content.getvalue())
    return files[0], files[1]


#: What stands for the colours of drawings, so that they follow the reader into the dark.
_VARIABLES = {
    "#000000": "ink",
    INK: "ink",
    FAINT: "soft",
    MAIN: "main",
    WARM: "warm",
    BAD: "bad",
    OTHER: "other",
}
_NUMBERED = re.compile(r' id="[A-Za-z]+[A-Za-z0-9.]*_\d+"')


def svg(ax: Any, label: str) -> str:
    """Return the figure of axes as SVG for a page, in the colours of the page.

    Parameters
    ----------
    ax : matplotlib axes
        Of a figure.
    label : str
        Alternative text; no other figure of a page has the same.
    """
    matplotlib, content = import_extra("matplotlib", "plot"), io.StringIO()
    settings = {"svg.hashsalt": label, "svg.fonttype": "none"}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        style = {"bbox_inches": "tight", "pad_inches": 0.04, "transparent": True}
        # Letters are drawn by the browser, whatever matplotlib's font has.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        ax.figure.savefig(content, format="svg", metadata={"Date": None}, **style)
    text = content.getvalue()
    text = _NUMBERED.sub("", text[text.index("<svg") :])
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for colour, name in _VARIABLES.items():
        text = text.replace(colour, f"var(--{name})")
    size = re.search(r'viewBox="[^"]*"', text)
    assert size is not None
    opening = f'<svg {size[0]} role="img" aria-label="{escape(label)}">'
    return opening + text[text.index(">") + 1 :]


def figure(name: str, drawing: str, caption: str) -> str:
    """Return a figure with its caption.

    Parameters
    ----------
    name : str
        Its id.
    drawing : str
        SVG.
    caption : str
        Text below it.
    """
    return f'<figure id="{name}">{drawing}<figcaption>{escape(caption)}</figcaption></figure>'


def sortable(
    name: str,
    head: list[str],
    rows: list[list[str]],
    kind: str = "",
    labels: list[str] | None = None,
) -> str:
    """Return a table that is sorted by a click; on a phone every row is a list with labels.

    Parameters
    ----------
    name : str
        Its id.
    head : list of str
        The names of the columns.
    rows : list of list of str
        Cells, by `name_cell` and `number_cell`.
    kind : str
        Further classes of the table.
    labels : list of str, optional
        The names of the columns in a list; by default those of the head.
    """
    tops = "".join(
        f'<th scope="col"><button type="button">{heading(text)}</button></th>' for text in head
    )
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    rules = "".join(
        f"#{name} td:nth-child({place})::before {{ content: {json.dumps(text)}; }}"
        for place, text in enumerate((labels or head)[1:], start=2)
    ).replace("<", "\\3c ")
    box = "wide tall" if len(rows) > _TALL else "wide"
    return (
        f"<style>@media (max-width: 40rem) {{ {rules} }}</style>"
        f'<div class="{box}"><table id="{name}" class="sortable {kind}"><thead><tr>{tops}</tr>'
        f"</thead><tbody>{lines}</tbody></table></div>"
    )


def name_cell(text: str, kind: str = "") -> str:
    """Return a cell that is sorted by its text."""
    shown = f' class="{kind}"' if kind else ""
    return f'<td data-value="{escape(text)}" title="{escape(text)}"{shown}>{escape(text)}</td>'


def number_cell(text: str, style: str = "", kind: str = "") -> str:
    """Return a cell that is sorted by the number that it begins with, if it does."""
    value = text.split(" ")[0]
    try:
        float(value)
    except ValueError:
        value = ""
    more = (f' {key}="{one}"' for key, one in (("class", kind), ("style", style)) if one)
    return f'<td data-value="{value}"{"".join(more)}>{escape(text)}</td>'
