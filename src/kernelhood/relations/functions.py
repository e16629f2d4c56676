"""Tasks that share a function: f_t = f_0 + g_t + b_t."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from kernelhood._typing import Array
from kernelhood.relations.base import Newcomer, TaskRelation
from kernelhood.task_matrices import Ones, TaskMatrices


@dataclass(frozen=True)
class SharedFunctions(TaskRelation):
    """One function for all tasks, and one of its own for each that pays for it.

    Parameters
    ----------
    specific_cost : float
        How many times more a specific weight costs than a shared one; infinity leaves only
        :math:`f_0`.

    Examples
    --------
    >>> from kernelhood.relations import SharedFunctions
    >>> SharedFunctions(specific_cost=4.0).costs(1).tolist()
    [1.0, 4.0]
    """

    specific_cost: float = 1.0

    common = True

    @property
    def separate(self) -> bool:  # type: ignore[override]
        """Whether there are functions :math:`g_t` beside :math:`f_0`."""
        return bool(np.isfinite(self.specific_cost))

    @property
    def key(self) -> Hashable:
        """Whether there are functions of single tasks; their cost is a matter of the penalty."""
        return "functions", self.separate

    def matrices(self, tasks: Sequence[Hashable]) -> Array:
        """Return the matrix of ones."""
        return self.structure(tasks).written()

    def structure(self, tasks: Sequence[Hashable]) -> TaskMatrices:
        """Return the matrix of ones by its form."""
        return TaskMatrices((Ones(len(tasks)),), len(tasks))

    def costs(self, n_matrices: int) -> Array:
        """Return the cost of shared and, where there are any, of specific weights."""
        return np.array([1.0, self.specific_cost][: n_matrices + self.separate])

    def labels(self, n_matrices: int) -> list[str]:
        """Return what the weights are called."""
        return ["common", "own"][: n_matrices + self.separate]

    def own_costing(self, factor: float) -> SharedFunctions:
        """Return the relation in which specific weights cost more."""
        return SharedFunctions(self.specific_cost * factor)

    def unseen(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> Array:
        """Join any task by the function that all have in common."""
        return np.ones((1, len(tasks)))
