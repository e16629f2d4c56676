"""The part of a fitted model that predictions need, and the whole of it again."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from kernelhood.kernels import Custom, Directions, Interaction, Kernel, KernelBank, Normalized
from kernelhood.persistence.searches import SEARCHES, without_code
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.tables.model import TableModel
from kernelhood.tasks import stack_rows

#: Fitted arrays whose last axis, or last two, are the kernels.
_BY_KERNEL = (
    "weights_",
    "shared_weights_",
    "specific_weights_",
    "neighborhood_weights_",
    "traces_",
    "_matrix_weights",
    "_own_weights",
    "_kernel_sizes",
    "_energy",
)
_BY_TWO_KERNELS = ("gram_",)
#: Where weights of a kernel are; it may go only where all of them are 0.
_WEIGHTS = ("weights_", "neighborhood_weights_", "_matrix_weights", "_own_weights")


#: What describes the neighborhoods of a fit, on the whole bank.
_NEIGHBORHOODS = ("neighborhood_weights_", "gram_", "traces_", "_own_alignments", "_joint_bound")


def compact(model: Any, *, neighborhoods: bool = True) -> Any:
    """Return a copy without what predictions do not need.

    Kernels of weight 0 go, and so does a second copy of the support vectors. A table's model goes
    without its neighborhoods as well, which stretch over the whole bank.

    Parameters
    ----------
    model : TableModel, search, Pipeline or estimator of this library
        Fitted.
    neighborhoods : bool
        Whether to keep neighborhoods, and with them the kernels that only they use.
    """
    if isinstance(model, TableModel):
        small = compact(model.estimator, neighborhoods=False)
        return _with(model, estimator=small, record=json.dumps(model.record))
    if isinstance(model, Pipeline):
        steps = [(name, compact(step)) for name, step in model.steps]
        return _with(model, steps=steps)
    if isinstance(model, SEARCHES):
        best = model.best_estimator_
        if isinstance(best, dict):
            # Tasks with the same parameters have one estimator, and so it is in the file.
            small = {id(one): compact(one) for one in best.values()}
            best = {name: small[id(one)] for name, one in best.items()}
        else:
            best = compact(best)
        return _with(model, **without_code(model), best_estimator_=best)
    if isinstance(model, TransformedTargetRegressor):
        return _with(model, regressor_=compact(model.regressor_))
    if not isinstance(model, MultiTaskKernelModel):
        return model
    _refuse_code(model)
    small = copy.copy(model)
    if not neighborhoods:
        _forget(small, _NEIGHBORHOODS)
        # The parameter is the bank before any kernel went.
        small.kernels = None
    if hasattr(model, "weights_"):
        small = _with_used_kernels(small)
    _forget(small, ("_all_support",))
    if hasattr(small, "_problems"):
        # The training rows are for levels that are asked for later: those there are stay.
        small._problems = []
        levels = small._at_level.items()
        small._at_level = {
            level: compact(one, neighborhoods=neighborhoods) for level, one in levels
        }
    return small


def restored(model: Any) -> Any:
    """Return what `compact` made small, ready to predict.

    Parameters
    ----------
    model : TableModel, search, Pipeline or estimator of this library
        As `compact` returns it.
    """
    if isinstance(model, TableModel):
        restored(model.estimator)
        if isinstance(model.record, str):
            model.record = json.loads(model.record)
    elif isinstance(model, SEARCHES):
        best = model.best_estimator_
        for one in best.values() if isinstance(best, dict) else [best]:
            restored(one)
    elif isinstance(model, TransformedTargetRegressor):
        restored(model.regressor_)
    elif isinstance(model, Pipeline):
        for _, step in model.steps:
            restored(step)
    elif hasattr(model, "_support_task") and not hasattr(model, "_all_support"):
        model._all_support = stack_rows(model.support_vectors_)
    for one in getattr(model, "_at_level", {}).values():
        restored(one)
    return model


def _forget(model: Any, names: Iterable[str]) -> None:
    for name in names:
        if name in vars(model):
            delattr(model, name)


def _with(model: Any, **changed: Any) -> Any:
    other = copy.copy(model)
    vars(other).update(changed)
    return other


def _with_used_kernels(model: Any) -> Any:
    """Return the model with only the kernels that some task or neighborhood uses."""
    bank = model._bank
    if len(bank) != model.weights_.shape[-1] or getattr(model, "_adapted", None):
        return model
    if getattr(model, "_expansion", None) is not None:
        return model  # landmarks name the kernels that they serve, which are those with weight
    used = np.zeros(len(bank), dtype=bool)
    for name in _WEIGHTS:
        values = getattr(model, name, None)
        if values is not None and np.size(values):
            used |= np.asarray(values).reshape(-1, len(bank)).any(axis=0)
    if used.all() or not used.any():
        return model
    kept = np.flatnonzero(used).tolist()
    names = [bank.names[k] for k in kept]
    model._bank = KernelBank([bank[k] for k in kept], names=names, inputs=bank.inputs)
    for name in (*_BY_KERNEL, *_BY_TWO_KERNELS):
        values = getattr(model, name, None)
        if values is not None and np.size(values):
            own = np.asarray(values)[..., used]
            setattr(model, name, own[..., used, :] if name in _BY_TWO_KERNELS else own)
    return model


def _refuse_code(model: MultiTaskKernelModel) -> None:
    for core in _cores(getattr(model, "_bank", ())):
        if isinstance(core, Custom):
            raise ValueError(
                f"kernels holds the function {getattr(core.function, '__name__', core.function)!r}:"
                " a model file carries no code. Use kernels of this library, or Precomputed."
            )


def _cores(kernels: Iterable[Kernel]) -> Iterator[Kernel]:
    """Yield what kernels are made of."""
    for kernel in kernels:
        if isinstance(kernel, Interaction):
            yield from _cores(kernel.kernels)
        elif isinstance(kernel, (Normalized, Directions)):
            yield from _cores([kernel.kernel])
        else:
            yield kernel
