"""Differences between methods, paired by split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood._extras import import_extra
from kernelhood.experiments.methods import label
from kernelhood.experiments.methods.names import BEST
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
    six = [name for name in TABLE_1 if name != "mt-onmkl"]
    rows = found[(found["dataset"] == dataset) & found["method"].isin(six)]
    if not len(rows):
        return None
    means = rows.groupby("method")["score"].mean()
    return str(means.idxmin() if is_error(found, dataset) else means.idxmax())


def differences_table(results: Any, method: str = BEST) -> str:
    """Return a table in Markdown: a method minus MT-ONMKL, the best of the six, and users' choices.

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
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for dataset, own in rows.groupby("dataset", sort=False):
        six = best_other(results, dataset)
        cells = {line.other: _cell(line) for line in own.itertuples()}
        first = f"{title(str(dataset))} {unit(own['metric'].iloc[0])}"
        which = "" if six is None else label(six)
        shown = [cells.get("mt-onmkl", ""), cells.get(six, ""), which]
        lines.append([first, str(own["runs"].max()), *shown, *(cells.get(n, "") for n in rivals)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(line: Any) -> str:
    """Return a difference and its standard error as text; a single split has none."""
    digits = 4 if abs(line.difference) < 0.1 else 2
    text = f"{line.difference:+.{digits}f}".replace("-", "−")
    return text if np.isnan(line.error) else f"{text} ± {line.error:.{digits}f}"
