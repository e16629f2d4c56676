"""Comparing many methods over many data sets (Demsar, JMLR 7, 2006).

Functions take a frame with the columns dataset, method and score, such as `run` returns; rows of
the same data set and method are averaged first. A column metric says whether larger is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from kernelhood._extras import import_extra
from kernelhood._typing import Array
from kernelhood.experiments.table import Blocks, score_blocks


@dataclass(frozen=True)
class Test:
    """The outcome of a test.

    Attributes
    ----------
    statistic : float
        Its statistic.
    df : tuple of int
        Degrees of freedom.
    p_value : float
        Probability of such a value or a larger one if all methods are alike.
    """

    __test__ = False

    statistic: float
    df: tuple[int, ...]
    p_value: float


def ranks(blocks: Blocks) -> Array:
    """Return the rank of every method in every block, 1 for the best; ties share ranks.

    Parameters
    ----------
    blocks : Blocks
        Scores, larger is better.

    Returns
    -------
    ndarray of shape (n_blocks, n_methods)
    """
    return np.asarray(stats.rankdata(-blocks.scores, axis=1), dtype=np.float64)


def average_ranks(results: Any, *, blocks: str = "datasets") -> Any:
    """Return the average rank of every method as a series.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    blocks : {"datasets", "tasks"}
        What methods are ranked on.

    Examples
    --------
    >>> from kernelhood.experiments import average_ranks, published_results
    >>> round(float(average_ranks(published_results())["mt-onmkl"]), 2)
    1.4
    """
    pd = import_extra("pandas", "bench")
    found = score_blocks(results, blocks)
    index = pd.Index(found.methods, name="method")
    return pd.Series(ranks(found).mean(axis=0), index=index, name="average rank")


def friedman(results: Any, *, blocks: str = "datasets", correct_ties: bool = False) -> Test:
    r"""Return Friedman's test of whether the methods differ at all.

    .. math:: \chi^2 = \frac{12 N}{k (k + 1)} \Bigl[\sum_j R_j^2 - \frac{k (k + 1)^2}{4}\Bigr]

    with k - 1 degrees of freedom, for the average ranks :math:`R_j` of k methods on N data sets.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    blocks : {"datasets", "tasks"}
        What methods are ranked on.
    correct_ties : bool
        Whether to divide by the share of the variance that ties leave, as scipy does.

    Examples
    --------
    >>> from kernelhood.experiments import friedman, published_results
    >>> test = friedman(published_results())
    >>> round(test.statistic, 3), test.df, round(test.p_value, 3)
    (11.507, (6,), 0.074)
    """
    found = _comparable(results, blocks)
    table = ranks(found)
    n, k = table.shape
    mean = table.mean(axis=0)
    chi2 = 12.0 * n / (k * (k + 1)) * (float(mean @ mean) - k * (k + 1) ** 2 / 4.0)
    if correct_ties:
        left = 1.0 - _tied(table) / (n * k * (k**2 - 1))
        # Where every method ties with every other, chi2 is 0 whatever it is divided by.
        chi2 = chi2 / left if left > 0.0 else 0.0
    chi2 = max(chi2, 0.0)
    return Test(chi2, (k - 1,), float(stats.chi2.sf(chi2, k - 1)))


def _tied(table: Array) -> float:
    """Return the sum of t^3 - t over all groups of t tied ranks."""
    total = 0.0
    for line in table:
        _, counts = np.unique(line, return_counts=True)
        total += float(np.sum(counts**3 - counts))
    return total


def iman_davenport(results: Any, *, blocks: str = "datasets") -> Test:
    r"""Return Iman and Davenport's less conservative form of Friedman's test.

    .. math:: F = \frac{(N - 1) \chi^2}{N (k - 1) - \chi^2}

    with k - 1 and (k - 1)(N - 1) degrees of freedom.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score, of at least two data sets.
    blocks : {"datasets", "tasks"}
        What methods are ranked on.

    Examples
    --------
    >>> from kernelhood.experiments import iman_davenport, published_results
    >>> test = iman_davenport(published_results())
    >>> round(test.statistic, 3), test.df, round(test.p_value, 3)
    (2.489, (6, 24), 0.051)
    """
    found = _comparable(results, blocks)
    n, k = found.scores.shape
    if n < 2:
        raise ValueError(f"results hold one of the {blocks}; the F test needs at least two.")
    chi2 = friedman(results, blocks=blocks).statistic
    rest = n * (k - 1) - chi2
    value = (n - 1) * chi2 / rest if rest > 1e-9 else float("inf")
    df = (k - 1, (k - 1) * (n - 1))
    return Test(value, df, float(stats.f.sf(value, *df)))


def holm(results: Any, *, control: str | None = None, blocks: str = "datasets") -> Any:
    r"""Compare all methods with one of them, adjusted by Holm's step-down procedure.

    .. math:: z_j = (R_j - R_0) \Big/ \sqrt{k (k + 1) / (6 N)}

    two-sided, for average ranks R of k methods on N data sets.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    control : str, optional
        The method to compare with; by default the one of the best average rank.
    blocks : {"datasets", "tasks"}
        What methods are ranked on.

    Returns
    -------
    DataFrame
        For every other method, ascending in p: average rank, z, p_value and holm, the adjusted
        p-value: the smallest level at which the procedure rejects.

    Examples
    --------
    >>> from kernelhood.experiments import holm, published_results
    >>> found = holm(published_results())
    >>> found.attrs["control"], list(found.columns)
    ('mt-onmkl', ['average rank', 'z', 'p_value', 'holm'])
    """
    pd = import_extra("pandas", "bench")
    found = _comparable(results, blocks)
    n, k = found.scores.shape
    mean = ranks(found).mean(axis=0)
    if control is not None and control not in found.methods:
        raise ValueError(f"control={control!r} is unknown; give one of {list(found.methods)}.")
    best = int(np.argmin(mean)) if control is None else found.methods.index(control)
    z = (mean - mean[best]) / np.sqrt(k * (k + 1) / (6.0 * n))
    p = 2.0 * stats.norm.sf(np.abs(z))
    others = [j for j in np.argsort(p, kind="stable").tolist() if j != best]
    frame = pd.DataFrame(
        {
            "average rank": mean[others],
            "z": z[others],
            "p_value": p[others],
            "holm": holm_adjust(p[others]),
        },
        index=pd.Index([found.methods[j] for j in others], name="method"),
    )
    frame.attrs["control"] = found.methods[best]
    return frame


def holm_adjust(p_values: Sequence[float] | Array) -> Array:
    """Return Holm's step-down adjusted p-values, in the order given.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        Of single tests.

    Examples
    --------
    >>> holm_adjust([0.04, 0.01, 0.03]).round(2).tolist()
    [0.06, 0.03, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def critical_difference(n_methods: int, n_blocks: int, *, alpha: float = 0.05) -> float:
    r"""Return Nemenyi's critical difference of average ranks.

    .. math:: q_\alpha \sqrt{k (k + 1) / (6 N)}

    Parameters
    ----------
    n_methods, n_blocks : int
        k and N.
    alpha : float
        Level.

    Examples
    --------
    >>> round(critical_difference(7, 5), 2)
    4.03
    """
    quantile = float(stats.studentized_range.ppf(1.0 - alpha, n_methods, np.inf)) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_blocks)))


def choose_blocks(results: Any) -> str | None:
    """Return what to rank methods on: data sets, single tasks where there is one, None if nothing.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method and score.
    """
    found = score_blocks(results)
    if len(found.methods) < 2:
        return None
    if len(found.names) >= 2:
        return "datasets"
    if "task_scores" in results.columns and len(score_blocks(results, "tasks").names) >= 2:
        return "tasks"
    return None


def _comparable(results: Any, blocks: str) -> Blocks:
    found = score_blocks(results, blocks)
    if len(found.methods) < 2 or not len(found.scores):
        raise ValueError(
            f"results hold {len(found.methods)} methods on {len(found.scores)} complete {blocks}; "
            "a comparison needs two methods and one that all were run on."
        )
    return found
