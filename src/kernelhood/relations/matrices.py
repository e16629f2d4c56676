"""The forms that matrices between tasks have.

What all tasks have in common is a matrix of ones, what each has for itself a diagonal, and groups
are a product ``F F'`` with few entries in a row of F. Only a matrix that has none of these forms
takes the square of the number of tasks.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._typing import Array, Indices

_NO_SIZE = 1e-12


class TaskMatrix(ABC):
    """A symmetric matrix between tasks."""

    #: The number of tasks.
    n_tasks: int

    @property
    @abstractmethod
    def diagonal(self) -> Array:
        """The diagonal, of shape (n_tasks,)."""

    @abstractmethod
    def written(self) -> Array:
        """Return all entries, of shape (n_tasks, n_tasks)."""

    @abstractmethod
    def times(self, W: Array, tasks: Indices | None = None) -> Array:
        """Return the product with W, of shape (n_tasks, k), in the rows of some tasks or all."""

    @abstractmethod
    def at(self, tasks: Indices) -> TaskMatrix:
        """Return the matrix between some of the tasks."""

    @abstractmethod
    def root(self) -> Array:
        """Return R of shape (n_tasks, rank) with ``R R'`` the matrix, which has no negative value.

        There is one only if what it takes is not of tasks by tasks or cannot be avoided.
        """

    @property
    @abstractmethod
    def key(self) -> bytes:
        """What is equal for equal matrices of one form."""

    @property
    def is_ones(self) -> bool:
        """Whether every entry is 1."""
        return False

    @property
    def is_identity(self) -> bool:
        """Whether it is the identity."""
        return False

    @property
    def is_diagonal(self) -> bool:
        """Whether it joins tasks to themselves only."""
        return False


@dataclass(frozen=True)
class Ones(TaskMatrix):
    """The matrix of ones: what all tasks have in common."""

    n_tasks: int
    is_ones = True

    @property
    def is_diagonal(self) -> bool:
        """Whether there is a single task."""
        return self.n_tasks == 1

    @property
    def diagonal(self) -> Array:
        """Ones."""
        return np.ones(self.n_tasks)

    def written(self) -> Array:
        """Return all entries."""
        return np.ones((self.n_tasks, self.n_tasks))

    def times(self, W: Array, tasks: Indices | None = None) -> Array:
        """Return the sum of the rows of W for every task."""
        n = self.n_tasks if tasks is None else len(tasks)
        return np.broadcast_to(W.sum(axis=0), (n, W.shape[1]))

    def at(self, tasks: Indices) -> Ones:
        """Return as many ones as needed."""
        return Ones(len(tasks))

    def root(self) -> Array:
        """Return one column of ones."""
        return np.ones((self.n_tasks, 1))

    @property
    def key(self) -> bytes:
        """The size."""
        return f"ones {self.n_tasks}".encode()


@dataclass(frozen=True)
class Diagonal(TaskMatrix):
    """A diagonal matrix: what tasks have for themselves.

    Attributes
    ----------
    values : ndarray of shape (n_tasks,)
        The diagonal.
    """

    values: Array
    is_diagonal = True

    @property
    def n_tasks(self) -> int:  # type: ignore[override]
        """The number of tasks."""
        return len(self.values)

    @property
    def diagonal(self) -> Array:
        """The diagonal."""
        return self.values

    @property
    def is_identity(self) -> bool:
        """Whether all values are 1."""
        return bool(np.all(self.values == 1.0))

    @property
    def is_ones(self) -> bool:
        """Whether it is the 1 of a single task, which has with itself what all have in common."""
        return self.n_tasks == 1 and self.is_identity

    def written(self) -> Array:
        """Return all entries."""
        return np.diag(self.values)

    def times(self, W: Array, tasks: Indices | None = None) -> Array:
        """Return the rows of W, each times its value."""
        if tasks is None:
            return np.asarray(self.values[:, None] * W)
        return np.asarray(self.values[tasks, None] * W[tasks])

    def at(self, tasks: Indices) -> Diagonal:
        """Return the values of some tasks."""
        return Diagonal(self.values[tasks])

    def root(self) -> Array:
        """Return the roots of the values, written out."""
        return np.diag(np.sqrt(self.values))

    @property
    def key(self) -> bytes:
        """The values."""
        return b"diagonal" + digest(self.values)


@dataclass(frozen=True)
class Grouped(TaskMatrix):
    """``F F'`` with few entries in every row of F: tasks that belong to groups.

    Attributes
    ----------
    F : CSR matrix of shape (n_tasks, n_groups)
        How far each task belongs to each group.
    """

    F: Any

    @property
    def n_tasks(self) -> int:  # type: ignore[override]
        """The number of tasks."""
        return int(self.F.shape[0])

    @property
    def diagonal(self) -> Array:
        """The square norms of the rows of F."""
        return np.asarray(self.F.multiply(self.F).sum(axis=1)).ravel()

    def written(self) -> Array:
        """Return all entries."""
        return np.asarray((self.F @ self.F.T).toarray())

    def times(self, W: Array, tasks: Indices | None = None) -> Array:
        """Return the product with W by way of the groups."""
        rows = self.F if tasks is None else self.F[tasks]
        return np.asarray(rows @ (self.F.T @ W))

    def at(self, tasks: Indices) -> Grouped:
        """Return the groups of some tasks."""
        return Grouped(self.F[tasks])

    def root(self) -> Array:
        """Return F, written out."""
        return np.asarray(self.F.toarray())

    @property
    def key(self) -> bytes:
        """The entries of F."""
        return b"grouped" + b"".join(map(digest, (self.F.indptr, self.F.indices, self.F.data)))


@dataclass(frozen=True)
class Written(TaskMatrix):
    """A matrix of which all entries are needed.

    Attributes
    ----------
    B : ndarray of shape (n_tasks, n_tasks)
        The entries.
    """

    B: Array

    @property
    def n_tasks(self) -> int:  # type: ignore[override]
        """The number of tasks."""
        return len(self.B)

    @property
    def diagonal(self) -> Array:
        """The diagonal."""
        return np.diagonal(self.B)

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether all other entries are zero."""
        return bool(np.count_nonzero(self.B) == np.count_nonzero(np.diagonal(self.B)))

    def written(self) -> Array:
        """Return all entries."""
        return self.B

    def times(self, W: Array, tasks: Indices | None = None) -> Array:
        """Return the product with W."""
        return np.asarray((self.B if tasks is None else self.B[tasks]) @ W)

    def at(self, tasks: Indices) -> Written:
        """Return the entries between some tasks."""
        return Written(np.ascontiguousarray(self.B[np.ix_(tasks, tasks)]))

    def root(self) -> Array:
        """Return the eigenvectors, each times the root of its value; rounding is left out."""
        values, vectors = np.linalg.eigh(self.B)
        kept = values > _NO_SIZE * max(float(values[-1]), 0.0)
        return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))

    @property
    def key(self) -> bytes:
        """The entries."""
        return b"written" + digest(self.B)


def digest(values: Any) -> bytes:
    """Return what tells arrays apart: their bytes in short."""
    return hashlib.sha256(np.ascontiguousarray(values).data).digest()


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
    """Return matrices by their structure, if it can be seen.

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
    """Return ``F F'``; ones if all tasks are in one group, a diagonal if none share any."""
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
