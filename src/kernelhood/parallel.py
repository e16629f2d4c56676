"""The one place that names joblib: how independent work is spread over cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_processes(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    verbose: int = 0,
) -> list[Result]:
    """Return ``[function(*each) for each in arguments]``, in processes where n_jobs asks for them.

    An interrupt ends the processes before it is passed on.
    """
    if n_jobs is None or n_jobs == 1 or len(arguments) == 1:
        return list(_shown((function(*each) for each in arguments), len(arguments), verbose))
    jobs = (delayed(function)(*each) for each in arguments)
    workers = Parallel(n_jobs=n_jobs, return_as="generator")
    try:
        return list(_shown(workers(jobs), len(arguments), verbose))
    except KeyboardInterrupt:
        get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise


def _shown(results: Iterable[Result], total: int, verbose: int) -> Iterable[Result]:
    """Return the results with a progress bar around them where it is wanted."""
    if not verbose:
        return results
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError(
            "the progress bar needs tqdm: pip install 'kernelhood[data]', or verbose=0."
        ) from error
    return cast(Iterable[Result], tqdm(results, total=total))


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
