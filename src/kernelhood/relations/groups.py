"""Tasks that belong to groups: regions, kinds of ground, anything that is known beforehand."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._typing import Array
from kernelhood.relations.base import Effects, Newcomer
from kernelhood.relations.matrices import TaskMatrix, grouped

Members = frozenset[Hashable]


class TaskGroups(Effects):
    """Tasks of a group have a function in common, beside the one that all tasks have.

    Parameters
    ----------
    *groupings : mapping of task to group
        One or several groupings, nested or crossed. A task that belongs to several groups of one
        grouping has a set of them; groups are anything hashable.
    cost : float or sequence of float
        How many times more a weight of a group's function costs than one of the common function;
        one for all groupings or one for each.
    specific_cost : float
        How many times more what a task has for itself costs than the common function, at least 1;
        infinity leaves it out.

    Examples
    --------
    >>> relation = TaskGroups({"Bonn": "west", "Aachen": "west", "Jena": "east"})
    >>> relation.matrices(["Aachen", "Bonn", "Jena"])[1]
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    def __init__(self, *groupings: Any, cost: Any = 1.0, specific_cost: float = 1.0) -> None:
        if len(groupings) == 1 and isinstance(groupings[0], (list, tuple)):
            groupings = tuple(groupings[0])
        self.groupings = tuple(_read_grouping(one) for one in groupings)
        if not self.groupings:
            raise ValueError("groupings must hold at least one mapping of task to group, got none.")
        several = len(self.groupings) > 1
        self.between_labels = tuple(
            f"groups {number}" if several else "groups"
            for number in range(1, len(self.groupings) + 1)
        )
        super().__init__(cost=cost, specific_cost=specific_cost)

    def __repr__(self) -> str:
        counts = [len(frozenset().union(*one.values())) for one in self.groupings]
        return f"TaskGroups({', '.join(f'{count} groups' for count in counts)})"

    def __getstate__(self) -> dict[str, Any]:
        # Lists, as not every form of a file knows frozen sets.
        listed = [{task: list(own) for task, own in one.items()} for one in self.groupings]
        return {**vars(self), "groupings": listed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.groupings = tuple(_read_grouping(one) for one in state["groupings"])

    @property
    def content(self) -> Hashable:
        """The groupings."""
        return tuple(frozenset(one.items()) for one in self.groupings)

    def between(self, tasks: Sequence[Hashable]) -> list[Array]:
        """Return for each grouping how far two tasks belong to the same groups.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return [B.written() for B in self.between_forms(tasks)]

    def between_forms(self, tasks: Sequence[Hashable]) -> list[TaskMatrix]:
        """Return for each grouping the groups of the tasks.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        found: list[TaskMatrix] = []
        for grouping in self.groupings:
            unknown = [task for task in tasks if task not in grouping]
            if unknown:
                raise ValueError(
                    f"relation=TaskGroups must name a group for every task: there is none for "
                    f"{', '.join(map(repr, unknown[:5]))}{', ...' * (len(unknown) > 5)}."
                )
            found.append(grouped(_membership([grouping[task] for task in tasks])))
        return found

    def joined(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> list[Array]:
        """Return how far a task never seen belongs to the groups of others.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task; `features` is its group, or with several groupings a sequence of groups.
        """
        rows = []
        for number, grouping in enumerate(self.groupings):
            own = self._members(newcomer, number)
            rows.append(_shared(own, [grouping[task] for task in tasks]))
        return rows

    def _members(self, newcomer: Newcomer, number: int) -> Members:
        """Return the groups of a task never seen; none if they are not known."""
        if newcomer.features is None:
            return self.groupings[number].get(newcomer.name, frozenset())
        if len(self.groupings) == 1:
            return _members(newcomer.features)
        given = newcomer.features
        if not isinstance(given, (list, tuple)) or len(given) != len(self.groupings):
            raise ValueError(
                f"task_features must give {len(self.groupings)} groups for task "
                f"{newcomer.name!r}, one for each grouping: got {given!r}."
            )
        return _members(given[number])

    def knows(self, newcomer: Newcomer) -> bool:
        """Return whether a group of the task is one of those that were given.

        Parameters
        ----------
        newcomer : Newcomer
            The task.
        """
        return any(
            self._members(newcomer, number) & frozenset().union(*grouping.values())
            for number, grouping in enumerate(self.groupings)
        )


def _read_grouping(given: Any) -> dict[Hashable, Members]:
    given = given.to_dict() if hasattr(given, "to_dict") else given
    if not isinstance(given, Mapping) or not given:
        raise ValueError(
            "groupings must be mappings of task to group, such as {'Bonn': 'west'}: got "
            f"{type(given).__name__}{'' if given else ' without entries'}."
        )
    return {task: _members(group) for task, group in given.items()}


def _members(group: Any) -> Members:
    return frozenset(group) if isinstance(group, (set, frozenset, list)) else frozenset([group])


def _membership(members: Sequence[Members]) -> sparse.csr_matrix:
    """Return how far each task belongs to each group, so that its row has the length one."""
    numbers: dict[Hashable, int] = {}
    places = [[numbers.setdefault(group, len(numbers)) for group in own] for own in members]
    sizes = np.array([len(own) for own in places])
    shares = np.repeat(1.0 / np.sqrt(np.maximum(sizes, 1)), sizes)
    starts, columns = np.cumsum([0, *sizes]), np.concatenate([np.array(p, int) for p in places])
    return sparse.csr_matrix((shares, columns, starts), shape=(len(places), len(numbers)))


def _shared(own: Members, others: Sequence[Members]) -> Array:
    """Return the part of their groups that a task and others share, 1 if all of them."""
    common = np.array([float(len(own & one)) for one in others])
    sizes = np.array([float(max(len(own) * len(one), 1)) for one in others])
    return np.asarray(common / np.sqrt(sizes))
