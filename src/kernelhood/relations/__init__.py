"""Relations: how tasks are joined by kernels, one file a relation."""

from kernelhood.relations.base import Newcomer, TaskRelation
from kernelhood.relations.combination import Combination
from kernelhood.relations.effects import Effects, Mixed
from kernelhood.relations.functions import SharedFunctions
from kernelhood.relations.graph import TaskGraph
from kernelhood.relations.groups import TaskGroups
from kernelhood.relations.independent import Independent
from kernelhood.relations.inputs import TaskInputs
from kernelhood.relations.names import RELATIONS, as_relation
from kernelhood.relations.similarity import TaskSimilarity

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
