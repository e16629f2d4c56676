"""Pages of HTML that need nothing but themselves: light or dark, on a desk or on a phone."""

from __future__ import annotations

import io
import json
import re
import warnings
from html import escape
from typing import Any

from kernelhood._support import import_extra
from kernelhood.inspection.drawings import BAD, MAIN, WARM
from kernelhood.inspection.style import FAINT, INK, OTHER

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #4b5866; --back: #fff; --band: #f5f7fa;
  --line: #d8dee6; --main: #12508f; --warm: #e3a92f; --bad: #b03a56; --other: #c4c8cc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ee; --soft: #a9b4c0; --back: #14181d;
  --band: #1c2229; --line: #38424d; --main: #86c5e8; --warm: #e3a92f; --bad: #f08a9b;
  --other: #56616d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 78rem; padding: 1rem; color: var(--ink); background: var(--back);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-bottom: .2rem;
  border-bottom: 1px solid var(--line); }
p, li, pre { overflow-wrap: anywhere; max-width: 50rem; }
p.found { font-size: 1.15rem; }
pre { background: var(--band); padding: .7rem .9rem; border-radius: 6px; white-space: pre-wrap;
  font-size: .85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .5rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
  background: var(--back); }
thead th { border-bottom: 2px solid var(--main); vertical-align: bottom; padding: 0;
  white-space: normal; }
thead span { padding: .35rem .5rem; font-weight: 600; display: block; }
thead button { all: unset; cursor: pointer; padding: .35rem .5rem; font-weight: 600;
  display: block; }
thead button:focus-visible { outline: 2px solid var(--main); }
thead button::after { content: "\\2195"; color: var(--soft); padding-left: .3rem; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: var(--main); }
th[aria-sort=descending] button::after { content: "\\2193"; color: var(--main); }
tbody tr:nth-child(even) td { background: var(--band); }
td.best { font-weight: 700; color: var(--main); }
td.paper { color: var(--soft); }
figure { margin: 1rem 0 1.6rem; }
figure .wide { background: #fff; border-radius: 6px; padding: .4rem; max-width: 52rem;
  border: 1px solid var(--line); }
figure img { width: 100%; height: auto; display: block; }
figcaption { font-size: .88rem; color: var(--soft); margin-top: .3rem; max-width: 46rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
figure svg { display: block; width: 100%; height: auto; max-width: 34rem; }
figure svg text { fill: var(--ink); }
.side { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr));
  gap: 0 2rem; }
.tall { max-height: 40rem; overflow: auto; border: 1px solid var(--line); border-radius: 6px; }
.tall thead th { position: sticky; top: 0; background: var(--back); z-index: 2; }
.tall thead th:first-child { z-index: 3; }
table.heat td:not(:first-child) { text-align: center; min-width: 2.6rem; }
table.heat th:not(:first-child) { min-width: 2.6rem; max-width: 9rem; overflow-wrap: break-word; }
table.heat td:first-child, table.report td:first-child { max-width: 11rem; overflow: hidden;
  text-overflow: ellipsis; }
td.word { text-align: left; white-space: normal; }
table.words td { text-align: left; white-space: normal; }
@media (max-width: 30rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; }
}
@media (max-width: 40rem) {
  .tall { border: 0; border-block: 1px solid var(--line); }
  td.word { text-align: right; }
  table.report td:first-child { max-width: none; }
  figure:not(.first) img { min-width: 34rem; }
  .sortable, .sortable tbody, .sortable tr, .sortable td { display: block; }
  .sortable thead { display: none; }
  .sortable tbody tr { border-top: 1px solid var(--line); padding: .4rem 0; }
  .sortable tbody tr td, .sortable tbody tr:nth-child(even) td { background: none;
    position: static; padding: .1rem 0; display: flex; justify-content: space-between; gap: 1rem;
    white-space: normal; }
  .sortable tbody td:empty { display: none; }
  .sortable tbody td:first-child { font-weight: 700; }
  .sortable tbody td:not(:first-child)::before { color: var(--soft); font-weight: 400;
    text-align: left; }
}
"""

SCRIPT = """
document.querySelectorAll("table.sortable thead button").forEach(button => {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table");
    const column = head.cellIndex, body = table.tBodies[0];
    const up = head.getAttribute("aria-sort") !== "ascending";
    table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.value;
    const order = (a, b) => {
      const x = key(a), y = key(b);
      if (x === "" || y === "") return (x === "") - (y === "");
      const sign = up ? 1 : -1;
      return sign * (isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y);
    };
    [...body.rows].sort(order).forEach(row => body.appendChild(row));
  });
});
"""


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
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *body,
        f"<script>{SCRIPT}</script></body></html>",
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
        What it shows, for those who do not see it; no other figure of a page has the same.
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


def sortable(name: str, head: list[str], rows: list[list[str]], kind: str = "") -> str:
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
    """
    tops = "".join(
        f'<th scope="col"><button type="button">{escape(text)}</button></th>' for text in head
    )
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    labels = "".join(
        f"#{name} td:nth-child({place})::before {{ content: {json.dumps(text)}; }}"
        for place, text in enumerate(head[1:], start=2)
    ).replace("<", "\\3c ")
    box = "wide tall" if len(rows) > _TALL else "wide"
    return (
        f"<style>@media (max-width: 40rem) {{ {labels} }}</style>"
        f'<div class="{box}"><table id="{name}" class="sortable {kind}"><thead><tr>{tops}</tr>'
        f"</thead><tbody>{lines}</tbody></table></div>"
    )


def name_cell(text: str, kind: str = "") -> str:
    """Return a cell that is sorted by its text."""
    shown = f' class="{kind}"' if kind else ""
    return f'<td data-value="{escape(text)}" title="{escape(text)}"{shown}>{escape(text)}</td>'


def number_cell(text: str, style: str = "") -> str:
    """Return a cell that is sorted by the number that it begins with."""
    value = "" if text == "-" else text.split(" ")[0]
    shown = f' style="{style}"' if style else ""
    return f'<td data-value="{value}"{shown}>{escape(text)}</td>'
