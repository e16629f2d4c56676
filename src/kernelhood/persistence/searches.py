"""A search in a model file: all that it has found, and of its settings what is no code."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood.model_selection import KernelSearchCV
from kernelhood.persistence.trusted import carried

#: Types of objects that have chosen an estimator.
SEARCHES = (KernelSearchCV,)

#: What a prediction needs, and what is saved as it is or not at all.
_NEEDED = ("best_estimator_", "estimator")


def without_code(search: Any) -> dict[str, Any]:
    """Return the attributes of a search, with text for what a file does not carry.

    Functions, such as a scorer, and splitters of other libraries are only needed to search again.

    Parameters
    ----------
    search : KernelSearchCV
        Fitted.
    """
    found = {name: value for name, value in vars(search).items() if name not in _NEEDED}
    return {name: value if carried(value) else _told(value, {}) for name, value in found.items()}


def _told(value: Any, known: dict[int, Any]) -> Any:
    """Return a value with text in the places of what a file does not carry."""
    if isinstance(value, dict):
        return {name: _told(one, known) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_told(one, known) for one in value])
    if isinstance(value, np.ma.MaskedArray):
        column = np.empty(len(value), dtype=object)
        column[:] = [_told(one, known) for one in value.data.tolist()]
        return np.ma.MaskedArray(column, mask=value.mask)
    if id(value) not in known:  # A kernel of a grid is in many of its points.
        known[id(value)] = value if carried(value) else repr(value)
    return known[id(value)]
