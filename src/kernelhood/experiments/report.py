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
    plot_convergence,
    plot_critical_difference,
    plot_figure_1,
    plot_learned_weights,
)
from kernelhood.experiments.findings import findings, headline, notes
from kernelhood.experiments.formats import (
    as_markdown,
    times_cells,
    to_latex,
    to_markdown,
    to_text,
)
from kernelhood.experiments.methods.names import BEST, PROPOSED
from kernelhood.experiments.page import heading, page, pictures, plain_table
from kernelhood.experiments.score_figures import plot_scores, plot_task_scores
from kernelhood.experiments.statistics import against_cells, choose_blocks, differences_cells
from kernelhood.experiments.store import write_file
from kernelhood.experiments.table import grid_of_cells, title

TITLE = "Learned kernels on many tasks: a comparison"


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

    Examples
    --------
    >>> import tempfile
    >>> from kernelhood.experiments import published_results, write_report
    >>> letters = published_results().query("dataset == 'letter'")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(letters, folder)[0].name
    'report.html'
    """
    folder = Path(out)
    written = [write_file(folder / "results.csv", results.to_csv(index=False))]
    images = []
    if results["score"].notna().any():
        text = "\n".join(f"- {line}" for line in [*findings(results), *notes(results)])
        markdown = f"{to_markdown(results)}\n\n{text}\n"
        for name, head, rows in further_tables(results):
            markdown += f"\n{name}:\n\n{as_markdown(head, rows)}\n"
        written.append(write_file(folder / "table.md", markdown))
        written.append(write_file(folder / "table.tex", to_latex(results) + "\n"))
        for drawn in _draw(results):
            svg, png = pictures(drawn.figure)
            images.append((drawn, svg))
            written.append(write_file(folder / "figures" / f"{drawn.name}.svg", svg))
            written.append(write_file(folder / "figures" / f"{drawn.name}.png", png))
    body = [*_opening(results, images[:1]), *_table(results), *_figures(images[1:])]
    html = page(TITLE, [*body, *_making(results, command)])
    return [write_file(folder / "report.html", html), *written]


def further_tables(results: Any) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield name, head and rows of the tables behind the first one that the rows have.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    """
    if {"run", "metric"} <= set(results.columns):
        tried = set(results.loc[results["score"].notna(), "method"])
        paired = "differences are paired by split, with their standard errors"
        if BEST in tried and len(tried) > 1:
            yield f"The best model by validation; {paired}", *differences_cells(results)
        if PROPOSED in tried and len(tried) > 1:
            yield f"All methods against the paper's; {paired}", *against_cells(results)
    if "seconds" in results.columns:
        yield "Seconds that a run takes", *times_cells(results)


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


