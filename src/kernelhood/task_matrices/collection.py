"""All matrices of a relation between tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._typing import Array, Indices
from kernelhood.task_matrices.forms import Diagonal, Grouped, Ones, TaskMatrix, Written


@dataclass(frozen=True)
class TaskMatrices:
    """The matrices of a relation.

    Attributes
    ----------
    parts : tuple of TaskMatrix
        The matrices.
    n_tasks : int
        The number of tasks.

    Examples
    --------
    >>> both = TaskMatrices((Ones(2), Diagonal(np.ones(2))), 2)
    >>> both.written()[1]
    array([[1., 0.],
           [0., 1.]])
    """

    parts: tuple[TaskMatrix, ...]
    n_tasks: int

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[TaskMatrix]:
        return iter(self.parts)

    def __getitem__(self, number: int) -> TaskMatrix:
        return self.parts[number]

    @property
    def diagonals(self) -> Array:
        """The diagonals, of shape (n_matrices, n_tasks)."""
        return np.array([B.diagonal for B in self.parts]).reshape(len(self), self.n_tasks)

    @property
    def key(self) -> bytes:
        """What is equal for equal matrices."""
        return b"".join(B.key for B in self.parts)

    @property
    def reach(self) -> Array:
        """How many tasks a task is joined to, itself among them, on average; (n_matrices,)."""
        ones = np.ones((self.n_tasks, 1))
        return np.array([float(np.abs(B.times(ones)).mean()) for B in self.parts])

    def at(self, tasks: Indices) -> TaskMatrices:
        """Return the matrices between some of the tasks."""
        return TaskMatrices(tuple(B.at(tasks) for B in self.parts), len(tasks))

    def written(self) -> Array:
        """Return all entries, of shape (n_matrices, n_tasks, n_tasks)."""
        shape = len(self), self.n_tasks, self.n_tasks
        return np.array([B.written() for B in self.parts]).reshape(shape)

    def rows(self, task: int) -> Array:
        """Return how one task is joined to all, of shape (n_matrices, n_tasks)."""
        one = np.zeros((self.n_tasks, 1))
        one[task] = 1.0
        return np.array([B.times(one)[:, 0] for B in self.parts]).reshape(len(self), self.n_tasks)


def as_task_matrices(given: Any) -> TaskMatrices:
    """Return matrices by their structure, where it can be seen.

    Parameters
    ----------
    given : TaskMatrices, or array-like of shape (n_matrices, n_tasks, n_tasks)
        The matrices.

    Examples
    --------
    >>> as_task_matrices(np.ones((1, 3, 3))).parts
    (Ones(n_tasks=3),)
    """
    if isinstance(given, TaskMatrices):
        return given
    matrices = np.asarray(given, dtype=np.float64)
    return TaskMatrices(tuple(map(as_task_matrix, matrices)), matrices.shape[1])


def grouped(F: Any) -> TaskMatrix:
    """Return ``F F'``; ones where all tasks are in one group, a diagonal where none share any."""
    if np.all(np.diff(F.indptr) == 1):
        n_seen = len(np.unique(F.indices))
        if n_seen == 1 and np.all(F.data == 1.0):
            return Ones(F.shape[0])
        if n_seen == F.shape[0]:
            return Diagonal(F.data**2)
    return Grouped(F)


def as_task_matrix(B: Array) -> TaskMatrix:
    """Return a matrix that is written out by its structure."""
    if np.all(B == 1.0):
        return Ones(len(B))
    if np.array_equal(B, np.eye(len(B))):
        return Diagonal(np.ones(len(B)))
    return Written(B)


def entrywise(B: TaskMatrix, other: TaskMatrix) -> TaskMatrix:
    """Return the matrix of the products of the entries of two matrices."""
    if B.is_ones or other.is_ones:
        return other if B.is_ones else B
    if isinstance(B, Diagonal) or isinstance(other, Diagonal):
        return Diagonal(B.diagonal * other.diagonal)
    if isinstance(B, Grouped) and isinstance(other, Grouped):
        return Grouped(_pairs_of_groups(B.F, other.F))
    return Written(B.written() * other.written())


def _pairs_of_groups(F: Any, H: Any) -> Any:
    """Return how far tasks belong to pairs of groups, those that occur."""
    row = np.repeat(np.arange(F.shape[0]), np.diff(F.indptr))
    often = np.diff(H.indptr)[row]
    first = np.repeat(np.arange(F.nnz), often)
    place = np.arange(len(first)) - np.repeat(np.cumsum(often) - often, often)
    second = H.indptr[row[first]] + place
    pair = F.indices[first].astype(np.int64) * H.shape[1] + H.indices[second]
    number = np.unique(pair, return_inverse=True)[1].ravel()
    entries = F.data[first] * H.data[second], (row[first], number)
    return sparse.csr_matrix(entries, shape=(F.shape[0], int(number.max(initial=-1)) + 1))
