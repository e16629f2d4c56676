"""Operators: kernels on the samples of an SVM, held, evaluated when needed or of low rank."""

from kernelhood.operators.base import Cells, KernelOperator, cells_of, one_cell
from kernelhood.operators.choice import Dense, Landmarks
from kernelhood.operators.dense import DenseKernels, one_task
from kernelhood.operators.low_rank import HeldFeatures, LowRankKernels
from kernelhood.operators.on_demand import OnDemandKernels

__all__ = [
    "Cells",
    "Dense",
    "DenseKernels",
    "HeldFeatures",
    "KernelOperator",
    "Landmarks",
    "LowRankKernels",
    "OnDemandKernels",
    "cells_of",
    "one_cell",
    "one_task",
]
