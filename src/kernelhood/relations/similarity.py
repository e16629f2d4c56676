"""Tasks whose likeness is known: by a matrix, or by a kernel between descriptors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.kernels import Gaussian, Kernel, as_kernel
from kernelhood.relations.base import Newcomer
from kernelhood.relations.effects import Effects, unit_diagonal

_ROUNDING = 1e-8


class TaskSimilarity(Effects):
    """Tasks that are alike have functions that are alike, beside the one that all tasks have.

    Parameters
    ----------
    similarity : array-like, data frame, kernel, str or callable, optional
        A positive semi-definite matrix between tasks, with their names in `tasks` or in the index
        of a data frame; it may hold tasks that have no samples. Or, with `features`, a kernel
        between descriptors; by default a Gaussian of the median distance between those of all
        tasks, each feature divided by its spread.
    features : mapping of task to vector, optional
        The descriptors of the tasks, such as coordinates.
    tasks : sequence, optional
        The names of a matrix's rows and columns.
    cost : float
        How many times more a weight of the similarity costs than one of the common function.

    Examples
    --------
    >>> relation = TaskSimilarity([[1.0, 0.5], [0.5, 1.0]], tasks=["a", "b"])
    >>> relation.matrices(["b", "a"])[1]
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> places = TaskSimilarity(features={"a": [0.0, 0.0], "b": [3.0, 4.0], "c": [30.0, 40.0]})
    >>> bool(places.matrices(["a", "b", "c"])[1][0, 1] > 0.9)
    True
    """

    between_labels = ("similarity",)

    def __init__(
        self,
        similarity: Any = None,
        *,
        features: Any = None,
        tasks: Sequence[Hashable] | None = None,
        cost: float = 1.0,
    ) -> None:
        super().__init__(cost=cost)
        self._matrix: Array | None = None
        self._kernel: Kernel | None = None
        if features is None:
            self._names, self._matrix = _read_matrix(similarity, tasks)
            return
        if tasks is not None:
            raise ValueError("tasks names the rows of a matrix: leave it out with features.")
        self._names, descriptors = _read_features(features)
        self._mean, self._spread = descriptors.mean(axis=0), descriptors.std(axis=0)
        self._spread[self._spread == 0.0] = 1.0
        self._descriptors = self._scaled(descriptors, similarity is None)
        self._standardised = similarity is None
        self._kernel = _median_gaussian(self._descriptors) if similarity is None else None
        if self._kernel is None:
            self._kernel = as_kernel(similarity)

    def _scaled(self, descriptors: Array, wanted: bool) -> Array:
        return (descriptors - self._mean) / self._spread if wanted else descriptors

    def __repr__(self) -> str:
        return f"TaskSimilarity({len(self._names)} tasks)"

    @property
    def content(self) -> Hashable:
        """The names and the similarities."""
        return tuple(self._names), self._whole.tobytes()

    @property
    def _whole(self) -> Array:
        """The similarity of all tasks that are known, with a diagonal of ones."""
        if self._matrix is not None:
            return self._matrix
        assert self._kernel is not None
        return unit_diagonal(self._kernel(self._descriptors))

    def between(self, tasks: Sequence[Hashable]) -> list[Array]:
        """Return the similarity of the tasks.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        places = self._places(tasks)
        return [self._whole[np.ix_(places, places)]]

    def _places(self, tasks: Sequence[Hashable]) -> list[int]:
        unknown = [task for task in tasks if task not in self._names]
        if unknown:
            raise ValueError(
                f"relation=TaskSimilarity must know every task: there is nothing about "
                f"{', '.join(map(repr, unknown[:5]))}{', ...' * (len(unknown) > 5)}."
            )
        return [self._names[task] for task in tasks]

    def joined(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> list[Array]:
        """Return how alike a task never seen is to others.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task; `features` is its descriptor.
        """
        places = self._places(tasks)
        if newcomer.features is None:
            place = self._names.get(newcomer.name)
            return [np.zeros(len(tasks)) if place is None else self._whole[place, places]]
        if self._kernel is None:
            raise ValueError(
                "task_features needs a relation with descriptors: this TaskSimilarity was given a "
                "matrix, which holds all tasks that it can place."
            )
        descriptor = np.atleast_2d(np.asarray(newcomer.features, dtype=np.float64))
        if descriptor.shape != (1, self._descriptors.shape[1]):
            raise ValueError(
                f"task_features must give {self._descriptors.shape[1]} numbers for task "
                f"{newcomer.name!r}, as `features` did: got {newcomer.features!r}."
            )
        new = self._scaled(descriptor, self._standardised)
        row = self._kernel(new, self._descriptors[places])[0]
        size = self._kernel.diagonal(new)[0] * self._kernel.diagonal(self._descriptors[places])
        return [np.asarray(row / np.sqrt(np.where(size > 0.0, size, 1.0)))]

    def knows(self, newcomer: Newcomer) -> bool:
        """Return whether the task has a place in the matrix, or a descriptor.

        Parameters
        ----------
        newcomer : Newcomer
            The task.
        """
        return newcomer.features is not None or newcomer.name in self._names


def _read_matrix(given: Any, tasks: Any) -> tuple[dict[Hashable, int], Array]:
    if given is None:
        raise ValueError("similarity must be a matrix between tasks, or features be given.")
    if isinstance(given, Kernel) or callable(given) or isinstance(given, str):
        raise ValueError("similarity is a kernel: it needs features={task: vector}.")
    if tasks is None:
        tasks = getattr(given, "index", None)
    if tasks is None:
        raise ValueError("tasks must name the rows and columns of similarity.")
    names = {task: place for place, task in enumerate(tasks)}
    S = np.asarray(given, dtype=np.float64)
    if S.shape != (len(names), len(names)) or not np.all(np.isfinite(S)):
        raise ValueError(
            f"similarity must be a finite matrix of shape {(len(names),) * 2}, a row and a column "
            f"for each different task: got shape {S.shape}."
        )
    _check_semidefinite(S)
    return names, unit_diagonal(0.5 * (S + S.T))


def _check_semidefinite(S: Array) -> None:
    size = max(float(np.abs(S).max()), np.finfo(np.float64).tiny)
    if np.abs(S - S.T).max() > _ROUNDING * size:
        raise ValueError("similarity must be symmetric.")
    smallest = float(np.linalg.eigvalsh(0.5 * (S + S.T))[0])
    if smallest < -_ROUNDING * size * len(S):
        raise ValueError(
            f"similarity must be positive semi-definite: its smallest eigenvalue is {smallest:.3g};"
            " add that much to its diagonal, or give a kernel between descriptors."
        )


def _read_features(given: Any) -> tuple[dict[Hashable, int], Array]:
    if hasattr(given, "iterrows"):
        given = {task: row.to_numpy() for task, row in given.iterrows()}
    if not isinstance(given, Mapping) or not given:
        raise ValueError("features must be a mapping of task to vector.")
    rows = [np.atleast_1d(np.asarray(row, dtype=np.float64)) for row in given.values()]
    if len({row.shape for row in rows}) > 1 or rows[0].ndim != 1:
        raise ValueError("features must give vectors of one length for all tasks.")
    found = np.array(rows)
    if not np.all(np.isfinite(found)):
        raise ValueError("features must be finite numbers.")
    return {task: place for place, task in enumerate(given)}, found


def _median_gaussian(points: Array) -> Gaussian:
    distances = np.sqrt(np.maximum(np.sum((points[:, None] - points) ** 2, axis=2), 0.0))
    apart = distances[np.triu_indices(len(points), 1)]
    apart = apart[apart > 0.0]
    return Gaussian(float(np.median(apart)) if len(apart) else 1.0)
