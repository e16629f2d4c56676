"""Relations: how tasks are joined by kernels, one file for each."""

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
from kernelhood.relations.names import RELATIONS, as_relation
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
