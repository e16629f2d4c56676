"""Kernels, and banks that evaluate many of them at once."""

from kernelhood.kernels.auto import BANKS, AutoBank
from kernelhood.kernels.bank import KernelBank, default_bank
from kernelhood.kernels.base import Kernel
from kernelhood.kernels.composed import Directions, Interaction
from kernelhood.kernels.discrete import Constant, Equality
from kernelhood.kernels.inputs import FittedInputs, InputSummary
from kernelhood.kernels.precomputed import Precomputed
from kernelhood.kernels.standard import (
    Custom,
    Gaussian,
    Linear,
    Normalized,
    Pairwise,
    Polynomial,
    as_kernel,
)

__all__ = [
    "BANKS",
    "AutoBank",
    "Constant",
    "Custom",
    "Directions",
    "Equality",
    "FittedInputs",
    "Gaussian",
    "InputSummary",
    "Interaction",
    "Kernel",
    "KernelBank",
    "Linear",
    "Normalized",
    "Pairwise",
    "Polynomial",
    "Precomputed",
    "as_kernel",
    "default_bank",
]
