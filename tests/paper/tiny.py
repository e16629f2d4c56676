"""What tests, and the processes that they start, compute with."""

from kernelhood.datasets import make_multitask

METHODS = ("mt-onmkl", "mt-onmkl-corrected", "mt-onmkl-printed")


def make_tiny(kind="classification"):
    return make_multitask(n_tasks=3, n_samples=40, kind=kind, random_state=0)
