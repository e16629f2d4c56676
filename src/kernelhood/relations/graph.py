"""Tasks on a map or a network: neighbours are alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.relations.base import Newcomer
from kernelhood.relations.effects import Effects, unit_diagonal

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

    Examples
    --------
    >>> road = TaskGraph([("a", "b"), ("b", "c"), ("c", "d")])
    >>> near = road.matrices(["a", "b", "c", "d"])[1]
    >>> bool(near[0, 1] > near[0, 2] > near[0, 3])
    True
    """

    between_labels = ("graph",)

    def __init__(self, edges: Iterable[Any], *, cost: float = 1.0) -> None:
        super().__init__(cost=cost)
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
