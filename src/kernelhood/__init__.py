"""Multi-task learning with learned kernels."""

from kernelhood import datasets

__all__ = ["datasets"]
