"""The one place that names joblib and Dask: how independent work is spread over cores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class WorkerDied:
    """What stands for the result of an item whose worker died whenever it was tried.

    Attributes
    ----------
    reason : str
        How it is known.
    """

    reason: str


def map_in_processes(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    verbose: int = 0,
) -> list[Result]:
    """Return ``[function(*each) for each in arguments]``, in processes if n_jobs asks for them.

    An interrupt ends the processes before it is passed on.
    """
    if n_jobs is None or n_jobs == 1 or len(arguments) == 1:
        return list(shown((function(*each) for each in arguments), len(arguments), verbose))
    jobs = (delayed(function)(*each) for each in arguments)
    workers = Parallel(n_jobs=n_jobs, return_as="generator")
    try:
        return list(shown(workers(jobs), len(arguments), verbose))
    except KeyboardInterrupt:
        get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise


_PATIENCE = 5.0


def shown(
    items: Iterable[Item],
    total: int | None,
    verbose: int | bool,
    *,
    unit: str = "it",
    scale: int | bool = False,
) -> Iterable[Item]:
    """Return the items with a progress bar around them.

    The bar comes on a terminal only, and only if the work takes more than five seconds.

    Parameters
    ----------
    items : iterable
        What is worked through.
    total : int or None
        Their number, if it is known.
    verbose : int or bool
        Whether a bar is wanted.
    unit : str
        What is counted.
    scale : int or bool
        How many units an item has.

    Examples
    --------
    >>> list(shown([1, 2], 2, verbose=1))
    [1, 2]
    """
    if not verbose or not sys.stderr.isatty():
        return items
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError(
            "the progress bar needs tqdm: pip install 'kernelhood[data]', or verbose=0."
        ) from error
    bar = tqdm(items, total=total, delay=_PATIENCE, unit=unit, unit_scale=scale)
    return cast(Iterable[Item], bar)


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None
) -> list[Result]:
    """Return ``[function(item) for item in items]``, in threads if n_jobs asks for them.

    The compiled solvers release the interpreter's lock, so threads run side by side and share
    the kernel matrices without copies.
    """
    if n_jobs is None or n_jobs == 1:
        return [function(item) for item in items]
    jobs = (delayed(function)(item) for item in items)
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))


_MANY = 1000


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def few_blas_threads(n_samples: int) -> AbstractContextManager[Any]:
    """Return a context in which linear algebra on few samples runs in one thread.

    Threads that wait for each other cost more than such matrices do, most of all on a busy machine.
    """
    if n_samples > _MANY:
        return nullcontext()
    return cast(AbstractContextManager[Any], _controller().limit(limits=1, user_api="blas"))


def run_as_completed(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
) -> Iterator[tuple[int, Result | WorkerDied]]:
    """Yield the number and the result of every item, in the order in which they are done.

    Items whose worker dies are done again. One that kills every worker it meets gets a
    `WorkerDied` for a result.

    Parameters
    ----------
    function : callable
        Given one item; can be pickled.
    items : sequence
        The work.
    n_jobs : int, optional
        Processes; None and 1 work in this one, -1 takes all cores.
    scheduler : str, optional
        Address of a Dask scheduler, which then does the work.
    """
    if scheduler is None and n_jobs in (None, 1):
        for number, item in enumerate(items):
            yield number, function(item)
        return
    with _cluster(scheduler) if scheduler is not None else nullcontext() as killed:
        deaths = (BrokenProcessPool,) if killed is None else (BrokenProcessPool, killed)
        jobs = n_jobs if scheduler is None else -1
        yield from _until_done(function, dict(enumerate(items)), jobs, deaths)


def _until_done(
    function: Callable[[Item], Result],
    waiting: dict[int, Item],
    n_jobs: int | None,
    deaths: tuple[type[BaseException], ...],
) -> Iterator[tuple[int, Result | WorkerDied]]:
    """Hand out what waits, again after each death, one by one if nothing gets through."""
    while waiting:
        before = len(waiting)
        try:
            for number, result in _spread(function, waiting, n_jobs):
                del waiting[number]
                yield number, result
        except deaths:
            if len(waiting) == before:
                break
    for number, item in waiting.items():
        try:
            yield from _spread(function, {number: item}, 2)
        except deaths as death:
            yield number, WorkerDied(type(death).__name__)


def _spread(
    function: Callable[[Item], Result], items: dict[int, Item], n_jobs: int | None
) -> Iterator[tuple[int, Result]]:
    jobs = [delayed(_numbered)(function, number, item) for number, item in items.items()]
    results: Iterator[tuple[int, Result]] = Parallel(
        n_jobs=n_jobs, batch_size=1, return_as="generator_unordered"
    )(jobs)
    return results


def _numbered(function: Callable[[Item], Result], number: int, item: Item) -> tuple[int, Result]:
    return number, function(item)


@contextmanager
def on_cluster(scheduler: str) -> Iterator[None]:
    """Let fits of independent tasks and searches work on a Dask cluster.

    Inside, whatever has `n_jobs` other than None and 1 is spread over the cluster's workers: the
    splits and paths of a search, the tasks of a fit. What a worker that dies had is done again.

    Parameters
    ----------
    scheduler : str
        Address of a Dask scheduler, such as "tcp://127.0.0.1:8786".

    Examples
    --------
    >>> import kernelhood as kh
    >>> search = kh.KernelSearchCV(kh.MTONMKLRegressor(), {"C": [1.0, 10.0]}, n_jobs=-1)
    >>> with kh.parallel.on_cluster("tcp://127.0.0.1:8786"):  # doctest: +SKIP
    ...     search.fit(X, y, task=task)
    """
    with _cluster(scheduler):
        yield


@contextmanager
def _cluster(scheduler: str) -> Iterator[type[BaseException]]:
    """Let joblib work on a Dask cluster; give the error that tells of a worker's death."""
    try:
        from distributed import Client, KilledWorker
    except ImportError as error:
        raise ImportError(
            "scheduler needs Dask: install it with pip install 'kernelhood[dask]'."
        ) from error
    try:
        client: AbstractContextManager[Any] = Client(  # type: ignore[no-untyped-call]
            scheduler, timeout="10s", set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"scheduler={scheduler!r} does not answer; give the address that dask scheduler "
            f"prints, such as tcp://127.0.0.1:8786 ({error})."
        ) from error
    with client, parallel_config("dask", client=client, wait_for_workers_timeout=30):
        yield KilledWorker
