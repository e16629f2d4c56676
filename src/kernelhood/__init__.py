"""Multi-task learning with kernels that are themselves learned.

>>> import kernelhood as kh
>>> len(kh.default_bank())
10
"""

from importlib.metadata import version

from kernelhood import alignment, bounds, datasets
from kernelhood.automatic import MTONMKLClassifierCV, MTONMKLRegressorCV
from kernelhood.estimators import (
    AVMTMKLClassifier,
    AVMTMKLRegressor,
    ITLClassifier,
    ITLRegressor,
    KTAClassifier,
    KTARegressor,
    MTMKLClassifier,
    MTMKLRegressor,
    MTONMKLClassifier,
    MTONMKLRegressor,
    ONJKLClassifier,
    ONJKLRegressor,
    PooledClassifier,
    PooledRegressor,
    RPKLClassifier,
    RPKLRegressor,
)
from kernelhood.kernels import (
    AutoBank,
    Constant,
    Custom,
    Directions,
    Equality,
    Gaussian,
    Interaction,
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
    task_scorer,
)
from kernelhood.persistence import load, save
from kernelhood.relations import TaskGraph, TaskGroups, TaskInputs, TaskSimilarity

__version__ = version("kernelhood")

__all__ = [
    "AVMTMKLClassifier",
    "AVMTMKLRegressor",
    "AutoBank",
    "Constant",
    "Custom",
    "Directions",
    "Equality",
    "Gaussian",
    "ITLClassifier",
    "ITLRegressor",
    "Interaction",
    "KTAClassifier",
    "KTARegressor",
    "Kernel",
    "KernelBank",
    "KernelSearchCV",
    "Linear",
    "MTMKLClassifier",
    "MTMKLRegressor",
    "MTONMKLClassifier",
    "MTONMKLClassifierCV",
    "MTONMKLRegressor",
    "MTONMKLRegressorCV",
    "Normalized",
    "ONJKLClassifier",
    "ONJKLRegressor",
    "Pairwise",
    "Polynomial",
    "PooledClassifier",
    "PooledRegressor",
    "Precomputed",
    "RPKLClassifier",
    "RPKLRegressor",
    "TaskGraph",
    "TaskGroups",
    "TaskInputs",
    "TaskShuffleSplit",
    "TaskSimilarity",
    "TaskStratifiedKFold",
    "alignment",
    "bounds",
    "datasets",
    "default_bank",
    "load",
    "paper_grid",
    "save",
    "task_scorer",
]
