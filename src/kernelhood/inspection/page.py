"""The page of a fitted model, which says whether it can be trusted for a task."""

from __future__ import annotations

from html import escape

import numpy as np

from kernelhood._typing import Array
from kernelhood.estimators.task_report import HELPED, TaskReport
from kernelhood.estimators.trust import columns_of
from kernelhood.inspection.contents import (
    Inspection,
    alike_in,
    coverage_line,
    report_cells,
    score_cells,
    share_cells,
    summary_lines,
)
from kernelhood.inspection.figures import plot_task_map
from kernelhood.inspection.html import figure, name_cell, number_cell, page, sortable, svg

_NAMES_OF_MANY = 60
#: Columns whose effect is drawn.
_DRAWN = 6
#: Likenesses that differ by less are one.
_SAME = 0.01
#: Beyond this share white is easier to read than black.
_WHITE_ON = 0.82


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
    if found.report is not None:
        return page(found.title, _of_tasks(found, found.report))
    body = [*_facts(found), *_worth_a_look(found), *_scores(found), *_summary(found)]
    return page(found.title, [*body, *_kernels(found), *_map(found), *_treatment(found)])


def _of_tasks(found: Inspection, report: TaskReport) -> list[str]:
    """Return the page of a model whose left-out rows are known."""
    caption = (
        "Every dot is a task, below the line if the rows of the other tasks make its error "
        f"smaller. Over all rows, {report.scores()}."
    )
    drawing = svg(report.plot(), "errors of tasks with and without the others")
    return [
        f'<p class="found">{escape(report.summary())}</p>',
        figure("errors", drawing, caption),
        *_shares(found, report),
        *_effects(found),
        *_report(report),
        *_reliability(found),
        *_scores(found),
        *_worth_a_look(found),
        "<h2>About the model</h2>",
        *_facts(found),
        *_treatment(found),
    ]


def _shares(found: Inspection, report: TaskReport) -> list[str]:
    drawing = svg(report.plot_shares(), "shares of the variance")
    caption = (
        "How the variance of the rows of each task is divided. Common: what all tasks share; own: "
        "what a task has for itself; noise: what is left. In the legend: all tasks."
    )
    lines = escape("\n".join(summary_lines(found)))
    return [
        "<h2>How much tasks have in common</h2>",
        '<div class="side">',
        figure("shares", drawing, caption),
        f"<pre>{lines}</pre></div>",
    ]


def _effects(found: Inspection) -> list[str]:
    names = columns_of(found.estimator)
    title = "<h2>What the columns do</h2>"
    if not names:
        return [title, "<p>No prediction depends on a column.</p>"]
    drawn = [
        figure(
            f"effect-{place}",
            svg(found.estimator.plot_effect(name), f"effect of column {place + 1}, {name}"),
            f"{name}, with the other columns as in a typical row.",
        )
        for place, name in enumerate(names[:_DRAWN])
    ]
    left = names[_DRAWN : _DRAWN + _NAMES_OF_MANY]
    after = [f"<p>With less effect: {escape(', '.join(left))}.</p>"] if left else []
    said = (
        "<p>The columns that move predictions most come first. The band is two standard deviations "
        "of a new task to both sides; the thin lines are tasks of the fit.</p>"
    )
    return [title, said, '<div class="side">', *drawn, "</div>", *after]


def _report(report: TaskReport) -> list[str]:
    head, rows, same = report_cells(report)
    lines = "".join(f"<li>{escape(line)}</li>" for line in same)
    said = (
        f"Errors are those of left-out rows, {report.metric}. Alone: by the rows of the task "
        "only, with the same weights. Gain: how much larger the logarithm of what is predicted for "
        "a left-out target is by the other tasks."
    )
    cells = [[_cell(text) for text in row] for row in rows]
    table = sortable("by-task", head, cells, "report")
    return [
        f"<h2>Every task</h2><p>{escape(said)}</p>",
        *([f"<p>The same for every task:</p><ul>{lines}</ul>"] if lines else []),
        table,
    ]


