"""The types that a model file may hold beside those of scikit-learn, numpy and scipy."""

from __future__ import annotations

from typing import Any

from kernelhood import estimators, kernels, losses, model_selection, relations
from kernelhood._extras import import_extra
from kernelhood.bounds import BoundTerms
from kernelhood.calibration.crossfit import Calibration
from kernelhood.calibration.sigmoid import Sigmoid
from kernelhood.estimators.additive import AdditiveFunction, Scaled
from kernelhood.estimators.multilevel import MultilevelModel
from kernelhood.estimators.target_units import Units
from kernelhood.formulations import Evidence
from kernelhood.kernels import inputs, terms
from kernelhood.landmarks.expansion import LandmarkExpansion
from kernelhood.landmarks.features import Landmarks
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.fitted.units import TargetUnits
from kernelhood.related.adapted import Adapted
from kernelhood.tables.encoder import TableEncoder
from kernelhood.tables.model import TableModel
from kernelhood.uncertainty.conformal import ConformalErrors, HeldOut

_TABLES = (TableEncoder, TableModel)
_SEARCHES = (
    model_selection.KernelSearchCV,
    model_selection.TaskShuffleSplit,
    model_selection.TaskStratifiedKFold,
)
_PARTS = (
    BoundTerms,
    Calibration,
    Sigmoid,
    Evidence,
    Adapted,
    TargetUnits,
    LandmarkExpansion,
    Landmarks,
    ConformalErrors,
    HeldOut,
    AdditiveFunction,
    Scaled,
    Units,
    terms.TermBank,
    terms.Straight,
    terms.Levels,
    terms.Smooth,
    terms.Radial,
    kernels.KernelBank,
    kernels.AutoBank,
    inputs.FittedInputs,
    inputs.ImputedInputs,
    inputs.Coded,
)
#: What transformers of scikit-learn keep, and skops reads as the type of an array.
_OTHERS = ("numpy.dtype",)
#: A kernel that is any function is no data.
_CODE = (kernels.Custom,)


def trusted_types() -> list[str]:
    """Return the full names of the types that a model may consist of.

    Classes are listed one by one: that a name begins with "kernelhood" is not enough, as functions
    of this library fetch and write files.

    Examples
    --------
    >>> "kernelhood.estimators.mtonmkl.MTONMKLClassifier" in trusted_types()
    True
    >>> [name for name in trusted_types() if "Custom" in name or "fetch" in name]
    []
    """
    found: list[type[Any]] = [*_TABLES, *_SEARCHES, *_PARTS]
    for room, base in (
        (estimators, (MultiTaskKernelModel, MultilevelModel)),
        (kernels, kernels.Kernel),
        (relations, relations.TaskRelation),
        (losses, losses.Loss),
    ):
        classes = [one for one in vars(room).values() if isinstance(one, type)]
        found += [one for one in classes if issubclass(one, base) and one not in _CODE]
    return sorted({*_OTHERS, *(f"{one.__module__}.{one.__qualname__}" for one in found)})


def foreign_types(content: bytes) -> list[str]:
    """Return the names of the types in a skops file that are not to be trusted.

    Parameters
    ----------
    content : bytes
        The file.
    """
    sio = import_extra("skops.io", "table")
    return sorted(set(sio.get_untrusted_types(data=content)) - set(trusted_types()))


def carried(value: Any) -> bool:
    """Return whether a model file can hold a value.

    Examples
    --------
    >>> carried({"C": [0.5, 1.0]}), carried(print)
    (True, False)
    """
    sio = import_extra("skops.io", "table")
    try:
        return not foreign_types(sio.dumps(value))
    except Exception:  # skops fails in many ways at what it does not know
        return False
