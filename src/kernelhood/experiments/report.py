"""Everything that a comparison leaves on disk, and report.html with all of it in one file."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernelhood.experiments.figures import (
    picture,
    plot_convergence,
    plot_critical_difference,
    plot_figure_1,
    plot_learned_weights,
)
from kernelhood.experiments.statistics import choose_blocks, findings
from kernelhood.experiments.store import write_file
from kernelhood.experiments.table import grid_of_cells, notes, title, to_latex, to_markdown, to_text

TITLE = "Learned kernels on many tasks: a comparison"

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; color: #1d2733; background: #fff;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-bottom: .2rem;
  border-bottom: 1px solid #d8dee6; }
p, li, pre { overflow-wrap: anywhere; max-width: 50rem; }
pre { background: #f3f5f8; padding: .7rem .9rem; border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; font-size: .85rem; }
.wide { overflow-x: auto; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .45rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
thead th { border-bottom: 2px solid #1b5e8c; vertical-align: bottom; padding: 0;
  white-space: normal; }
thead button { all: unset; cursor: pointer; padding: .35rem .45rem; font-weight: 600;
  display: block; }
thead button:focus-visible { outline: 2px solid #1b5e8c; }
thead button::after { content: "\\2195"; color: #9aa7b5; padding-left: .3rem; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: #1b5e8c; }
th[aria-sort=descending] button::after { content: "\\2193"; color: #1b5e8c; }
tbody tr:nth-child(even) td { background: #f7f9fb; }
td.best { font-weight: 700; color: #1b5e8c; }
td.paper { color: #6b7786; }
figure { margin: 1rem 0 1.6rem; }
figure img { width: 100%; max-width: 46rem; height: auto; display: block; }
figcaption { font-size: .88rem; color: #4b5866; margin-top: .3rem; max-width: 46rem; }
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


class _Drawn(NamedTuple):
    """A figure with its file name and caption."""

    name: str
    caption: str
    figure: Any


def write_report(
    results: Any, out: str | PathLike[str], *, command: str | None = None
) -> list[Path]:
    """Write results.csv, table.md, table.tex, the figures and report.html.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score; what `run` adds to them gives more figures.
    out : path-like
        The folder.
    command : str, optional
        What to type to get the same again.

    Returns
    -------
    list of Path
        The files, report.html first.
    """
    folder = Path(out)
    written = [write_file(folder / "results.csv", results.to_csv(index=False))]
    images = []
    if results["score"].notna().any():
        text = "\n".join(f"- {line}" for line in [*findings(results), *notes(results)])
        markdown = f"{to_markdown(results)}\n\n{text}\n"
        written.append(write_file(folder / "table.md", markdown))
        written.append(write_file(folder / "table.tex", to_latex(results) + "\n"))
        for drawn in _draw(results):
            svg = picture(drawn.figure, "svg")
            images.append((drawn, svg))
            written.append(write_file(folder / "figures" / f"{drawn.name}.svg", svg))
            png = picture(drawn.figure, "png")
            written.append(write_file(folder / "figures" / f"{drawn.name}.png", png))
    html = page(TITLE, [*_head(results, command), *_table(results), *_figures(images)])
    return [write_file(folder / "report.html", html), *written]


def as_text(results: Any) -> str:
    """Return the table, the statistics and the notes for a terminal.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    """
    if not results["score"].notna().any():
        return "\n".join(["No run has a score.", *notes(results)])
    return "\n".join([to_text(results), "", *findings(results), *notes(results)])


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


def _draw(results: Any) -> Iterator[_Drawn]:
    """Yield all figures that the rows have something for."""
    blocks = choose_blocks(results)
    if blocks is not None:
        ranks = plot_critical_difference(results, blocks=blocks)
        caption = f"Average ranks over the {blocks}; a bar joins what does not differ (Nemenyi)."
        yield _Drawn("critical_difference", caption.replace("datasets", "data sets"), ranks.figure)
    for name in dict.fromkeys(results.loc[results["score"].notna(), "dataset"]):
        drawings = (
            (
                "alignment",
                plot_figure_1,
                "alignment of kernels and neighborhood matrices (the "
                "paper's Figure 1), for each pair of tasks, mean over runs.",
            ),
            (
                "weights",
                plot_learned_weights,
                "learned weights, as shares of each task's total, mean over runs.",
            ),
            (
                "convergence",
                _convergence,
                "duality gap of the worst task against the time of the "
                "fit, first run, time shared out evenly among its SVMs.",
            ),
        )
        for kind, draw, caption in drawings:
            figure = draw(results, name)
            if figure is not None:
                yield _Drawn(f"{kind}_{name}", f"{title(name)}: {caption}", figure)


def _convergence(results: Any, dataset: str) -> Any:
    ax = plot_convergence(results, dataset)
    return None if ax is None else ax.figure


def _head(results: Any, command: str | None) -> list[str]:
    """Return what was done and how to do it again."""
    runs = int(results.groupby(["dataset", "method"]).size().max()) if len(results) else 0
    lines = [
        f"<p>{_count(results['method'].nunique(), 'method')}, "
        f"{_count(results['dataset'].nunique(), 'data set')}, {_count(runs, 'run')} of each: mean "
        "over tasks and runs, and standard error over runs.</p>"
    ]
    if command is not None:
        lines.append(f"<p>To repeat it:</p><pre><code>{escape(command)}</code></pre>")
    if "versions" in results.columns and len(results):
        versions = json.loads(results["versions"].iloc[0])
        text = ", ".join(f"{name} {number}" for name, number in versions.items())
        lines.append(f"<p>With {escape(text)}.</p>")
    return lines


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _table(results: Any) -> list[str]:
    """Return the table, the statistics and the notes."""
    remarks = [f"<li>{escape(line)}</li>" for line in notes(results)]
    after = ["<h2>Notes</h2><ul>", *remarks, "</ul>"] if remarks else []
    if not results["score"].notna().any():
        return ["<p>No run has a score.</p>", *after]
    head, body = grid_of_cells(results)
    tops = "".join(
        f'<th scope="col"><button type="button">{_heading(name)}</button></th>' for name in head
    )
    lines = [f"<tr>{''.join(_cell(head, row, k) for k in range(len(row)))}</tr>" for row in body]
    sentences = [f"<p>{escape(line)}</p>" for line in findings(results)]
    return [
        '<h2>Table</h2><div class="wide"><table class="sortable">',
        f"<thead><tr>{tops}</tr></thead><tbody>",
        *lines,
        "</tbody></table></div><h2>Statistics</h2>",
        *sentences,
        *after,
    ]


def _heading(name: str) -> str:
    """Return a column's name; the percent sign stays with the word before it."""
    return escape(name).replace(" %", "&nbsp;%")


def _cell(head: list[str], row: list[str], place: int) -> str:
    """Return a cell, with the number or the text that it is sorted by."""
    text = row[place]
    value = text.split(" ")[0] if place else text
    if place and not _is_number(value):
        value = ""
    best = place + 1 < len(row) and head[place + 1] == "rank" and row[place + 1] == "1"
    kind = ' class="best"' if best else ' class="paper"' if head[place] == "paper" else ""
    return f'<td{kind} data-value="{escape(value)}">{escape(text)}</td>'


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _figures(images: list[tuple[_Drawn, bytes]]) -> list[str]:
    if not images:
        return []
    lines = ["<h2>Figures</h2>"]
    for drawn, svg in images:
        data = base64.b64encode(svg).decode("ascii")
        caption = escape(drawn.caption)
        lines.append(
            f'<figure id="{escape(drawn.name)}"><img src="data:image/svg+xml;base64,{data}" '
            f'alt="{caption}"><figcaption>{caption}</figcaption></figure>'
        )
    return lines
