"""Relations: how tasks are joined by kernels, and their names."""

from collections.abc import Callable
from typing import Any

from kernelhood.relations.base import (
    Combination,
    Effects,
    Independent,
    Mixed,
    Newcomer,
    SharedFunctions,
    TaskRelation,
)
from kernelhood.relations.groups import TaskGroups
from kernelhood.relations.similarity import TaskGraph, TaskInputs, TaskSimilarity

__all__ = [
    "RELATIONS",
    "Combination",
    "Effects",
    "Independent",
    "Mixed",
    "Newcomer",
    "SharedFunctions",
    "TaskGraph",
    "TaskGroups",
    "TaskInputs",
    "TaskRelation",
    "TaskSimilarity",
    "as_relation",
]

RELATIONS: dict[str, Callable[[], TaskRelation]] = {
    "independent": Independent,
    "functions": SharedFunctions,
    "mixed": Mixed,
    "inputs": TaskInputs,
}


def as_relation(given: Any) -> TaskRelation:
    """Return the relation that a name, a relation or a list of them stands for.

    Parameters
    ----------
    given : str, TaskRelation or sequence of them
        A list stands for all of its relations at once.

    Examples
    --------
    >>> as_relation("mixed")
    Mixed()
    >>> as_relation(["mixed", "inputs"])
    [Mixed(), TaskInputs()]
    """
    if isinstance(given, TaskRelation):
        return given
    if isinstance(given, str) and given in RELATIONS:
        return RELATIONS[given]()
    if isinstance(given, (list, tuple)):
        relations = [as_relation(one) for one in given]
        return relations[0] if len(relations) == 1 else Combination(relations)
    raise ValueError(
        f"relation must be one of {', '.join(map(repr, RELATIONS))}, a relation such as "
        f"TaskGroups, or a list of them: got {given!r}."
    )
