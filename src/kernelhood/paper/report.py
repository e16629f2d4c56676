"""What a comparison found, in words: one sentence to open with, and the tests behind it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from kernelhood.inspection.html import (
    name_cell,
    number_cell,
    page,
    pictures,
    plain_table,
    sortable,
)
from kernelhood.paper import figures, statistics
from kernelhood.paper.jobs import write_file
from kernelhood.paper.methods import BEST, PROPOSED, label
from kernelhood.paper.protocol import TABLE_1
from kernelhood.paper.table import (
    as_markdown,
    best_first,
    cell,
    grid_of_cells,
    score_blocks,
    table,
    times_cells,
    title,
    to_latex,
    to_markdown,
    to_text,
    unit,
    validation_cells,
)

_LEVEL = 0.05
# Longer lists are counted.
_LISTED = 4


def p_text(p: float, digits: int = 3) -> str:
    """Return a p-value for print.

    Parameters
    ----------
    p : float
        From 0 to 1.
    digits : int
        Decimals; what they do not show is given as a bound.

    Examples
    --------
    >>> p_text(0.0741), p_text(1e-9)
    ('= 0.074', '< 0.001')
    """
    least = 10.0**-digits
    return f"= {p:.{digits}f}" if p >= least else f"< {least:.{digits}f}"


def headline(results: Any) -> str:
    """Return one sentence that says which method was best, and whether the tests support it.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.

    Examples
    --------
    >>> from kernelhood.paper.protocol import published_results
    >>> print(headline(published_results()))
    MT-ONMKL has the best average rank of 7 methods on 5 data sets (1.40); Holm's test at 0.05 ...
    """
    blocks = statistics.choose_blocks(results)
    if blocks is None:
        return _scores_only(results)
    found = score_blocks(results, blocks)
    against = statistics.holm(results, blocks=blocks)
    best = against.attrs["control"]
    n, k = found.scores.shape
    what = (
        "data sets"
        if blocks == "datasets"
        else f"tasks of {title(str(results['dataset'].iloc[0]))}"
    )
    rank = k * (k + 1) / 2.0 - float(against["average rank"].sum())
    told = [label(name) for name in against.index[against["holm"] < _LEVEL]]
    rest = [label(name) for name in against.index[against["holm"] >= _LEVEL]]
    start = f"{label(best)} has the best average rank of {k} methods on {n} {what} ({rank:.2f})"
    if not told:
        return f"{start}, but Holm's test at {_LEVEL} tells it from no other method."
    if not rest:
        return f"{start}, and Holm's test at {_LEVEL} tells it from all others."
    others = listed(rest) if len(rest) <= _LISTED else f"the {len(rest)} others"
    some = listed(told) if len(told) <= _LISTED else f"{len(told)} of them"
    return f"{start}; Holm's test at {_LEVEL} tells it from {some}, not from {others}."


def _scores_only(results: Any) -> str:
    """Return the best score of every data set."""
    lines = table(results)
    found = []
    for dataset, own in lines.groupby("dataset", sort=False):
        line = next(best_first(own).itertuples())
        shown = f"{cell(line)} ({unit(line.metric)})"
        found.append(f"{label(line.method)} scores {shown} on {title(str(dataset))}")
    return "; ".join(found) + "."


def listed(names: Sequence[str]) -> str:
    """Return names as people write them.

    Parameters
    ----------
    names : sequence of str
        At least one.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def findings(results: Any) -> list[str]:
    """Return sentences: Friedman, Iman and Davenport, and Holm's comparisons with the best.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.

    Examples
    --------
    >>> from kernelhood.paper.report import findings
    >>> from kernelhood.paper.protocol import published_results
    >>> print(findings(published_results())[0])
    7 methods on 5 data sets: Friedman's chi2 = 11.507 (df 6, p = 0.074), Iman and ...
    """
    blocks = statistics.choose_blocks(results)
    if blocks is None:
        return ["Statistics need two methods on two data sets, or on one with several tasks."]
    sentences = _tests(results, blocks)
    ranked = score_blocks(results, blocks).methods
    if blocks == "datasets" and "metric" in results.columns:
        sentences.append(_probabilities(results))
        if set(TABLE_1) < set(ranked):
            sentences.append("The seven methods of the paper alone:")
            sentences += _tests(results[results["method"].isin(TABLE_1)], blocks)
    if blocks == "tasks":
        sentences.append(
            "Ranks here are over the tasks of one data set, which are not independent: take the "
            "p-values as a description only."
        )
    left_out = sorted(set(results["dataset"]) - set(score_blocks(results).names))
    if left_out:
        sentences.append(f"Left out, because a method has no score there: {', '.join(left_out)}.")
    without = [label(name) for name in dict.fromkeys(results["method"]) if name not in ranked]
    if without:
        sentences.append(f"Not ranked, because not tried on all data sets: {listed(without)}.")
    return sentences


