"""An inspection as one page that fetches nothing and can be read on a phone."""

from __future__ import annotations

from html import escape

from kernelhood._typing import Array
from kernelhood.experiments.page import page
from kernelhood.reporting.cells import score_cells, share_cells, summary_lines
from kernelhood.reporting.contents import Inspection
from kernelhood.reporting.drawings import score_drawing, shade, task_map
from kernelhood.tables.roles import CLASSIFICATION
from kernelhood.tables.scores import METRIC, TASK_MEAN

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
    >>> from kernelhood.reporting import inspect_model, to_html
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
