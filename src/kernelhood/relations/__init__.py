"""Relations: how tasks are joined by kernels, one file a relation."""

from kernelhood.relations.base import TaskRelation
from kernelhood.relations.functions import SharedFunctions
from kernelhood.relations.independent import Independent

__all__ = ["Independent", "SharedFunctions", "TaskRelation"]
