"""Multi-task learning with kernels that are themselves learned.

>>> import kernelhood as kh
>>> len(kh.default_bank())
10
"""

from importlib.metadata import version

from kernelhood import alignment, bounds, datasets
from kernelhood.estimators import MTONMKLClassifier, MTONMKLRegressor
from kernelhood.kernels import (
    Custom,
    Gaussian,
    Kernel,
    KernelBank,
    Linear,
    Normalized,
    Pairwise,
    Polynomial,
    Precomputed,
    default_bank,
)
from kernelhood.model_selection import (
    KernelSearchCV,
    TaskShuffleSplit,
    TaskStratifiedKFold,
    paper_grid,
)

__version__ = version("kernelhood")

__all__ = [
    "Custom",
    "Gaussian",
    "Kernel",
    "KernelBank",
    "KernelSearchCV",
    "Linear",
    "MTONMKLClassifier",
    "MTONMKLRegressor",
    "Normalized",
    "Pairwise",
    "Polynomial",
    "Precomputed",
    "TaskShuffleSplit",
    "TaskStratifiedKFold",
    "alignment",
    "bounds",
    "datasets",
    "default_bank",
    "paper_grid",
]
