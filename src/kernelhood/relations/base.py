"""What a relation between tasks has to say: its matrices, and what their weights cost.

    k((x, s), (z, t)) = sum_r sum_m theta_rm B_r[s, t] k_m(x, z)

A relation is a list of positive semi-definite matrices B_r between tasks. Every matrix has one
weight for each base kernel. Matrices that join a task to itself only, one for each task, are so
common that they are not written out: `separate` stands for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.task_matrices import TaskMatrices, as_task_matrices


@dataclass(frozen=True)
class Newcomer:
    """A task that was not seen in the fit, and what is known of it.

    Attributes
    ----------
    name : hashable
        Its name.
    features : any
        What the user says of it: its group, its descriptor, its neighbours.
    points : ndarray or CSR matrix, optional
        Its inputs.

    Examples
    --------
    >>> from kernelhood import TaskGroups
    >>> from kernelhood.relations import Newcomer
    >>> groups = TaskGroups({"a": "north", "b": "south"})
    >>> groups.unseen(["a", "b"], Newcomer("c", features="south")).tolist()
    [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    """

    name: Hashable
    features: Any = None
    points: Any = None


class TaskRelation(ABC):
    """How tasks relate; one file a relation.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.relations import TaskRelation
    >>> class Chain(TaskRelation):
    ...     key = "chain"
    ...
    ...     def matrices(self, tasks):
    ...         place = np.arange(len(tasks))
    ...         return np.exp2(-np.abs(place[:, None] - place))[None]
    >>> Chain().matrices(["a", "b", "c"])[0, 0].tolist()
    [1.0, 0.5, 0.25]
    """

    #: Whether tasks have to be solved together.
    couples: bool = True
    #: Whether every task has weights of its own beside those of the matrices.
    separate: bool = False
    #: Whether the first matrix is that of ones: a function that all tasks have in common.
    common: bool = False
    #: Whether the matrices depend on the inputs of the tasks.
    uses_inputs: bool = False

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What is equal for relations with the same matrices, whatever they cost."""

    @abstractmethod
    def matrices(self, tasks: Sequence[Hashable]) -> Array:
        """Return B of shape (n_matrices, n_tasks, n_tasks).

        Parameters
        ----------
        tasks : sequence
            Names of the tasks, in the order of the rows and columns.
        """

    def structure(self, tasks: Sequence[Hashable]) -> TaskMatrices:
        """Return the same matrices by their form, which takes less where there are many tasks.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return as_task_matrices(self.matrices(tasks))

    def seen(self, tasks: Sequence[Hashable], inputs: Sequence[Any]) -> TaskRelation:
        """Return the relation with what it has to know of the tasks' inputs; mostly itself.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        inputs : sequence of (ndarray or CSR matrix)
            The points of each, those without targets among them.
        """
        return self

    def costs(self, n_matrices: int) -> Array:
        """Return how many times its trace a weight of each matrix costs; last, the separate ones.

        Parameters
        ----------
        n_matrices : int
            As many as `matrices` gives; there is one cost more where tasks have weights of their
            own.
        """
        return np.ones(n_matrices + self.separate)

    def labels(self, n_matrices: int) -> list[str]:
        """Return a name for each matrix, for people to read; last, one for the separate weights."""
        return [f"matrix {r + 1}" for r in range(n_matrices)] + ["own"] * self.separate

    def own_costing(self, factor: float) -> TaskRelation:
        """Return the relation in which what tasks have for themselves costs more.

        Parameters
        ----------
        factor : float
            How many times more than now; infinity leaves it out.
        """
        if factor != 1.0:
            raise ValueError(
                f"specific_cost must be 1 with relation={self!r}, which does not say what tasks "
                f"have for themselves: got {factor:g}."
            )
        return self

    def unseen(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> Array | None:
        """Return how a task never seen is joined to these, or None where nothing is known of it.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task.

        Returns
        -------
        ndarray of shape (n_matrices, n_tasks), or None
        """
        return None

    def knows(self, newcomer: Newcomer) -> bool:
        """Return whether more is known of a task never seen than what all tasks share."""
        return False

    @property
    def _identity(self) -> Hashable:
        return type(self), self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskRelation) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __sklearn_clone__(self) -> Self:
        return self
