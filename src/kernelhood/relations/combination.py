"""Several relations at once."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.relations.base import Newcomer, TaskRelation
from kernelhood.relations.effects import Effects
from kernelhood.relations.functions import SharedFunctions
from kernelhood.task_matrices import TaskMatrix


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
    def _has_own(self) -> bool:
        return not self.separate and super()._has_own

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

    def own_costing(self, factor: float) -> Combination:
        """Return the combination in which what tasks have on their own costs more.

        Parameters
        ----------
        factor : float
            How many times more than now; infinity leaves it out.
        """
        changed = super().own_costing(factor)
        if np.isinf(changed.own_cost) and changed.separate:
            changed.separate = False
        return changed

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
