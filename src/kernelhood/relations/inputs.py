"""Tasks whose inputs are distributed alike are alike; no target is needed to see it."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from kernelhood._typing import Array
from kernelhood.relations.base import Newcomer
from kernelhood.relations.effects import Effects

_ENOUGH = 1000


class TaskInputs(Effects):
    r"""Tasks with like inputs have functions that are alike, beside the one that all tasks have.

    The likeness of two tasks is :math:`\exp(-\text{MMD}^2 / \text{median})`, with the
    maximum mean discrepancy between their inputs under a Gaussian kernel of the median distance,
    features divided by their spread; the median is that of all pairs of tasks. Inputs
    without targets make it sharper.

    Parameters
    ----------
    n_landmarks : int
        At how many of the points the Gaussian kernel is looked at: exact up to so many points.
    cost : float
        How many times more a weight of the likeness costs than one of the common function.

    Examples
    --------
    >>> inputs = [np.zeros((3, 1)), np.ones((3, 1)), np.full((3, 1), 9.0)]
    >>> relation = TaskInputs().seen(["a", "b", "c"], inputs)
    >>> likeness = relation.matrices(["a", "b", "c"])[1]
    >>> bool(likeness[0, 1] > likeness[0, 2])
    True
    """

    between_labels = ("inputs",)
    uses_inputs = True

    def __init__(self, *, n_landmarks: int = 500, cost: float = 1.0) -> None:
        super().__init__(cost=cost)
        if int(n_landmarks) != n_landmarks or n_landmarks < 1:
            raise ValueError(f"n_landmarks must be a positive integer, got {n_landmarks!r}.")
        self.n_landmarks = int(n_landmarks)
        self._means: dict[Hashable, Array] | None = None
        self._scaler: Any = None
        self._features: Any = None
        self._width = 1.0

    def __repr__(self) -> str:
        return "TaskInputs()"

    @property
    def content(self) -> Hashable:
        """How the inputs are looked at."""
        return self.n_landmarks

    def seen(self, tasks: Sequence[Hashable], inputs: Sequence[Any]) -> TaskInputs:
        """Return the relation of tasks with these inputs.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        inputs : sequence of (ndarray or CSR matrix)
            The points of each.
        """
        known = copy.copy(self)
        points = sparse.vstack(inputs) if sparse.issparse(inputs[0]) else np.vstack(inputs)
        # Sparse features are scaled only: moved to their means, they would not be sparse.
        known._scaler = StandardScaler(with_mean=not sparse.issparse(points)).fit(points)
        scaled = known._scaler.transform(points)
        some = scaled[:: -(-scaled.shape[0] // _ENOUGH)]
        gamma = 0.5 / _median(euclidean_distances(some)) ** 2
        count = min(self.n_landmarks, scaled.shape[0])
        features = Nystroem(kernel="rbf", gamma=gamma, n_components=count, random_state=0)
        known._features = features.fit(scaled)
        means = [known._mean(own) for own in inputs]
        known._means = dict(zip(tasks, means, strict=True))
        known._width = _median(squareform(pdist(np.array(means), "sqeuclidean")))
        return known

    def _mean(self, points: Any) -> Array:
        """Return where the distribution of some points lies."""
        features = self._features.transform(self._scaler.transform(points))
        return np.asarray(features.mean(axis=0))

    def _known(self) -> dict[Hashable, Array]:
        if self._means is None:
            raise ValueError("TaskInputs has seen no inputs yet: call seen(tasks, inputs).")
        return self._means

    def between(self, tasks: Sequence[Hashable]) -> list[Array]:
        """Return how alike the inputs of the tasks are.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        means = np.array([self._known()[task] for task in tasks])
        return [np.exp(-squareform(pdist(means, "sqeuclidean")) / self._width)]

    def joined(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> list[Array]:
        """Return how alike the inputs of a task never seen are to those of others.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task, with its points.
        """
        if newcomer.points is None or newcomer.points.shape[0] == 0:
            return [np.zeros(len(tasks))]
        means = np.array([self._known()[task] for task in tasks])
        distances = np.sum((means - self._mean(newcomer.points)) ** 2, axis=1)
        return [np.exp(-distances / self._width)]

    def knows(self, newcomer: Newcomer) -> bool:
        """Return whether the task has inputs.

        Parameters
        ----------
        newcomer : Newcomer
            The task.
        """
        return newcomer.points is not None and newcomer.points.shape[0] > 0


def _median(distances: Array) -> float:
    """Return the median distance between different points; 1 where there are none."""
    apart = distances[np.triu_indices(len(distances), 1)]
    apart = apart[apart > 0.0]
    return float(np.median(apart)) if len(apart) else 1.0
