"""Kernels, and banks that evaluate many of them at once."""

from kernelhood.kernels.bank import KernelBank, default_bank
from kernelhood.kernels.base import Kernel
from kernelhood.kernels.constant import Constant
from kernelhood.kernels.standard import (
    Custom,
    Gaussian,
    Linear,
    Normalized,
    Pairwise,
    Polynomial,
    Precomputed,
    as_kernel,
)

__all__ = [
    "Constant",
    "Custom",
    "Gaussian",
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