def _draw(results: Any) -> Iterator[_Drawn]:
    """Yield all figures that the rows have something for, the one to open with first."""
    caption = (
        "Mean score of each method over tasks and runs (large dots), with two standard errors over "
        "runs to either side; a small dot is a task. What is far off is written at the edge."
    )
    yield _Drawn("scores", caption, plot_scores(results))
    blocks = choose_blocks(results)
    if blocks is not None:
        ranks = plot_critical_difference(results, blocks=blocks)
        caption = f"Average ranks over the {blocks}; a bar joins what does not differ (Nemenyi)."
        yield _Drawn("critical_difference", caption.replace("datasets", "data sets"), ranks.figure)
    for name in dict.fromkeys(results.loc[results["score"].notna(), "dataset"]):
        drawings = (
            (
                "task_scores",
                plot_task_scores,
                "scores task by task, with two standard errors over runs to either side; an "
                "arrow at the edge stands for a score further out.",
            ),
            (
                "alignment",
                plot_figure_1,
                "alignment of kernels and neighborhood matrices (the "
                "paper's Figure 1), for each pair of tasks, mean over the first five runs.",
            ),
            (
                "weights",
                plot_learned_weights,
                "learned weights, as shares of each task's total, mean over those of the first "
                "five runs that have the same kernels.",
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


def _opening(results: Any, images: list[tuple[_Drawn, bytes]]) -> list[str]:
    """Return what was found: a sentence and a figure."""
    runs = int(results.groupby(["dataset", "method"]).size().max()) if len(results) else 0
    lines = [
        f"<p>{_count(results['method'].nunique(), 'method')}, "
        f"{_count(results['dataset'].nunique(), 'data set')}, {_count(runs, 'run')} of each: mean "
        "over tasks and runs, and standard error over runs.</p>"
    ]
    if results["score"].notna().any():
        lines.insert(0, f'<p class="found">{escape(headline(results))}</p>')
    return [*lines, *(_figure(drawn, svg, first=True) for drawn, svg in images)]


def _making(results: Any, command: str | None) -> list[str]:
    """Return how to do it again, and with what it was done."""
    lines = []
    if command is not None:
        lines.append(f"<p>To repeat it:</p><pre><code>{escape(command)}</code></pre>")
    if "versions" in results.columns and len(results):
        versions = json.loads(results["versions"].iloc[0])
        text = ", ".join(f"{name} {number}" for name, number in versions.items())
        lines.append(f"<p>With {escape(text)}.</p>")
    return ["<h2>How it was made</h2>", *lines] if lines else []


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
        f'<th scope="col"><button type="button">{heading(name)}</button></th>' for name in head
    )
    lines = [f"<tr>{''.join(_cell(head, row, k) for k in range(len(row)))}</tr>" for row in body]
    sentences = [f"<p>{escape(line)}</p>" for line in findings(results)]
    return [
        "<h2>Table</h2>",
        _labels(head),
        '<div class="wide"><table class="sortable">',
        f"<thead><tr>{tops}</tr></thead><tbody>",
        *lines,
        "</tbody></table></div><h2>Statistics</h2>",
        *sentences,
        *(part for one in further_tables(results) for part in plain_table(*one)),
        *after,
    ]


def _cell(head: list[str], row: list[str], place: int) -> str:
    """Return a cell, with the number or the text that it is sorted by."""
    text = row[place]
    value = text.split(" ")[0] if place else text
    if place and not _is_number(value):
        value = ""
    best = place + 1 < len(row) and head[place + 1] == "rank" and row[place + 1] == "1"
    kind = ' class="best"' if best else ' class="paper"' if head[place] == "paper" else ""
    return f'<td{kind} data-value="{escape(value)}">{escape(text)}</td>'


def _labels(head: list[str]) -> str:
    """Return the rule that names the cells where the head of the table is not shown."""
    rules = "".join(
        f"table.sortable td:nth-child({place + 1})::before {{ content: {json.dumps(text)}; }}"
        for place, text in enumerate(_full_heading(head, place) for place in range(len(head)))
        if place
    )
    return f"<style>@media (max-width: 40rem) {{ {rules} }}</style>"


def _full_heading(head: list[str], place: int) -> str:
    """Return what a cell is where the head of the table is not shown, as on a phone."""
    of_data = place
    while head[of_data] in ("rank", "paper"):
        of_data -= 1
    return head[place] if of_data == place else f"{head[of_data].split(' ')[0]}, {head[place]}"


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _figures(images: list[tuple[_Drawn, bytes]]) -> list[str]:
    if not images:
        return []
    return ["<h2>Figures</h2>", *(_figure(drawn, svg) for drawn, svg in images)]


def _figure(drawn: _Drawn, svg: bytes, *, first: bool = False) -> str:
    """Return a figure with its picture inside; a wide one scrolls in its box."""
    data = base64.b64encode(svg).decode("ascii")
    caption, kind = escape(drawn.caption), ' class="first"' if first else ""
    return (
        f'<figure id="{escape(drawn.name)}"{kind}><div class="wide"><img '
        f'src="data:image/svg+xml;base64,{data}" alt="{caption}"></div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )
