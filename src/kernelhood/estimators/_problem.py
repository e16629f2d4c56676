"""One task as a method gets it, and what the method makes of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.estimators._inspection import Neighborhood
from kernelhood.losses import DualTerms
from kernelhood.solvers.mkl import recertified
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.penalty import Penalty
from kernelhood.solvers.warm_start import closest_start


class Encoded(NamedTuple):
    """What a task's targets mean to the solvers.

    Attributes
    ----------
    terms : DualTerms
        The loss; with more than two classes, a group of samples for each pair of classes.
    sample : ndarray of int, shape (n_entries,)
        The task's sample that each entry of the loss belongs to.
    """

    terms: DualTerms
    sample: Indices

    @classmethod
    def plain(cls, terms: DualTerms) -> Encoded:
        """Return a loss in which every sample occurs once."""
        return cls(terms, np.arange(len(terms.target), dtype=np.intp))


@dataclass(frozen=True)
class TaskProblem:
    """One task as the solvers see it.

    Attributes
    ----------
    name : hashable
        The task.
    rows : ndarray of int, shape (n_samples,)
        Its rows in X, those of weight 0 left out.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Its points.
    terms : DualTerms
        The loss.
    sample : ndarray of int, shape (n_entries,)
        The sample of each entry of the loss; more than one entry where a sample takes part in
        telling several pairs of classes apart.
    sample_weight : ndarray of shape (n_samples,)
        How often each sample counts.
    start : Solution, optional
        The solution of a model that differs in `_path_parameters` only.
    together : Solution, optional
        The same for all tasks as one, where they are solved jointly.
    carry : callable, optional
        Returns that of the same model with another C, brought into this box, or None.
    only_scored : bool
        Whether nothing but the predictor is wanted, as in a search.
    kept : dict
        What a method wants to keep for other models with the same loss and kernels.
    """

    name: Hashable
    rows: Indices
    X: Any
    terms: DualTerms
    sample: Indices
    sample_weight: Array
    start: Solution | None = None
    together: Solution | None = None
    carry: Callable[[], Solution | None] | None = None
    only_scored: bool = False
    kept: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def n_pairs(self) -> int:
        """The number of functions to learn: one, or one for each pair of classes."""
        return len(self.terms.starts) - 1

    def by_pair(self, v: Array) -> Array:
        """Return a dual vector as a row for each function and a column for each sample."""
        coefficients = np.zeros((self.n_pairs, len(self.rows)))
        for pair in range(self.n_pairs):
            own = slice(*self.terms.starts[pair : pair + 2])
            coefficients[pair, self.sample[own]] = v[own]
        return coefficients

    @property
    def carried(self) -> Solution | None:
        """The solution of the same model with another C, computed when it is asked for."""
        return None if self.carry is None else self.carry()

    @property
    def starts(self) -> list[Solution]:
        """All there is to start from."""
        return [one for one in (self.start, self.carried) if one is not None]

    def start_for(self, penalty: Penalty, tol: float) -> Solution | None:
        """Return the closest start; the first one where it solves the problem already."""
        if self.start is not None and recertified(self.start, penalty, tol) is not None:
            return self.start
        return closest_start(self.starts, penalty)


@dataclass(frozen=True)
class TaskSolution:
    """What a method learns for one task.

    Attributes
    ----------
    solution : Solution
        Weights, dual vector and certificate.
    neighborhood : Neighborhood, optional
        The neighborhood-defining matrix, where the method has one.
    together : Solution, optional
        The solution of the joint problem of which this is the task's part.
    """

    solution: Solution
    neighborhood: Neighborhood | None = None
    together: Solution | None = None
