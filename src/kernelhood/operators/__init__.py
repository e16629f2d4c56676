"""Operators: kernels on the samples of an SVM, held in memory or evaluated when needed."""

from kernelhood.operators.base import KernelOperator
from kernelhood.operators.cells import Cells, cells_of, one_cell
from kernelhood.operators.dense import DenseKernels, one_task
from kernelhood.operators.on_demand import OnDemandKernels

__all__ = [
    "Cells",
    "DenseKernels",
    "KernelOperator",
    "OnDemandKernels",
    "cells_of",
    "one_cell",
    "one_task",
]
