"""The one place that says how numerical code is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event
from numba.misc.appdirs import AppDirs

P = ParamSpec("P")
R = TypeVar("R")


#: The functions are never called from C, and the wrapper for that takes long to compile.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_INNER: Any = {"no_cpython_wrapper": True}


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as a part of compiled functions only: Python cannot call it.

    That takes half the time to compile. Literal numbers as arguments make a version of their own.
    """
    return cast(Callable[P, R], numba.njit(**_OPTIONS, **_INNER)(function))


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` to machine code on first use and keep it on disk.

    The global interpreter lock is released, so that tasks can be solved in threads, and division
    follows IEEE rules, as in NumPy, instead of raising. Plain arrays and numbers compile much
    faster than tuples of arrays, and so do loops than calls of NumPy.
    """
    return cast(Callable[P, R], numba.njit(cache=True, **_OPTIONS)(function))


def _first_time() -> bool:
    """Return whether nothing has been compiled for this installation yet, and note that it is.

    A file beside what numba keeps on disk tells. If none can be written, the answer is yes.
    """
    config: Any = numba.config
    apps: Any = AppDirs
    folders = [Path(__file__).parent / "__pycache__"]
    folders.append(Path(apps(appname="numba", appauthor=False).user_cache_dir))
    if config.CACHE_DIR:
        folders = [Path(config.CACHE_DIR)]
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"kernelhood-{version('kernelhood')}.compiled").touch(exist_ok=False)
        except FileExistsError:
            return False
        except OSError:
            continue
        return True
    return True


class _FirstCompilation(event.Listener):
    """Say once that code of this library is being compiled, to explain the wait.

    Numba tells of compilations only: what it finds on disk stays silent.
    """

    told = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if self.told or not str(function.__module__).startswith("kernelhood."):
            return
        self.told = True
        if not _first_time():
            return
        print(
            "kernelhood: compiling numerical code for this machine. This takes some seconds, once; "
            "it is kept on disk.",
            file=sys.stderr,
            flush=True,
        )

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]
