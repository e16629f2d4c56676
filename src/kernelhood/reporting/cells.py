"""The tables of an inspection, as text in cells; text and page show the same ones."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.reporting.contents import Inspection
from kernelhood.tables.scores import POOLED_RIDGE, TASK_MEAN

ALL_ROWS = "all rows"


def number(value: float | None) -> str:
    """Return a score in four digits, a dash where there is none."""
    return "-" if value is None or not np.isfinite(value) else f"{value:.4g}"


def score_cells(found: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the scores by task; empty where there are none.

    Parameters
    ----------
    found : Inspection
        Of a table's model.
    """
    head = ["task", "rows", "model", "95 % interval", TASK_MEAN, POOLED_RIDGE]
    rows = [
        [
            ALL_ROWS if row["task"] is None else row["task"],
            str(row["rows"]),
            number(row["model"]),
            f"{number(row['low'])} to {number(row['high'])}",
            number(row[TASK_MEAN]),
            number(row[POOLED_RIDGE]),
        ]
        for row in found.record.get("scores", [])
    ]
    return head, rows


def share_cells(tasks: list[str], names: list[str], shares: Array) -> list[list[str]]:
    """Return rows with the shares of each task in percent.

    Parameters
    ----------
    tasks, names : list of str
        Of rows and columns.
    shares : ndarray of shape (n_tasks, n_names)
        Between 0 and 1.
    """
    return [
        [task, *(f"{100.0 * share:.0f}" for share in own)]
        for task, own in zip(tasks, shares.tolist(), strict=True)
    ]


def summary_lines(found: Inspection) -> list[str]:
    """Return what the model is made of, or what a search has chosen.

    Parameters
    ----------
    found : Inspection
        What is known of a model.
    """
    return list(found.record.get("summary", []))
