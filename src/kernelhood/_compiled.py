"""The one place that says how numerical code is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event

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


class _FirstCompilation(event.Listener):
    """Say once that code of this library is being compiled, so that nobody waits in the dark.

    Numba tells of compilations only: what it finds on disk stays silent.
    """

    told = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if self.told or not str(function.__module__).startswith("kernelhood."):
            return
        self.told = True
        print(
            "kernelhood: compiling numerical code for this machine. This takes some seconds, once; "
            "it is kept on disk.",
            file=sys.stderr,
            flush=True,
        )

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]
