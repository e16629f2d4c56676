"""A page of HTML that needs nothing but itself: light or dark, on a desk or on a phone."""

from __future__ import annotations

import io
from html import escape
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from kernelhood._support import import_extra
from kernelhood._typing import Array
from kernelhood.inspection.contents import Inspection, score_cells, share_cells, summary_lines
from kernelhood.tables.judging import METRIC, TASK_MEAN
from kernelhood.tables.roles import CLASSIFICATION

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #4b5866; --back: #fff; --band: #f5f7fa;
  --line: #d8dee6; --main: #12508f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ee; --soft: #a9b4c0; --back: #14181d;
  --band: #1c2229; --line: #38424d; --main: #86c5e8; } }
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
@media (max-width: 40rem) {
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


_STYLE = """<style>
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: #4b5866; } dd { margin: 0; overflow-wrap: anywhere; }
svg { display: block; } svg text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: #1d2733; }
.plot svg { width: 100%; height: auto; max-width: 38rem; }
table.heat td:not(:first-child) { text-align: center; min-width: 2.6rem; }
table.heat th:not(:first-child) { min-width: 2.6rem; max-width: 9rem; overflow-wrap: break-word; }
td:first-child { max-width: 11rem; overflow: hidden; text-overflow: ellipsis; }
table.words td { text-align: left; white-space: normal; }
@media (max-width: 30rem) {
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .4rem; }
}
</style>"""
_NAMES_OF_MANY = 60


def to_html(found: Inspection) -> str:
    """Return an inspection as a whole HTML page.

    Parameters
    ----------
    found : Inspection
        What is known of a model.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> from kernelhood.inspection.contents import inspect_model
    >>> from kernelhood.inspection.page import to_html
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = kh.ITLRegressor(kernels=[kh.Gaussian(0.5)]).fit(X, X[:, 0] ** 2)
    >>> to_html(inspect_model(model)).splitlines()[0]
    '<!DOCTYPE html>'
    """
    facts = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in found.facts.items())
    notes = "".join(f"<li>{escape(note)}</li>" for note in found.notes)
    body = [_STYLE, f"<dl>{facts}</dl>", "<h2>Worth a look</h2>"]
    body.append(f"<ul>{notes}</ul>" if notes else "<p>Nothing was found.</p>")
    body += [*_scores(found), *_summary(found), *_columns(found)]
    if found.similarity.size:
        body += [*_kernels(found), *_map(found)]
    body += _treatment(found)
    return page(found.title, body)


def _scores(found: Inspection) -> list[str]:
    head, rows = score_cells(found)
    if not rows:
        return []
    accuracy = found.record["metric"] == METRIC[CLASSIFICATION]
    better = "more is better" if accuracy else "less is better"
    caption = (
        f"{found.record['metric']} ({better}) on {found.record['judged']}. Dot: the model, bar: "
        f"its 95 % interval; red tick: {'most frequent class' if accuracy else 'mean'} of the task."
    )
    drawing = score_drawing(found.record["scores"], TASK_MEAN)
    return [
        "<h2>Scores</h2>",
        _figure("scores", drawing, caption, "plot"),
        _table("by-task", head, [[_name(row[0]), *map(_cell, row[1:])] for row in rows]),
    ]


def _summary(found: Inspection) -> list[str]:
    lines = summary_lines(found)
    return ["<h2>Model</h2>", f"<pre>{escape(chr(10).join(lines))}</pre>"] if lines else []


def _columns(found: Inspection) -> list[str]:
    if not found.columns:
        return []
    caption = (
        "Share of each column, in %, in what moves the predictions of a task when the values of "
        "the column are exchanged among its rows."
    )
    table = _heat("columns", found.tasks, found.columns, found.usage)
    return ["<h2>Columns that each task uses</h2>", f"<p>{caption}</p>", table]


def _kernels(found: Inspection) -> list[str]:
    table = _heat("kernels", found.tasks, found.kernels, found.weights)
    title = "<h2>Kernels that each task uses</h2><p>Share of each kernel in the weights, in %.</p>"
    return [title, table if found.kernels else "<p>None.</p>"]


def _map(found: Inspection) -> list[str]:
    caption = f"The darker, the more alike: {found.likeness}. The tree joins tasks that are alike."
    drawing = task_map(found.similarity, found.tasks)
    return ["<h2>How tasks relate</h2>", _figure("task-map", drawing, caption, "wide")]


def _treatment(found: Inspection) -> list[str]:
    listed = list(found.record.get("columns", {}).items())
    if not listed:
        return []
    rows = [[_name(name), _name(text)] for name, text in listed[:_NAMES_OF_MANY]]
    more = len(listed) - len(rows)
    after = [f"<p>And {more} more columns.</p>"] if more > 0 else []
    title = "<h2>What the columns are taken for</h2>"
    return [title, _table("treatment", ["column", "treatment"], rows, "words"), *after]


def _figure(name: str, drawing: str, caption: str, kind: str) -> str:
    return (
        f'<figure id="{name}"><div class="{kind}">{drawing}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _heat(name: str, tasks: list[str], names: list[str], shares: Array) -> str:
    rows = []
    for cells, own in zip(share_cells(tasks, names, shares), shares.tolist(), strict=True):
        shaded = [
            _cell(text, f"background:{shade(share)};color:{'#fff' if share > 0.45 else '#1d2733'}")
            for text, share in zip(cells[1:], own, strict=True)
        ]
        rows.append([_name(cells[0]), *shaded])
    return _table(name, ["task", *names], rows, "heat")


def _table(name: str, head: list[str], rows: list[list[str]], kind: str = "") -> str:
    tops = "".join(
        f'<th scope="col"><button type="button">{escape(text)}</button></th>' for text in head
    )
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table id="{name}" class="sortable {kind}"><thead><tr>{tops}</tr>'
        f"</thead><tbody>{lines}</tbody></table></div>"
    )


def _name(text: str) -> str:
    """Return a cell that is sorted by its text."""
    return f'<td data-value="{escape(text)}" title="{escape(text)}">{escape(text)}</td>'


def _cell(text: str, style: str = "") -> str:
    """Return a cell that is sorted by the number that it begins with."""
    value = "" if text.startswith("-") else text.split(" ")[0]
    shown = f' style="{style}"' if style else ""
    return f'<td data-value="{value}"{shown}>{escape(text)}</td>'
