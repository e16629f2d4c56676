"""Differences between methods, paired by split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kernelhood._support import import_extra
from kernelhood._typing import Array
from kernelhood.paper.methods import BEST, PROPOSED, label
from kernelhood.paper.protocol import METRICS, TABLE_1
from kernelhood.paper.table import Blocks, check_results, is_error, score_blocks, title, unit


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
        minus the other, in percent if the metric is), error (its standard error) and better
        (the share of splits on which the method is better; equal ones count half).

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelhood.paper.statistics import paired_differences
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


# Comparing many methods over many data sets (Demsar, JMLR 7, 2006).
#
# Functions take a frame with the columns dataset, method and score, such as `run` returns; rows of
# the same data set and method are averaged first. A column metric says whether larger is better.


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
    >>> from kernelhood.paper.statistics import average_ranks
    >>> from kernelhood.paper.protocol import published_results
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
    >>> from kernelhood.paper.statistics import friedman
    >>> from kernelhood.paper.protocol import published_results
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
        # If every method ties with every other, chi2 is 0 whatever it is divided by.
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
    >>> from kernelhood.paper.statistics import iman_davenport
    >>> from kernelhood.paper.protocol import published_results
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
    >>> from kernelhood.paper.statistics import holm
    >>> from kernelhood.paper.protocol import published_results
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
    """Return what to rank methods on: data sets, single tasks if there is one, None if nothing.

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


# How probable it is that one method is better: the Bayesian signed-rank test.
#
# Benavoli, Corani, Demsar and Zaffalon, JMLR 18 (2017). Few data sets prove little by p-values;
# this
# says how far they go.


#: Errors that differ by less are practically the same: two percent.
ROPE = 0.02


class Posterior(NamedTuple):
    """Probabilities, which add up to one.

    Attributes
    ----------
    better, same, worse : float
        That the first method is better by more than the rope, that the two are practically the
        same, and that the first is worse.
    """

    better: float
    same: float
    worse: float


def signed_rank(
    differences: ArrayLike,
    *,
    rope: float = 0.0,
    prior_strength: float = 0.5,
    n_samples: int = 50_000,
    random_state: int = 0,
) -> Posterior:
    r"""Return the probabilities of the Bayesian signed-rank test.

    The differences :math:`z_1, ..., z_n`, and :math:`z_0 = 0` for the prior, get weights that are
    drawn from a Dirichlet distribution with parameters (`prior_strength`, 1, ..., 1). Of each draw

    .. math:: \theta = \sum_{i,j} w_i w_j \, [z_i + z_j > 2\,\mathrm{rope}]

    and its likes for "practically the same" and "worse" are compared, and the largest one wins.

    Parameters
    ----------
    differences : array-like of shape (n_datasets,)
        The first method minus the second, larger is better.
    rope : float
        Region of practical equivalence.
    prior_strength : float
        Weight of the prior, in data sets.
    n_samples : int
        Draws.
    random_state : int
        Of the draws.

    Examples
    --------
    >>> found = signed_rank([0.1, 0.2, 0.3, 0.1, 0.2], rope=0.01)
    >>> found.better > 0.95, found.worse
    (True, 0.0)
    """
    z = np.asarray(differences, dtype=np.float64)
    if z.ndim != 1 or len(z) == 0 or not np.isfinite(z).all():
        raise ValueError("differences must be a sequence of at least one finite number.")
    if rope < 0.0 or prior_strength <= 0.0:
        raise ValueError(f"rope={rope} must not be negative, prior_strength={prior_strength} > 0.")
    z = np.concatenate([[0.0], z])
    sums = z[:, None] + z
    strengths = np.concatenate([[prior_strength], np.ones(len(z) - 1)])
    weights = np.random.default_rng(random_state).dirichlet(strengths, n_samples)
    better = _theta(weights, sums > 2.0 * rope)
    worse = _theta(weights, sums < -2.0 * rope)
    thetas = np.stack([better, 1.0 - better - worse, worse])
    won = thetas >= thetas.max(axis=0) - 1e-12
    # Draws in which several are equally large are shared.
    shares = (won / won.sum(axis=0)).mean(axis=1)
    return Posterior(*shares.tolist())


def _theta(weights: Array, pairs: Any) -> Array:
    """Return the weight of some pairs in every draw."""
    return np.asarray(np.einsum("si,ij,sj->s", weights, pairs.astype(np.float64), weights))


def bayesian_comparison(results: Any, *, control: str | None = None, rope: float = ROPE) -> Any:
    """Compare one method with all others by the Bayesian signed-rank test over data sets.

    Differences are those of the logarithms of errors, so that data sets of any unit can be put
    together: 0.02 is an error that is two percent smaller.

    Parameters
    ----------
    results : DataFrame
        Rows with dataset, method, score and metric.
    control : str, optional
        The method to compare with; by default the one of the best average rank.
    rope : float
        Region of practical equivalence.

    Returns
    -------
    DataFrame
        For every other method the probabilities that the control is better, that both are the same
        within the rope, and that the control is worse.

    Examples
    --------
    >>> from kernelhood.paper.statistics import bayesian_comparison
    >>> from kernelhood.paper.protocol import published_results
    >>> found = bayesian_comparison(published_results())
    >>> found.attrs["control"], list(found.columns)
    ('mt-onmkl', ['better', 'same', 'worse'])
    """
    pd = import_extra("pandas", "bench")
    found = score_blocks(results)
    if control is not None and control not in found.methods:
        raise ValueError(f"control={control!r} is unknown; give one of {list(found.methods)}.")
    best = int(np.argmin(ranks(found).mean(axis=0)))
    mine = best if control is None else found.methods.index(control)
    logs = np.log(_errors(results, found.names, found.scores))
    others = [place for place in range(len(found.methods)) if place != mine]
    rows = [signed_rank(logs[:, place] - logs[:, mine], rope=rope) for place in others]
    index = pd.Index([found.methods[place] for place in others], name="method")
    frame = pd.DataFrame(rows, index=index, columns=list(Posterior._fields))
    frame.attrs["control"] = found.methods[mine]
    return frame


def _errors(results: Any, names: tuple[str, ...], scores: Array) -> Array:
    """Return scores as errors, of percentages what is missing to a hundred."""
    errors = []
    for name, line in zip(names, scores, strict=True):
        metric = results.loc[results["dataset"] == name, "metric"].dropna().iloc[0]
        errors.append(100.0 - line if metric in ("accuracy", "auc") else -line)
    return np.asarray(np.maximum(np.array(errors), np.finfo(np.float64).tiny))