def _cell(text: str) -> str:
    try:
        float(text)
    except ValueError:
        if text != "-":
            return name_cell(text, "best word" if text == HELPED else "word")
    return number_cell(text)


def _reliability(found: Inspection) -> list[str]:
    drawing = svg(found.estimator.plot_reliability(), "reliability of left-out rows")
    caption = (
        "What happened to rows that were left out, against what the model expects of them. Bars: "
        "two standard errors. On the line, expectations are right."
    )
    return [
        "<h2>Are intervals and probabilities right?</h2>",
        f"<p>{escape(coverage_line(found.estimator))}</p>",
        figure("reliability", drawing, caption),
    ]


def _facts(found: Inspection) -> list[str]:
    facts = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in found.facts.items())
    return [f"<dl>{facts}</dl>"]


def _worth_a_look(found: Inspection) -> list[str]:
    notes = "".join(f"<li>{escape(note)}</li>" for note in found.notes)
    return ["<h2>Worth a look</h2>", f"<ul>{notes}</ul>" if notes else "<p>Nothing was found.</p>"]


def _scores(found: Inspection) -> list[str]:
    head, rows = score_cells(found)
    if not rows:
        return []
    record = found.record
    said = f"<p>{escape(record['metric'])} on {escape(record['judged'])}.</p>"
    cells = [[name_cell(row[0]), *map(number_cell, row[1:])] for row in rows]
    return ["<h2>Scores</h2>", said, sortable("scores", head, cells, "report")]


def _summary(found: Inspection) -> list[str]:
    lines = summary_lines(found)
    return ["<h2>Model</h2>", f"<pre>{escape(chr(10).join(lines))}</pre>"] if lines else []


def _kernels(found: Inspection) -> list[str]:
    title = "<h2>Kernels that each task uses</h2>"
    said = alike_in(found.kernels, found.weights)
    if said:
        return [title, f"<p>{escape(said)}</p>"]
    table = _heat("kernels", found.tasks, found.kernels, found.weights)
    return [title, "<p>Share of each kernel in the weights, in %.</p>", table]


def _map(found: Inspection) -> list[str]:
    title, alike = "<h2>How tasks relate</h2>", found.similarity
    apart = alike[~np.eye(len(alike), dtype=bool)]
    if not apart.size:
        return [title, "<p>There is only one task.</p>"]
    if np.ptp(apart) < _SAME:
        return [title, f"<p>All tasks are equally alike ({apart.mean():.2f}).</p>"]
    caption = (
        f"The brighter, the more alike: {found.likeness}. The tree joins tasks that are alike."
    )
    drawing = svg(plot_task_map(alike, found.tasks), "similarity of tasks, with a tree")
    return [title, figure("task-map", drawing, caption)]


def _treatment(found: Inspection) -> list[str]:
    listed = list(found.record.get("columns", {}).items())
    if not listed:
        return []
    rows = [[name_cell(name), name_cell(text)] for name, text in listed[:_NAMES_OF_MANY]]
    more = len(listed) - len(rows)
    after = [f"<p>And {more} more columns.</p>"] if more > 0 else []
    title = "<h2>How columns are read</h2>"
    return [title, sortable("treatment", ["column", "treatment"], rows, "words"), *after]


def _heat(name: str, tasks: list[str], names: list[str], shares: Array) -> str:
    rows = []
    for cells, own in zip(share_cells(tasks, names, shares), shares.tolist(), strict=True):
        shaded = [
            number_cell(text, f"background:{shade(share)};color:{_ink_on(share)}")
            for text, share in zip(cells[1:], own, strict=True)
        ]
        rows.append([name_cell(cells[0]), *shaded])
    return sortable(name, ["task", *names], rows, "heat")


def _ink_on(share: float) -> str:
    """Return black or white, whichever is read on a shade with a contrast of 4.5 or more."""
    return "#fff" if share > _WHITE_ON else "#000"
