"""Tasks made by chance from known kernels, so that what a method finds can be checked."""

from kernelhood.datasets.synthetic._functions import BANK
from kernelhood.datasets.synthetic._tasks import make_multitask

__all__ = ["BANK", "make_multitask"]
