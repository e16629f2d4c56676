"""Choosing hyper-parameters: splits that respect tasks, grids that know equal models, paths."""

from kernelhood.model_selection.grids import paper_grid
from kernelhood.model_selection.scoring import task_scorer
from kernelhood.model_selection.search import KernelSearchCV
from kernelhood.model_selection.splitters import TaskShuffleSplit, TaskStratifiedKFold

__all__ = ["KernelSearchCV", "TaskShuffleSplit", "TaskStratifiedKFold", "paper_grid", "task_scorer"]
