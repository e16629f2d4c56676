"""All rows of the comparison: planned, done in processes or on Dask, and put into a frame."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from kernelhood._support import import_extra
from kernelhood.datasets._bunch import check_count, check_number
from kernelhood.paper.jobs import COLUMNS, Job, Row, Store, do_jobs, empty_row
from kernelhood.paper.methods import GROUPED, SHARING, UNTUNED, check_grid, check_methods
from kernelhood.paper.protocol import (
    CLASSIFICATION,
    METRICS,
    check_datasets,
    choose_metrics,
    has_groups,
    kind_of,
)
from kernelhood.paper.rivals import check_installed
from kernelhood.parallel import WorkerDied, run_as_completed

_NUMBERS = ("score", "validation_score", "gap", "seconds", "fit_seconds", "train_fraction")


def plan(
    datasets: Any = "digits",
    methods: Iterable[str] | str | None = None,
    *,
    runs: int = 3,
    metric: str | Iterable[str] | None = None,
    train_fraction: float = 0.2,
    stratify: bool = True,
    grid: str = "quick",
    seed: int = 0,
    data_home: str | PathLike[str] | None = None,
) -> list[Job]:
    """Return the jobs of a comparison; see `run` for the arguments."""
    check_count("runs", runs)
    check_count("seed", seed, low=0)
    share = check_number("train_fraction", train_fraction, low=0.0, high=1.0)
    if not 0.0 < share < 1.0:
        raise ValueError(f"train_fraction={train_fraction!r} must leave something on both sides.")
    chosen, names = check_datasets(datasets), check_methods(methods)
    check_grid(grid)
    check_installed(names)
    kinds = {dataset: kind_of(dataset, samples) for dataset, samples in chosen.items()}
    metrics = choose_metrics(metric, kinds.values())
    home = None if data_home is None else fspath(data_home)
    ungrouped = {name for name, samples in chosen.items() if not has_groups(name, samples)}
    if set(names) <= set(GROUPED) and ungrouped == set(chosen):
        raise ValueError(
            f"methods={', '.join(names)} needs groups of tasks, which {', '.join(chosen)} has not: "
            "give data sets with task_groups, such as landmine."
        )
    jobs = [
        Job(
            dataset,
            method,
            number,
            seed,
            metrics[kinds[dataset]],
            share,
            grid,
            home,
            samples,
            stratify or kinds[dataset] != CLASSIFICATION,
        )
        for dataset, samples in chosen.items()
        for number in range(runs)
        for method in names
        if not (method in GROUPED and dataset in ungrouped)
    ]
    return _telling(jobs, names)


def _telling(jobs: list[Job], names: Iterable[str]) -> list[Job]:
    """Return the jobs without those whose metric asks for probabilities that a method has not."""
    told = [
        job for job in jobs if job.method == UNTUNED or not METRICS[job.metric].needs_probability
    ]
    if not told:
        raise ValueError(
            f"metric={jobs[0].metric!r} needs probabilities, which {', '.join(names)} do not tell: "
            f"give methods={UNTUNED!r}."
        )
    return told


def run(
    datasets: Any = "digits",
    methods: Iterable[str] | str | None = None,
    *,
    runs: int = 3,
    metric: str | Iterable[str] | None = None,
    train_fraction: float = 0.2,
    stratify: bool = True,
    grid: str = "quick",
    seed: int = 0,
    data_home: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    on_row: Callable[[Row, bool], None] | None = None,
) -> Any:
    """Repeat the paper's comparison: for every run split, choose parameters, fit and test once.

    Parameters
    ----------
    datasets : str, iterable of str, or mapping of str to Bunch
        Names among digits, landmine, letter, spam, sarcos and load, or data sets of your own with
        X, y and task, and sample_id if tasks share objects.
    methods : str or iterable of str, optional
        Names among `offered_methods`; by default those of the paper and the variants of MT-ONMKL.
    runs : int
        Random splits of every data set.
    metric : str or iterable of str, optional
        accuracy, auc or log_loss for classification, mse or nmse for regression. Only
        `kernelhood` has the probabilities that log_loss needs.
    train_fraction : float
        Part that trains; the rest is halved to validate and to test.
    stratify : bool
        Whether the classes of every task are split in the same proportions. The paper does not say.
    grid : {"quick", "paper", "wide"}
        Hyper-parameters to choose from.
    seed : int
        Everything but the time follows from it.
    data_home : path-like, optional
        Folder of the data files.
    store : path-like, optional
        SQLite file that keeps the rows; only what is missing in it, or failed, is done.
    n_jobs : int, optional
        Processes; -1 takes all cores.
    scheduler : str, optional
        Address of a Dask scheduler, such as tcp://127.0.0.1:8786, to do the work instead.
    on_row : callable, optional
        Called with every row, and whether it was there before.

    Returns
    -------
    DataFrame
        One row for every data set, run and method, in this order; see `COLUMNS`. A run that failed
        has an error and no score.

    Examples
    --------
    >>> from kernelhood import datasets, paper
    >>> data = datasets.make_multitask(2, 20, random_state=0)
    >>> results = paper.run({"mine": data}, ["avmtmkl", "pooled"], runs=1)
    >>> results["method"].tolist(), bool(results["score"].between(0.0, 1.0).all())
    (['avmtmkl', 'pooled'], True)
    """
    import_extra("pandas", "bench")
    jobs = plan(
        datasets,
        methods,
        runs=runs,
        metric=metric,
        train_fraction=train_fraction,
        stratify=stratify,
        grid=grid,
        seed=seed,
        data_home=data_home,
    )
    with Store(store) as rows:
        for row, old in fill(rows, jobs, n_jobs=n_jobs, scheduler=scheduler):
            if on_row is not None:
                on_row(row, old)
        return as_frame(rows.rows(jobs))


def fill(
    store: Store, jobs: list[Job], *, n_jobs: int | None = None, scheduler: str | None = None
) -> Iterator[tuple[Row, bool]]:
    """Do what is missing, and yield every row as it comes, with whether it was there before."""
    missing = store.missing(jobs)
    left = {job.key for job in missing}
    for row in store.rows(job for job in jobs if job.key not in left):
        yield row, True
    groups = sharing_groups(missing)
    done = run_as_completed(do_jobs, groups, n_jobs=n_jobs, scheduler=scheduler)
    for number, result in done:
        if isinstance(result, WorkerDied):
            died = f"WorkerDied: the worker died each time ({result.reason})"
            found = [empty_row(job, died) for job in groups[number]]
        else:
            found = result
        for row in found:
            store.write(row)
            yield row, False


def sharing_groups(jobs: Iterable[Job]) -> list[list[Job]]:
    """Return the jobs in groups: one if methods of a split have models in common.

    Parameters
    ----------
    jobs : iterable of Job
        What there is to do.
    """
    groups: dict[Hashable, list[Job]] = {}
    for job in jobs:
        shares = job.method.startswith(SHARING)
        own = SHARING if shares else job.method
        groups.setdefault((job.split, own), []).append(job)
    return list(groups.values())


def as_frame(rows: list[Row]) -> Any:
    """Return rows as a data frame."""
    pd = import_extra("pandas", "bench")
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"score": float, "error": object})


def read_results(path: str | PathLike[str]) -> Any:
    """Return the rows of a results.csv, or of one that is compressed: results.csv.gz.

    Examples
    --------
    >>> import tempfile
    >>> from kernelhood import paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paper.published_results().to_csv(f"{folder}/results.csv", index=False)
    ...     len(paper.read_results(f"{folder}/results.csv"))
    35
    """
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"{path} is not there: results are a file such as results.csv.")
    try:
        head = next(csv.reader([_first_line(place)]), [])
    except (UnicodeDecodeError, csv.Error, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is not a table of results: it is not text.") from error
    lacking = [name for name in ("dataset", "method", "score") if name not in head]
    if lacking:
        raise ValueError(f"{path} is not a table of results: it has no column {lacking[0]!r}.")
    pd = import_extra("pandas", "bench")
    try:
        return pd.read_csv(place, converters=dict.fromkeys(_NUMBERS, _as_float))
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is not a table of results: {error}") from error


def known_rows(path: str | PathLike[str]) -> list[Row]:
    """Return the rows of a results.csv as a store keeps them, those that have a score.

    Parameters
    ----------
    path : path-like
        What an earlier comparison has written.
    """
    results = read_results(path)
    lacking = [name for name in COLUMNS if name not in results.columns]
    if lacking:
        raise ValueError(
            f"{path} cannot be continued: it has no column {lacking[0]!r}; give a results.csv "
            "that `kernelhood bench` has written."
        )
    done = results[results["score"].notna()].astype({"n_iter": "Int64"}).astype(object)
    done = done.where(done.notna(), None)
    rows: list[Row] = done[list(COLUMNS)].to_dict("records")
    return rows


def _first_line(path: Path) -> str:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return file.readline(2**16).decode("utf-8").rstrip("\r\n")


def _as_float(text: str) -> float:
    """Return exactly the number that was written, which faster parsers may miss by a bit."""
    return float(text) if text else float("nan")
