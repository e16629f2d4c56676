"""The one place that says how numerical code is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` into those that call it: for the inside of loops, where a call costs."""
    return cast(Callable[P, R], numba.njit(inline="always", error_model="numpy")(function))


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` to machine code on first use and keep it on disk.

    The global interpreter lock is released, so that tasks can be solved in threads, and division
    follows IEEE rules, as in NumPy, instead of raising.
    """
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True, error_model="numpy")(function))
