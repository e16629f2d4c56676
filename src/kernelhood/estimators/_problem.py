"""One task as a method gets it, and what the method makes of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from kernelhood._typing import Array, Indices
from kernelhood.estimators._inspection import Neighborhood
from kernelhood.losses import DualTerms
from kernelhood.solvers.mkl_loop import Solution


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
    carried : Solution, optional
        That of the same model with another C, its dual vector brought into this box.
    only_scored : bool
        Whether nothing but the predictor is wanted, as in a search.
    """

    name: Hashable
    rows: Indices
    X: Any
    terms: DualTerms
    sample_weight: Array
    start: Solution | None = None
    carried: Solution | None = None
    only_scored: bool = False

    @property
    def starts(self) -> list[Solution]:
        """All there is to start from."""
        return [one for one in (self.start, self.carried) if one is not None]


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
