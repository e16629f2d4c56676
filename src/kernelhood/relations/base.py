"""What a relation between tasks has to say: its matrices, and what their weights cost.

    k((x, s), (z, t)) = sum_r sum_m theta_rm B_r[s, t] k_m(x, z)

A relation is a list of positive semi-definite matrices B_r between tasks. Every matrix has one
weight for each base kernel. Matrices that join a task to itself only, one for each task, are so
common that they are not written out: `separate` stands for all of them.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.relations.matrices import (
    Diagonal,
    Ones,
    TaskMatrices,
    TaskMatrix,
    as_task_matrices,
    as_task_matrix,
)


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
    """How tasks relate; one file for each.

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
        """Return the same matrices by their form, which takes less if there are many tasks.

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
            As many as `matrices` gives; there is one cost more if tasks have weights of their
            own.
        """
        return np.ones(n_matrices + self.separate)

    def labels(self, n_matrices: int) -> list[str]:
        """Return a name for each matrix, for people to read; last, one for the separate weights."""
        return [f"matrix {r + 1}" for r in range(n_matrices)] + ["own"] * self.separate

    def unseen(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> Array | None:
        """Return how a task never seen is joined to these, or None if nothing is known of it.

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


@dataclass(frozen=True)
class Independent(TaskRelation):
    """Every task has weights of its own and nothing else: the problem splits into one for each.

    Examples
    --------
    >>> from kernelhood.relations import Independent
    >>> Independent().matrices(["a", "b"]).shape
    (0, 2, 2)
    """

    couples = False
    separate = True

    @property
    def key(self) -> Hashable:
        """There is only one."""
        return "independent"

    def matrices(self, tasks: Sequence[Hashable]) -> Array:
        """Return no matrix."""
        return np.empty((0, len(tasks), len(tasks)))


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

    def __post_init__(self) -> None:
        if not self.specific_cost >= 1.0:
            raise ValueError(f"specific_cost must be at least 1, got {self.specific_cost!r}.")

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
        """Return the cost of shared and, if there are any, of specific weights."""
        return np.array([1.0, self.specific_cost][: n_matrices + self.separate])

    def labels(self, n_matrices: int) -> list[str]:
        """Return what the weights are called."""
        return ["common", "own"][: n_matrices + self.separate]

    def with_specific_cost(self, specific_cost: float) -> SharedFunctions:
        """Return the same relation at another cost of specific weights."""
        return SharedFunctions(specific_cost)

    def unseen(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> Array:
        """Join any task by the function that all have in common."""
        return np.ones((1, len(tasks)))


# Effects, as a mixed model has them: one common to all tasks, some in between, one of each task.
#
# The matrices are 11', those in between, and I. The weights are as many as the matrices, whatever
# the number of tasks: deviations of all tasks have one variance.


class Effects(TaskRelation):
    """A common function, functions in between, and a deviation of each task.

    A relation that derives from it gives `between`, its matrices in between, and `joined`, how a
    task never seen is joined to the others by them. It can then be combined with others.

    Parameters
    ----------
    cost : float or sequence of float
        How many times more a weight in between costs than a common one; one for all of them or
        one for each.
    specific_cost : float
        How many times more what a task has for itself costs, at least 1; infinity leaves it out.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.relations import Effects
    >>> class FirstLetter(Effects):
    ...     between_labels = ("first letter",)
    ...
    ...     def between(self, tasks):
    ...         letters = np.array([name[0] for name in tasks])
    ...         return [(letters[:, None] == letters).astype(float)]
    >>> FirstLetter().labels(3)
    ['common', 'first letter', 'own']
    >>> FirstLetter().matrices(["ab", "ac", "b"])[1, 0].tolist()
    [1.0, 1.0, 0.0]
    """

    common = True
    #: Names of the matrices in between, for people to read.
    between_labels: tuple[str, ...] = ()
    #: What the deviations of single tasks cost; infinity leaves them out.
    own_cost: float = 1.0

    def __init__(self, *, cost: Any = 1.0, specific_cost: float = 1.0) -> None:
        if not specific_cost >= 1.0:
            raise ValueError(f"specific_cost must be at least 1, got {specific_cost!r}.")
        self.cost, self.own_cost = cost, float(specific_cost)
        given = np.atleast_1d(np.asarray(cost, dtype=np.float64))
        if given.ndim != 1 or not np.all(np.isfinite(given) & (given > 0.0)):
            raise ValueError(f"cost must be finite and positive, got {cost!r}.")
        n = len(self.between_labels)
        if len(given) not in (1, n):
            raise ValueError(f"cost must be one number or {n}, one for each matrix, got {cost!r}.")
        self.between_costs = tuple(np.broadcast_to(given, (n,)).tolist()) if n else ()

    @property
    def specific_cost(self) -> float:
        """How many times more what a task has for itself costs."""
        return self.own_cost

    @property
    def content(self) -> Hashable:
        """What is equal for equal matrices in between."""
        return ()

    def between(self, tasks: Sequence[Hashable]) -> list[Array]:
        """Return the matrices in between.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return []

    def between_forms(self, tasks: Sequence[Hashable]) -> list[TaskMatrix]:
        """Return the matrices in between by their form.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return [as_task_matrix(np.asarray(B, dtype=np.float64)) for B in self.between(tasks)]

    def joined(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> list[Array]:
        """Return the rows of a task never seen in the matrices in between; zeros if not known.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task.
        """
        return [np.zeros(len(tasks)) for _ in self.between_labels]

    @property
    def key(self) -> Hashable:
        """The matrices, without their costs."""
        return type(self).__name__, self.content, self.has_own

    @property
    def _identity(self) -> Hashable:
        return self.key, self.between_costs, self.own_cost

    @property
    def has_own(self) -> bool:
        """Whether a matrix stands for the deviations of single tasks."""
        return bool(np.isfinite(self.own_cost))

    def matrices(self, tasks: Sequence[Hashable]) -> Array:
        """Return 11', the matrices in between, and I.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return self.structure(tasks).written()

    def structure(self, tasks: Sequence[Hashable]) -> TaskMatrices:
        """Return 11', the matrices in between, and I by their form.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        n = len(tasks)
        own = [Diagonal(np.ones(n))] if self.has_own else []
        return TaskMatrices((Ones(n), *self.between_forms(tasks), *own), n)

    def costs(self, n_matrices: int) -> Array:
        """Return the costs: 1 for what is common.

        Parameters
        ----------
        n_matrices : int
            As many as `matrices` gives.
        """
        own = [self.own_cost] if self.has_own else []
        return np.array([1.0, *self.between_costs, *own])

    def labels(self, n_matrices: int) -> list[str]:
        """Return a name for each matrix.

        Parameters
        ----------
        n_matrices : int
            As many as `matrices` gives.
        """
        return ["common", *self.between_labels, *(["own"] if self.has_own else [])]

    def with_specific_cost(self, specific_cost: float) -> Self:
        """Return the same relation at another cost of what tasks have for themselves.

        Parameters
        ----------
        specific_cost : float
            At least 1; infinity leaves it out.
        """
        changed = copy.copy(self)
        changed.own_cost = float(specific_cost)
        if np.isinf(changed.own_cost) and changed.separate:
            changed.separate = False
        return changed

    def unseen(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> Array:
        """Join any task by what is common, and by what is known of it.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task.
        """
        n = len(tasks)
        own = [np.zeros(n)] if self.has_own else []
        return np.stack([np.ones(n), *self.joined(tasks, newcomer), *own])


class Mixed(Effects):
    """One common function, and deviations of all tasks that have one variance.

    Parameters
    ----------
    specific_cost : float
        How many times more the deviations cost than the common function, at least 1; infinity
        leaves them out. A kernel is common as soon as more than a share ``1 / specific_cost`` of
        the tasks, by samples, wants it.

    Examples
    --------
    >>> Mixed().matrices(["a", "b"])
    array([[[1., 1.],
            [1., 1.]],
    <BLANKLINE>
           [[1., 0.],
            [0., 1.]]])
    """

    def __init__(self, *, specific_cost: float = 1.0) -> None:
        super().__init__(specific_cost=specific_cost)

    def __repr__(self) -> str:
        return "Mixed()" if self.own_cost == 1.0 else f"Mixed(specific_cost={self.own_cost:g})"


def unit_diagonal(B: Array) -> Array:
    """Return a positive semi-definite matrix scaled to a diagonal of ones; zero rows stay."""
    size = np.sqrt(np.maximum(np.diagonal(B), 0.0))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    scaled = B * np.outer(inverse, inverse)
    scaled[np.diag_indices(len(B))] = (size > 0.0).astype(np.float64)
    return np.asarray(0.5 * (scaled + scaled.T))


class Combination(Effects):
    """What is common to all tasks once, all matrices in between, and what tasks have on their own.

    Parameters
    ----------
    relations : sequence of TaskRelation
        Relations with effects, and shared functions, which give every task weights of its own.

    Examples
    --------
    >>> from kernelhood.relations import Mixed, TaskGroups
    >>> both = Combination([TaskGroups({"a": 1, "b": 1}), Mixed()])
    >>> both.labels(3)
    ['common', 'groups', 'own']
    """

    def __init__(self, relations: Sequence[TaskRelation]) -> None:
        if not relations:
            raise ValueError("relation must hold at least one relation, got an empty list.")
        for one in relations:
            if not isinstance(one, Effects | SharedFunctions):
                raise ValueError(
                    f"relation holds {one!r}, which cannot be combined with others: use those with "
                    "a common function, or derive yours from kernelhood.relations.Effects."
                )
        self.relations = tuple(relations)
        self._between = [one for one in relations if isinstance(one, Effects)]
        labels = [label for one in self._between for label in one.between_labels]
        self.between_labels = tuple(labels)
        costs = [cost for one in self._between for cost in one.between_costs]
        super().__init__(cost=costs or 1.0)
        # What tasks have for themselves is one part of all relations: it costs the least of them.
        shared = [one for one in relations if isinstance(one, SharedFunctions)]
        self.separate = any(one.separate for one in shared)
        costs = [one.own_cost for one in self._between]
        self.own_cost = min(costs + [one.specific_cost for one in shared])
        self.uses_inputs = any(one.uses_inputs for one in relations)

    def __repr__(self) -> str:
        return repr(list(self.relations))

    @property
    def content(self) -> Hashable:
        """The relations."""
        return tuple(one.content for one in self._between), self.separate

    @property
    def has_own(self) -> bool:
        """Whether a matrix, and not weights of every task, stands for them."""
        return not self.separate and super().has_own

    def seen(self, tasks: Sequence[Hashable], inputs: Sequence[Any]) -> Combination:
        """Return the combination with what its relations have to know of the inputs.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        inputs : sequence of (ndarray or CSR matrix)
            The points of each.
        """
        if not self.uses_inputs:
            return self
        known = copy.copy(self)
        known.relations = tuple(one.seen(tasks, inputs) for one in self.relations)
        known._between = [one for one in known.relations if isinstance(one, Effects)]
        return known

    def between(self, tasks: Sequence[Hashable]) -> list[Array]:
        """Return the matrices in between of all relations.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return [B for one in self._between for B in one.between(tasks)]

    def between_forms(self, tasks: Sequence[Hashable]) -> list[TaskMatrix]:
        """Return the matrices in between of all relations by their form.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return [B for one in self._between for B in one.between_forms(tasks)]

    def costs(self, n_matrices: int) -> Array:
        """Return the costs: 1 for what is common, last the separate weights.

        Parameters
        ----------
        n_matrices : int
            As many as `matrices` gives.
        """
        own = [self.own_cost] if self.separate else []
        return np.concatenate([super().costs(n_matrices), own])

    def labels(self, n_matrices: int) -> list[str]:
        """Return a name for each matrix; last, one for the separate weights.

        Parameters
        ----------
        n_matrices : int
            As many as `matrices` gives.
        """
        return super().labels(n_matrices) + ["own"] * self.separate

    def joined(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> list[Array]:
        """Return the rows of a task never seen in the matrices in between.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task; `features` for the one relation that takes any, or a mapping of the names of
            matrices, such as "groups", to what each of them takes.
        """
        rows = []
        for one in self._between:
            rows += one.joined(tasks, self._own(one, newcomer))
        return rows

    def _own(self, relation: Effects, newcomer: Newcomer) -> Newcomer:
        """Return the newcomer with what is said of it to one of the relations."""
        if newcomer.features is None:
            return newcomer
        taking = [one for one in self._between if one.between_labels and not one.uses_inputs]
        words = {one.between_labels[0].split()[0]: one for one in taking}
        given = newcomer.features
        if not isinstance(given, Mapping):
            if len(taking) != 1:
                raise ValueError(
                    f"task_features must say for task {newcomer.name!r} which relation is meant: "
                    f"give a mapping with the keys {', '.join(map(repr, words))}, got {given!r}."
                )
            return newcomer if relation is taking[0] else replace(newcomer, features=None)
        wrong = [word for word in given if word not in words]
        if wrong:
            raise ValueError(
                f"task_features holds {', '.join(map(repr, wrong))} for task {newcomer.name!r}: "
                f"the relations that take any are {', '.join(map(repr, words))}."
            )
        own = [given[word] for word, one in words.items() if one is relation and word in given]
        return replace(newcomer, features=own[0] if own else None)

    def knows(self, newcomer: Newcomer) -> bool:
        """Return whether any of the relations knows the task.

        Parameters
        ----------
        newcomer : Newcomer
            The task.
        """
        return any(one.knows(self._own(one, newcomer)) for one in self._between)
