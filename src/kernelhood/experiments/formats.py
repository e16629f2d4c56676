"""The table as text, Markdown and LaTeX."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood.experiments.methods import label
from kernelhood.experiments.table import check_results, grid_of_cells, title


def to_text(results: Any) -> str:
    """Return the table with aligned columns.

    Examples
    --------
    >>> from kernelhood import experiments
    >>> experiments.to_text(experiments.published_results()).splitlines()[-1].split()[:2]
    ['MT-ONMKL', '62.61']
    """
    head, body = grid_of_cells(results)
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if place else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [head, *body]
    )


def to_markdown(results: Any) -> str:
    """Return the table in Markdown.

    Examples
    --------
    >>> from kernelhood import experiments
    >>> print(experiments.to_markdown(experiments.published_results())[:32])
    | method | Landmine accuracy % |
    """
    return as_markdown(*grid_of_cells(results))


def to_latex(results: Any) -> str:
    r"""Return the table as a LaTeX tabular, the best of each data set in bold.

    Examples
    --------
    >>> from kernelhood import experiments
    >>> print(experiments.to_latex(experiments.published_results())[:15])
    \begin{tabular}
    """
    head, body = grid_of_cells(results)
    ranks = [place for place, name in enumerate(head) if name == "rank"]
    lines = []
    for row in body:
        cells = [_escape(text).replace("±", r"$\pm$") for text in row]
        for place in ranks:
            if row[place] == "1":
                cells[place - 1] = rf"\textbf{{{cells[place - 1]}}}"
        lines.append(" & ".join(cells) + r" \\")
    columns = "l" + "r" * (len(head) - 1)
    first = " & ".join(map(_escape, head)) + r" \\"
    parts = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", first, r"\hline", *lines, r"\hline"]
    return "\n".join([*parts, r"\end{tabular}"])


def times_cells(results: Any) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of the seconds that a run of each method takes.

    Of variants that share a search, the first one has done it for the others.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method, score and seconds.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelhood.experiments.formats import times_cells
    >>> rows = {"dataset": "letter", "method": ["kta", "itl"], "score": 0.9, "seconds": [2.0, 1.0]}
    >>> times_cells(pd.DataFrame(rows))[1][-1]
    ['all', '3.0', '3.0']
    """
    found = check_results(results)
    means = found.pivot_table("seconds", "method", "dataset", sort=False)
    means["all"] = means.sum(axis=1)
    head = ["seconds a run", *map(title, means.columns[:-1]), "all"]
    names = {name: label(name) for name in means.index}
    means.loc["all"] = means.sum()
    body = [
        [names.get(name, name), *("" if np.isnan(one) else f"{one:.1f}" for one in line)]
        for name, line in zip(means.index, means.to_numpy(), strict=True)
    ]
    return head, body


def as_markdown(head: list[str], body: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape(text: str) -> str:
    for letter in "&%_#$":
        text = text.replace(letter, "\\" + letter)
    return text
