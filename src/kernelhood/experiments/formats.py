"""The table as text, Markdown and LaTeX."""

from __future__ import annotations

from typing import Any

from kernelhood.experiments.table import grid_of_cells


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
    head, body = grid_of_cells(results)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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


def _escape(text: str) -> str:
    for letter in "&%_#$":
        text = text.replace(letter, "\\" + letter)
    return text
