"""Kernels, and banks that evaluate many of them at once."""

from kernelhood.kernels.auto import BANKS, AutoBank
from kernelhood.kernels.bank import KernelBank, default_bank
from kernelhood.kernels.base import Custom, Kernel
from kernelhood.kernels.constant import Constant
from kernelhood.kernels.equality import Equality
from kernelhood.kernels.inputs import FittedInputs, InputSummary
from kernelhood.kernels.standard import (
    Gaussian,
    Linear,
    Normalized,
    Pairwise,
    Polynomial,
    Precomputed,
    as_kernel,
)

__all__ = [
    "BANKS",
    "AutoBank",
    "Constant",
    "Custom",
    "Equality",
    "FittedInputs",
    "Gaussian",
    "InputSummary",
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
