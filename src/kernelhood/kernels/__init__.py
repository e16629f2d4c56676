"""Kernels, and banks that evaluate many of them at once."""

from kernelhood.kernels.bank import KernelBank, default_bank
from kernelhood.kernels.base import (
    Custom,
    Gaussian,
    Kernel,
    Linear,
    Normalized,
    Pairwise,
    Polynomial,
    Precomputed,
    as_kernel,
)

__all__ = [
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
