"""The one place that says how numerical code is compiled.

Numba is imported when something is compiled, not before: importing it takes a third as long as
importing scikit-learn, and much of the library does without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


#: Nobody calls the functions from C, and to make that possible takes long to compile.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_INNER: Any = {"no_cpython_wrapper": True}


class Compiled(Generic[P, R]):
    """A function that Numba compiles when it is first called, or first used by another one.

    Parameters
    ----------
    function : callable
        At the top level of its module.
    options : dict
        What `numba.njit` takes.
    """

    def __init__(self, function: Callable[P, R], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.dispatcher(*args, **kwargs)

    @cached_property
    def dispatcher(self) -> Callable[P, R]:
        """What Numba makes of the function."""
        return cast(Callable[P, R], _numba().njit(**self._options)(self._function))

    @property
    def _numba_type_(self) -> Any:
        """What compiled functions that call this one ask for."""
        return cast(Any, self.dispatcher)._numba_type_

    def __reduce__(self) -> str:
        return self._function.__qualname__  # pickled by its name, as functions are


@cache
def _numba() -> Any:
    """Return the module, which from now on tells of what it compiles."""
    import numba
    from numba.core import event

    class Listener(_FirstCompilation, event.Listener):
        pass

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
    return numba


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as a part of compiled functions only: Python cannot call it.

    That takes half the time to compile. Literal numbers as arguments make a version of their own.
    """
    return Compiled(function, {**_OPTIONS, **_INNER})


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` to machine code on first use and keep it on disk.

    The global interpreter lock is released, so that tasks can be solved in threads, and division
    follows IEEE rules, as in NumPy, instead of raising. Plain arrays and numbers compile much
    faster than tuples of arrays, and so do loops than calls of NumPy.
    """
    return Compiled(function, {"cache": True, **_OPTIONS})


def _first_time() -> bool:
    """Return whether nothing has been compiled for this installation yet, and note that it is.

    A file beside what numba keeps on disk tells. If none can be written, the answer is yes.
    """
    from numba.misc.appdirs import AppDirs

    config, apps = _numba().config, cast(Any, AppDirs)
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


class _FirstCompilation:
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
