"""One task as a method gets it, and what the method makes of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from kernelhood._typing import Array, Indices
from kernelhood.estimators._inspection import Neighborhood
from kernelhood.losses import DualTerms
from kernelhood.solvers.mkl import recertified
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.penalty import Penalty
from kernelhood.solvers.warm_start import closest_start


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
    sample_weight : ndarray of shape (n_samples,)
        How often each sample counts.
    start : Solution, optional
        The solution of a model that differs in `_path_parameters` only.
    carry : callable, optional
        Returns that of the same model with another C, brought into this box, or None.
    only_scored : bool
        Whether nothing but the predictor is wanted, as in a search.
    """

    name: Hashable
    rows: Indices
    X: Any
    terms: DualTerms
    sample_weight: Array
    start: Solution | None = None
    carry: Callable[[], Solution | None] | None = None
    only_scored: bool = False

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
    """

    solution: Solution
    neighborhood: Neighborhood | None = None
