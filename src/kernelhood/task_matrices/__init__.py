"""Matrices between tasks by their structure, so that those of many tasks are not written out."""

from kernelhood.task_matrices.collection import (
    TaskMatrices,
    as_task_matrices,
    as_task_matrix,
    entrywise,
    grouped,
)
from kernelhood.task_matrices.forms import Diagonal, Grouped, Ones, TaskMatrix, Written

__all__ = [
    "Diagonal",
    "Grouped",
    "Ones",
    "TaskMatrices",
    "TaskMatrix",
    "Written",
    "as_task_matrices",
    "as_task_matrix",
    "entrywise",
    "grouped",
]
