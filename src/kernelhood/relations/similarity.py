"""Tasks whose similarity is known: by a matrix, or by a kernel between descriptors."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from kernelhood._typing import Array
from kernelhood.kernels import Gaussian, Kernel, as_kernel
from kernelhood.relations.base import Effects, Newcomer, unit_diagonal

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
    specific_cost : float
        How many times more what a task has for itself costs than the common function, at least 1;
        infinity leaves it out.

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
        specific_cost: float = 1.0,
    ) -> None:
        super().__init__(cost=cost, specific_cost=specific_cost)
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


_ZERO = 1e-10


class TaskGraph(Effects):
    """Neighbours have functions that are alike, beside the one that all tasks have.

    The matrix is the pseudo-inverse of the graph's Laplacian, scaled to a diagonal of ones. The
    graph may hold tasks that have no samples: they pass on what their neighbours have in common.

    Parameters
    ----------
    edges : iterable of pairs, or of triples with a positive weight
        Tasks that are neighbours.
    cost : float
        How many times more a weight of the graph costs than one of the common function.
    specific_cost : float
        How many times more what a task has for itself costs than the common function, at least 1;
        infinity leaves it out.

    Examples
    --------
    >>> road = TaskGraph([("a", "b"), ("b", "c"), ("c", "d")])
    >>> near = road.matrices(["a", "b", "c", "d"])[1]
    >>> bool(near[0, 1] > near[0, 2] > near[0, 3])
    True
    """

    between_labels = ("graph",)

    def __init__(
        self, edges: Iterable[Any], *, cost: float = 1.0, specific_cost: float = 1.0
    ) -> None:
        super().__init__(cost=cost, specific_cost=specific_cost)
        self.edges = tuple(_read_edge(edge) for edge in edges)
        if not self.edges:
            raise ValueError("edges must hold at least one pair of tasks, got none.")

    def __repr__(self) -> str:
        return f"TaskGraph({len(self.edges)} edges)"

    @property
    def content(self) -> Hashable:
        """The edges."""
        return frozenset(self.edges)

    @property
    def _nodes(self) -> dict[Hashable, int]:
        names = dict.fromkeys(node for edge in self.edges for node in edge[:2])
        return {name: place for place, name in enumerate(names)}

    def _whole(self, nodes: dict[Hashable, int]) -> Array:
        """Return the scaled pseudo-inverse of the Laplacian; a lone node is like itself only."""
        L = np.zeros((len(nodes), len(nodes)))
        for first, second, weight in self.edges:
            i, j = nodes[first], nodes[second]
            L[i, i] += weight
            L[j, j] += weight
            L[i, j] -= weight
            L[j, i] -= weight
        values, vectors = np.linalg.eigh(L)
        kept = values > _ZERO * values[-1]
        B = unit_diagonal((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
        alone = np.flatnonzero(np.diagonal(L) == 0.0)
        B[alone, alone] = 1.0
        return B

    def between(self, tasks: Sequence[Hashable]) -> list[Array]:
        """Return how near the tasks are on the graph.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks; those that no edge names have no neighbours.
        """
        nodes, places = self._with(tasks)
        return [self._whole(nodes)[np.ix_(places, places)]]

    def _with(self, tasks: Sequence[Hashable]) -> tuple[dict[Hashable, int], list[int]]:
        """Return the nodes with those tasks that no edge names, and the places of the tasks."""
        nodes = self._nodes
        for task in tasks:
            nodes.setdefault(task, len(nodes))
        return nodes, [nodes[task] for task in tasks]

    def joined(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> list[Array]:
        """Return how near a task never seen is to others.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task; `features` are its neighbours, whose mean stands for it.
        """
        nodes, places = self._with(tasks)
        if newcomer.features is None:
            own = [newcomer.name] if newcomer.name in self._nodes else []
        else:
            own = _read_neighbours(newcomer, nodes)
        if not own:
            return [np.zeros(len(tasks))]
        B = self._whole(nodes)
        at = [nodes[node] for node in own]
        size = np.sqrt(max(float(B[np.ix_(at, at)].mean()), _ZERO))
        return [np.asarray(B[at][:, places].mean(axis=0) / size)]

    def knows(self, newcomer: Newcomer) -> bool:
        """Return whether an edge names the task, or its neighbours are given.

        Parameters
        ----------
        newcomer : Newcomer
            The task.
        """
        return newcomer.features is not None or newcomer.name in self._nodes


def _read_edge(edge: Any) -> tuple[Hashable, Hashable, float]:
    parts = tuple(edge) if isinstance(edge, (tuple, list)) else ()
    weight = parts[2] if len(parts) == 3 else 1.0
    if len(parts) not in (2, 3) or not isinstance(weight, (int, float)):
        raise ValueError(f"edges must be pairs of tasks, or triples with a weight: got {edge!r}.")
    if parts[0] == parts[1] or not (np.isfinite(weight) and weight > 0.0):
        raise ValueError(
            f"edges must join different tasks with a finite, positive weight: got {edge!r}."
        )
    return parts[0], parts[1], float(weight)


def _read_neighbours(newcomer: Newcomer, nodes: dict[Hashable, int]) -> list[Hashable]:
    given = newcomer.features
    given = list(given) if isinstance(given, (list, tuple, set, frozenset)) else [given]
    unknown = [node for node in given if node not in nodes]
    if unknown or not given:
        raise ValueError(
            f"task_features must name neighbours of task {newcomer.name!r} that the graph or the "
            f"fit knows: got {newcomer.features!r}."
        )
    return given


_ENOUGH = 1000


class TaskInputs(Effects):
    r"""Tasks with similar inputs have functions that are alike, beside the one that all tasks have.

    The similarity of two tasks is :math:`\exp(-\text{MMD}^2 / \text{median})`, with the
    maximum mean discrepancy between their inputs under a Gaussian kernel of the median distance,
    features divided by their spread; the median is that of all pairs of tasks. Inputs
    without targets make it sharper.

    Parameters
    ----------
    n_landmarks : int
        The Gaussian kernel is evaluated at this many points; it is exact up to so many.
    cost : float
        How many times more a weight of the similarity costs than one of the common function.
    specific_cost : float
        How many times more what a task has for itself costs than the common function, at least 1;
        infinity leaves it out.

    Examples
    --------
    >>> inputs = [np.zeros((3, 1)), np.ones((3, 1)), np.full((3, 1), 9.0)]
    >>> relation = TaskInputs().seen(["a", "b", "c"], inputs)
    >>> alike = relation.matrices(["a", "b", "c"])[1]
    >>> bool(alike[0, 1] > alike[0, 2])
    True
    """

    between_labels = ("inputs",)
    uses_inputs = True

    def __init__(
        self, *, n_landmarks: int = 500, cost: float = 1.0, specific_cost: float = 1.0
    ) -> None:
        super().__init__(cost=cost, specific_cost=specific_cost)
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
        """The kernel between inputs."""
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
    """Return the median distance between different points; 1 if there are none."""
    apart = distances[np.triu_indices(len(distances), 1)]
    apart = apart[apart > 0.0]
    return float(np.median(apart)) if len(apart) else 1.0
