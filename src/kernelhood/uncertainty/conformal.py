"""Split-conformal intervals for many tasks, from the errors at rows that were held out.

An interval of coverage p reaches as far from the prediction as a share p of the errors that are
held out. A task with few of them says little about its own tail, so that its errors are completed
by those of all tasks: each task's distribution counts the same there, and all of them together as
much as `_PRIOR` errors. Errors are compared in units of each task's spread of training targets,
which those held out have no part in.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelhood._typing import Array

#: How many errors those of all tasks count for in the distribution of a single one.
_PRIOR = 20.0
#: How many rows the mean spread of all tasks counts for in that of a single one.
_PRIOR_ROWS = 2.0


@dataclass(frozen=True)
class HeldOut:
    """The errors of one task at its rows that were held out.

    Attributes
    ----------
    errors : ndarray of shape (n_held,)
        Absolute errors.
    weight : ndarray of shape (n_held,)
        How often each counts.
    variance : float
        The variance of the task's training targets.
    n_rows : float
        How many these are.
    """

    errors: Array
    weight: Array
    variance: float
    n_rows: float


@dataclass(frozen=True)
class ConformalErrors:
    """The errors of all tasks.

    Attributes
    ----------
    names : list
        The tasks.
    held : sequence of HeldOut
        Their errors.

    Examples
    --------
    >>> held = HeldOut(np.arange(1.0, 100.0), np.ones(99), 1.0, 50.0)
    >>> errors = ConformalErrors(["only"], [held])
    >>> round(errors.half_width("only", 0.9), 6), round(errors.half_width("another", 0.9), 6)
    (90.0, 90.0)
    """

    names: list[Hashable]
    held: Sequence[HeldOut]

    @property
    def n_errors(self) -> int:
        """The number of all errors."""
        return sum(len(one.errors) for one in self.held)

    @cached_property
    def _variance(self) -> float:
        """The mean variance of the tasks' targets, or 1 where they do not vary."""
        rows = np.array([one.n_rows for one in self.held])
        mean = float(np.average([one.variance for one in self.held], weights=rows))
        return mean if mean > 0.0 else 1.0

    def _unit(self, one: HeldOut | None) -> float:
        """Return what the errors of a task are measured in."""
        if one is None:
            return float(np.sqrt(self._variance))
        total = one.n_rows * one.variance + _PRIOR_ROWS * self._variance
        return float(np.sqrt(total / (one.n_rows + _PRIOR_ROWS)))

    @cached_property
    def _pool(self) -> tuple[Array, Array]:
        """The errors of all tasks in their units, and weights that sum to one, equal for tasks."""
        some = [one for one in self.held if len(one.errors)]
        values = [one.errors / self._unit(one) for one in some]
        weights = [one.weight / (one.weight.sum() * len(some)) for one in some]
        return np.concatenate(values), np.concatenate(weights)

    def check(self, coverage: float) -> None:
        """Raise where so few errors cannot promise the coverage."""
        needed = int(np.ceil(coverage / (1.0 - coverage)))
        if self.n_errors < needed:
            raise ValueError(
                f"coverage={coverage:g} needs at least {needed} rows that are held out, and there "
                f"are {self.n_errors}: ask for less, raise calibration, or fit with more rows."
            )

    def half_width(self, name: Hashable, coverage: float) -> float:
        """Return how far a task's interval reaches from its prediction.

        Parameters
        ----------
        name : hashable
            The task; one that is not among `names` has the errors of all tasks.
        coverage : float
            Between 0 and 1.
        """
        one = self.held[self.names.index(name)] if name in self.names else None
        (values, weights), own = self._pool, 0.0
        if one is not None and len(one.errors):
            own = float(one.weight.sum())
            values = np.concatenate([values, one.errors / self._unit(one)])
            weights = np.concatenate([_PRIOR * weights, one.weight])
        # The error to come is one more than those that are known.
        more = 1.0 / self.n_errors if own == 0.0 else 1.0 / (own + _PRIOR)
        most = self.n_errors / (self.n_errors + 1.0)
        level = min(coverage * (1.0 + more), max(most, coverage))
        return _quantile(values, weights, level) * self._unit(one)


def _quantile(values: Array, weights: Array, level: float) -> float:
    """Return the smallest value up to which a share `level` of the weights lies."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    place = np.searchsorted(total, level * total[-1] * (1.0 - 1e-12))
    return float(values[order[min(int(place), len(order) - 1)]])
