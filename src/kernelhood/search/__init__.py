"""Choosing hyper-parameters: splits that respect tasks, grids that know equal models, paths."""

from kernelhood.search.grid import paper_grid
from kernelhood.search.scoring import task_scorer
from kernelhood.search.search import KernelSearchCV
from kernelhood.search.splits import (
    LeaveTasksOut,
    TaskShuffleSplit,
    TaskStratifiedKFold,
    TaskTimeSplit,
)

__all__ = [
    "KernelSearchCV",
    "LeaveTasksOut",
    "TaskShuffleSplit",
    "TaskStratifiedKFold",
    "TaskTimeSplit",
    "paper_grid",
    "task_scorer",
]
