"""Kernels, and banks that evaluate many of them at once."""

from kernelhood.kernels.auto import BANKS, AutoBank
from kernelhood.kernels.bank import KernelBank, default_bank
from kernelhood.kernels.base import Kernel
from kernelhood.kernels.inputs import FittedInputs, InputSummary
from kernelhood.kernels.standard import (
    Constant,
    Custom,
    Directions,
    Equality,
    Gaussian,
    Interaction,
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
