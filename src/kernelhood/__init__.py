"""Multi-task learning with kernels that are themselves learned.

>>> import kernelhood as kh
>>> len(kh.default_bank())
10
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelhood import datasets, inspection
    from kernelhood.estimators import (
        AVMTMKLClassifier,
        AVMTMKLRegressor,
        ITLClassifier,
        ITLRegressor,
        KernelhoodClassifier,
        KernelhoodRegressor,
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
    from kernelhood.operators import Dense, Landmarks
    from kernelhood.relations import TaskGraph, TaskGroups, TaskInputs, TaskSimilarity
    from kernelhood.search import (
        KernelSearchCV,
        LeaveTasksOut,
        TaskShuffleSplit,
        TaskStratifiedKFold,
        TaskTimeSplit,
        paper_grid,
        task_scorer,
    )
    from kernelhood.tables import load, save

__version__ = "0.1.0"

#: Where the public names are from. They are imported when they are first used.
_HOMES = {
    "estimators": (
        "AVMTMKLClassifier",
        "AVMTMKLRegressor",
        "ITLClassifier",
        "ITLRegressor",
        "KernelhoodClassifier",
        "KernelhoodRegressor",
        "KTAClassifier",
        "KTARegressor",
        "MTMKLClassifier",
        "MTMKLRegressor",
        "MTONMKLClassifier",
        "MTONMKLRegressor",
        "ONJKLClassifier",
        "ONJKLRegressor",
        "PooledClassifier",
        "PooledRegressor",
        "RPKLClassifier",
        "RPKLRegressor",
    ),
    "kernels": (
        "AutoBank",
        "Constant",
        "Custom",
        "Directions",
        "Equality",
        "Gaussian",
        "Interaction",
        "Kernel",
        "KernelBank",
        "Linear",
        "Normalized",
        "Pairwise",
        "Polynomial",
        "Precomputed",
        "default_bank",
    ),
    "operators": ("Dense", "Landmarks"),
    "search": (
        "KernelSearchCV",
        "LeaveTasksOut",
        "TaskShuffleSplit",
        "TaskStratifiedKFold",
        "TaskTimeSplit",
        "paper_grid",
        "task_scorer",
    ),
    "relations": ("TaskGraph", "TaskGroups", "TaskInputs", "TaskSimilarity"),
    "tables": ("load", "save"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
#: What has taken the place of names that are gone.
_REPLACED = {
    "alignment": "kernelhood.inspection",
    "bounds": "kernelhood.inspection",
    "experiments": "kernelhood.paper",
    "model_selection": "kernelhood.search",
    "plotting": "kernelhood.inspection",
    "MTONMKLClassifierCV": "KernelhoodClassifier, or KernelSearchCV(MTONMKLClassifier(), grid)",
    "MTONMKLRegressorCV": "KernelhoodRegressor, or KernelSearchCV(MTONMKLRegressor(), grid)",
}

__all__ = [
    "AVMTMKLClassifier",
    "AVMTMKLRegressor",
    "AutoBank",
    "Constant",
    "Custom",
    "Dense",
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
    "KernelhoodClassifier",
    "KernelhoodRegressor",
    "Landmarks",
    "LeaveTasksOut",
    "Linear",
    "MTMKLClassifier",
    "MTMKLRegressor",
    "MTONMKLClassifier",
    "MTONMKLRegressor",
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
    "TaskTimeSplit",
    "datasets",
    "default_bank",
    "inspection",
    "load",
    "paper_grid",
    "save",
    "task_scorer",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: a public name or a submodule."""
    value: Any
    if name in _REPLACED:
        raise AttributeError(f"kernelhood.{name} is gone: use {_REPLACED[name]}.")
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    else:
        value = _submodule(name)
    globals()[name] = value
    return value


def _submodule(name: str) -> Any:
    full = f"{__name__}.{name}"
    try:
        if not name.startswith("_"):
            return import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
