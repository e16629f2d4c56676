"""Multi-task learning with kernels that are themselves learned.

>>> import kernelhood as kh
>>> len(kh.default_bank())
10
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: Where the public names are from: they are imported when they are first used. What type checkers
#: read is in `__init__.pyi`.
_HOMES = {
    "estimators": """
        AVMTMKLClassifier AVMTMKLRegressor ITLClassifier ITLRegressor KernelhoodClassifier
        KernelhoodRegressor KTAClassifier KTARegressor MTMKLClassifier MTMKLRegressor
        MTONMKLClassifier MTONMKLRegressor ONJKLClassifier ONJKLRegressor PooledClassifier
        PooledRegressor RPKLClassifier RPKLRegressor
    """,
    "kernels": """
        AutoBank Constant Custom Directions Equality Gaussian Interaction Kernel KernelBank
        Linear Normalized Pairwise Polynomial Precomputed default_bank
    """,
    "operators": "Dense Landmarks",
    "search": """
        KernelSearchCV LeaveTasksOut TaskShuffleSplit TaskStratifiedKFold TaskTimeSplit
        paper_grid task_scorer
    """,
    "relations": "TaskGraph TaskGroups TaskInputs TaskSimilarity",
    "tables": "load save",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_HOME, "datasets", "inspection"])


def __getattr__(name: str) -> Any:
    """Import what is asked for: a public name or a submodule."""
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
