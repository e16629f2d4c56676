"""How far predictions may be wrong, by what they were at rows and tasks that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student_t

from kernelhood._typing import Array, Indices

#: Values of the model's own distribution beside the scores, and how many scores they count for.
_NODES, _WEIGHT = 199, 10.0
#: Degrees of freedom of that distribution, beyond which it is a normal one.
_MOST_DEGREES = 200


@dataclass(frozen=True, eq=False)
class Scores:
    """Errors of left-out rows, in the standard deviations that the model expects.

    If the model is right they are standard normal. Quantiles are those of the scores and of a few
    values of Student's t distribution, which decide if there are few scores.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The scores.
    task : ndarray of int, shape (n,)
        The task of each, from 0.
    by_task : bool
        Whether whole tasks were left out. They count the same then, whatever their size.
    """

    values: Array
    task: Indices
    by_task: bool = False

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return quantiles of the scores of a new row, or of a row of a new task.

        Parameters
        ----------
        levels : sequence of float
            Between 0 and 1.
        """
        count = np.bincount(self.task)
        units = len(count) if self.by_task else len(self.values)
        weight = 1.0 / count[self.task] if self.by_task else np.ones(len(self.values))
        nodes = np.arange(1, _NODES + 1) / (_NODES + 1.0)
        model = student_t.ppf(nodes, min(max(units - 1, 2), _MOST_DEGREES))
        values = np.concatenate([self.values if self.by_task else self._even, model])
        weight = np.concatenate([weight * units / weight.sum(), np.full(_NODES, _WEIGHT / _NODES)])
        order = np.argsort(values, kind="stable")
        share = np.cumsum(weight[order]) - 0.5 * weight[order]
        return np.asarray(np.interp(levels, share / weight.sum(), values[order]))

    @property
    def _even(self) -> Array:
        """The scores as if all tasks had errors of the same size."""
        return np.asarray(self.values / self.sizes[self.task])

    @property
    def sizes(self) -> Array:
        """How large the errors of every task are beside those of all, shrunk towards 1.

        The shrinkage is that of a random-effects model of the absolute scores.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> task = np.repeat([0, 1, 2], 200)
        >>> scores = Scores(rng.normal(size=600) * np.array([1.0, 1.0, 4.0])[task], task)
        >>> sizes = scores.sizes
        >>> bool(sizes[2] > 3.0 * max(sizes[0], sizes[1]))
        True
        """
        size, count = np.abs(self.values), np.bincount(self.task).astype(np.float64)
        overall, n = float(size.mean()), float(len(size))
        mean = np.bincount(self.task, size) / count
        freedom = n - len(count)
        if overall == 0.0 or freedom < 1.0 or len(count) < 2:
            return np.ones(len(count))
        within = float(np.sum((size - mean[self.task]) ** 2)) / freedom
        excess = float(count @ (mean - overall) ** 2) - (len(count) - 1) * within
        between = max(excess, 0.0) / (n - float(count @ count) / n)
        if between == 0.0:
            return np.ones(len(count))
        found = (between * count * mean + within * overall) / (between * count + within)
        return np.asarray(found / overall)


def checked_levels(quantiles: Sequence[float]) -> list[float]:
    """Return levels as numbers, or raise if they are not between 0 and 1, or not ascending.

    Parameters
    ----------
    quantiles : sequence of float
        As a user gave them.
    """
    levels = np.asarray(quantiles, dtype=np.float64)
    inside = levels.ndim == 1 and len(levels) > 0 and bool(np.all((levels > 0.0) & (levels < 1.0)))
    if not inside or not np.all(np.diff(levels) > 0.0):
        raise ValueError(
            "quantiles must be levels between 0 and 1 in ascending order, such as [0.1, 0.5, 0.9]: "
            f"got {quantiles!r}."
        )
    found: list[float] = levels.tolist()
    return found
