"""How probable it is that one method is better: the Bayesian signed-rank test.

Benavoli, Corani, Demsar and Zaffalon, JMLR 18 (2017). Few data sets prove little by p-values; this
says how far they go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kernelhood._extras import import_extra
from kernelhood._typing import Array
from kernelhood.experiments.statistics.ranks import ranks
from kernelhood.experiments.table import score_blocks

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
    >>> from kernelhood.experiments import bayesian_comparison, published_results
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
