"""What a relation between tasks has to say: its matrices, and what their weights cost.

    k((x, s), (z, t)) = sum_r sum_m theta_rm B_r[s, t] k_m(x, z)

A relation is a list of positive semi-definite matrices B_r between tasks. Every matrix has one
weight for each base kernel. Matrices that join a task to itself only, one for each task, are so
common that they are not written out: `separate` stands for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence

import numpy as np

from kernelhood._typing import Array


class TaskRelation(ABC):
    """How tasks relate; one file a relation."""

    #: Whether tasks have to be solved together.
    couples: bool = True
    #: Whether every task has weights of its own beside those of the matrices.
    separate: bool = False

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What is equal for equal relations."""

    @abstractmethod
    def matrices(self, tasks: Sequence[Hashable]) -> Array:
        """Return B of shape (n_matrices, n_tasks, n_tasks).

        Parameters
        ----------
        tasks : sequence
            Names of the tasks, in the order of the rows and columns.
        """

    def costs(self, n_matrices: int) -> Array:
        """Return how many times its trace a weight of each matrix costs; last, the separate ones.

        Parameters
        ----------
        n_matrices : int
            As many as `matrices` gives; there is one cost more where tasks have weights of their
            own.
        """
        return np.ones(n_matrices + self.separate)

    def unseen(self, tasks: Sequence[Hashable]) -> Array | None:
        """Return how a task never seen is joined to these, or None where nothing is known of it.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.

        Returns
        -------
        ndarray of shape (n_matrices, n_tasks), or None
        """
        return None