def _tests(results: Any, blocks: str) -> list[str]:
    """Return what Friedman's test and its likes say, and Holm's comparisons with the best."""
    found = score_blocks(results, blocks)
    chi2, f = (
        statistics.friedman(results, blocks=blocks),
        statistics.iman_davenport(results, blocks=blocks),
    )
    against = statistics.holm(results, blocks=blocks)
    what = "data sets" if blocks == "datasets" else "tasks"
    others = [
        f"{label(name)} {p_text(p, 4).removeprefix('= ')}" for name, p in against["holm"].items()
    ]
    return [
        f"{len(found.methods)} methods on {len(found.names)} {what}: Friedman's chi2 = "
        f"{chi2.statistic:.3f} (df {chi2.df[0]}, p {p_text(chi2.p_value)}), Iman and Davenport's "
        f"F = {f.statistic:.3f} (df {f.df[0]} and {f.df[1]}, p {p_text(f.p_value)}).",
        f"Best average rank: {label(against.attrs['control'])}. Holm's p of the others against "
        f"it: {', '.join(others)}.",
    ]


def _probabilities(results: Any) -> str:
    """Return how probable it is that the best method is better than each other one."""
    found = statistics.bayesian_comparison(results)
    others = [
        f"{label(name)} {row.better:.2f} ({row.same:.2f} the same)"
        for name, row in zip(found.index, found.itertuples(index=False), strict=True)
    ]
    return (
        f"Probability that {label(found.attrs['control'])} has a smaller error, by more than "
        f"{100 * statistics.ROPE:g} %, than each other method (Bayesian signed-rank test): "
        f"{', '.join(others)}."
    )


def notes(results: Any) -> list[str]:
    """Return what a reader of the table must know: units, failures."""
    lines = []
    names = set(results["dataset"])
    if "landmine" in names:
        lines.append("Landmine: all mines and as many other objects of each field.")
    if "load" in names:
        lines.append(
            "Load: errors on the standardised load; the unit of the paper's figures is unknown, so "
            "the two cannot be compared."
        )
    for (dataset, error), rows in failures(results).groupby(["dataset", "error"], sort=False):
        methods = ", ".join(dict.fromkeys(rows["method"]))
        runs = ", ".join(map(str, dict.fromkeys(rows["run"])))
        many = "runs" if rows["run"].nunique() > 1 else "run"
        lines.append(f"Failed: {dataset}, {methods}, {many} {runs}: {error}")
    return lines


def failures(results: Any) -> Any:
    """Return the rows of runs that failed; none if the frame does not tell."""
    if not {"error", "run"} <= set(results.columns):
        return results.iloc[:0].assign(error=None, run=0)
    return results[results["error"].notna()]


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
    >>> from kernelhood.paper.protocol import published_results
    >>> from kernelhood.paper.report import write_report
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
            yield f"The best model by validation; {paired}", *statistics.differences_cells(results)
        if PROPOSED in tried and len(tried) > 1:
            yield f"All methods against the paper's; {paired}", *statistics.against_cells(results)
    if "validation_score" in results.columns:
        yield (
            "Scores on the validation part, which chose the parameters",
            *validation_cells(results),
        )
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
    yield _Drawn("scores", caption, figures.plot_scores(results))
    blocks = statistics.choose_blocks(results)
    if blocks is not None:
        ranks = figures.plot_critical_difference(results, blocks=blocks)
        caption = f"Average ranks over the {blocks}; a bar joins what does not differ (Nemenyi)."
        yield _Drawn("critical_difference", caption.replace("datasets", "data sets"), ranks.figure)
    for name in dict.fromkeys(results.loc[results["score"].notna(), "dataset"]):
        drawings = (
            (
                "task_scores",
                figures.plot_task_scores,
                "scores task by task, with two standard errors over runs to either side; an "
                "arrow at the edge stands for a score further out.",
            ),
            (
                "alignment",
                figures.plot_figure_1,
                "alignment of kernels and neighborhood matrices (the "
                "paper's Figure 1), for each pair of tasks, mean over the first five runs.",
            ),
            (
                "weights",
                figures.plot_learned_weights,
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
    ax = figures.plot_convergence(results, dataset)
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
    cells = [
        [name_cell(row[0]), *(_cell(head, row, k) for k in range(1, len(row)))] for row in body
    ]
    sentences = [f"<p>{escape(line)}</p>" for line in findings(results)]
    return [
        "<h2>Table</h2>",
        sortable("scores-table", head, cells, labels=_labels(head)),
        "<h2>Statistics</h2>",
        *sentences,
        *(part for one in further_tables(results) for part in plain_table(*one)),
        *after,
    ]


def _cell(head: list[str], row: list[str], place: int) -> str:
    """Return a number; scores of rank 1 stand out."""
    best = place + 1 < len(row) and head[place + 1] == "rank" and row[place + 1] == "1"
    return number_cell(row[place], kind="best" if best else "paper" * (head[place] == "paper"))


def _labels(head: list[str]) -> list[str]:
    """Return what each cell is if the head of the table is not shown, as on a phone."""
    labels = []
    for text in head:
        if text not in ("rank", "paper"):
            data = text.split(" ")[0]
            labels.append(text)
        else:
            labels.append(f"{data}, {text}")
    return labels


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
