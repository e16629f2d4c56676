"""The one place that names joblib: how independent work is spread over cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from joblib import Parallel, delayed

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None
) -> list[Result]:
    """Return ``[function(item) for item in items]``, in threads where n_jobs asks for them.

    The compiled solvers release the interpreter's lock, so threads run side by side and share
    the kernel matrices without copies.
    """
    if n_jobs is None or n_jobs == 1:
        return [function(item) for item in items]
    jobs = (delayed(function)(item) for item in items)
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
