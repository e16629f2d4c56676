"""Differences between methods, paired by split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._extras import import_extra
from kernelhood.experiments.methods import label
from kernelhood.experiments.methods.names import BEST, PROPOSED
from kernelhood.experiments.protocol import METRICS, TABLE_1
from kernelhood.experiments.table import check_results, is_error, title, unit


def paired_differences(
    results: Any, method: str = BEST, others: Sequence[str] | None = None
) -> Any:
    """Return how far a method is from others on the same splits.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method, run, metric and score.
    method : str
        The method.
    others : sequence of str, optional
        Those to compare with; all others by default.

    Returns
    -------
    DataFrame
        Columns dataset, metric, other, runs (splits that both have), difference (mean of the method
        minus the other, in percent where the metric is), error (its standard error) and better
        (the share of splits on which the method is better; equal ones count half).

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelhood.experiments import paired_differences
    >>> rows = {"dataset": "letter", "metric": "accuracy", "run": [0, 1] * 2}
    >>> method = ["kta", "kta", "itl", "itl"]
    >>> results = pd.DataFrame({**rows, "method": method, "score": [0.90, 0.91, 0.88, 0.90]})
    >>> found = paired_differences(results, "kta")
    >>> found["other"][0], float(found["difference"][0].round(2))
    ('itl', 1.5)
    """
    pd = import_extra("pandas", "bench")
    found = check_results(results)
    if method not in set(found["method"]):
        raise ValueError(
            f"method={method!r} has no rows; there are {sorted(set(found['method']))}."
        )
    names = list(dict.fromkeys(found["method"])) if others is None else list(others)
    lines = []
    for dataset, rows in found.groupby("dataset", sort=False):
        metric = rows["metric"].iloc[0]
        scores = rows.pivot(index="run", columns="method", values="score")
        sign = -1.0 if is_error(found, dataset) else 1.0
        for other in names:
            if other == method or not {method, other} <= set(scores.columns):
                continue
            gap = (scores[method] - scores[other]).dropna()
            if not len(gap):
                continue
            scale = 100.0 if METRICS[metric].percent else 1.0
            won = float(((sign * gap > 0) + 0.5 * (gap == 0)).mean())
            mean, error = scale * gap.mean(), scale * gap.sem()
            lines.append((dataset, metric, other, len(gap), mean, error, won))
    columns = ["dataset", "metric", "other", "runs", "difference", "error", "better"]
    return pd.DataFrame(lines, columns=columns)


def best_other(results: Any, dataset: str) -> str | None:
    """Return the method with the best mean on a data set among the paper's six rivals.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    dataset : str
        The data set.
    """
    found = check_results(results)
    six = [name for name in TABLE_1 if name != PROPOSED]
    rows = found[(found["dataset"] == dataset) & found["method"].isin(six)]
    if not len(rows):
        return None
    means = rows.groupby("method")["score"].mean()
    return str(means.idxmin() if is_error(found, dataset) else means.idxmax())


def differences_cells(results: Any, method: str = BEST) -> tuple[list[str], list[list[str]]]:
    """Return a table's head and rows: a method minus MT-ONMKL, the best of six, users' choices.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method, run, metric and score.
    method : str
        The method.
    """
    rows = paired_differences(results, method)
    head = ["data", "runs", "minus MT-ONMKL", "minus the best of the six", "which"]
    rivals = [name for name in ("boosting", "one-hot-svm") if name in set(rows["other"])]
    head += [f"minus {label(name)}" for name in rivals]
    lines = []
    for dataset, own in rows.groupby("dataset", sort=False):
        six = best_other(results, dataset)
        cells = {line.other: _cell(line) for line in own.itertuples()}
        first = f"{title(str(dataset))} {unit(own['metric'].iloc[0])}"
        which = "" if six is None else label(six)
        shown = [cells.get(PROPOSED, ""), cells.get(six, ""), which]
        lines.append([first, str(own["runs"].max()), *shown, *(cells.get(n, "") for n in rivals)])
    return head, lines


def against_cells(results: Any, other: str = PROPOSED) -> tuple[list[str], list[list[str]]]:
    """Return a table's head and rows: all methods minus one of them, on each data set.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method, run, metric and score.
    other : str
        The method that is taken away.
    """
    rows = paired_differences(results, other)
    rows["difference"] = 0.0 - rows["difference"]
    names, sets = dict.fromkeys(rows["other"]), dict.fromkeys(rows["dataset"])
    units = dict(zip(rows["dataset"], rows["metric"], strict=True))
    head = [f"minus {label(other)}", *(f"{title(name)} {unit(units[name])}" for name in sets)]
    cells = {(line.other, line.dataset): _cell(line) for line in rows.itertuples()}
    return head, [[label(name), *(cells.get((name, d), "") for d in sets)] for name in names]


def _cell(line: Any) -> str:
    """Return a difference and its standard error as text; a single split has none."""
    size = abs(line.difference) if np.isnan(line.error) else line.error
    digits = 4 if not METRICS[line.metric].percent and size < 0.01 else 2
    text = f"{line.difference:+.{digits}f}".replace("-", "−")
    return text if np.isnan(line.error) else f"{text} ± {line.error:.{digits}f}"
