"""What ``kernelhood bench`` does: run or read, show how far it is, write the report and say so."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

from kernelhood._support import import_extra
from kernelhood.datasets._report import Report
from kernelhood.paper.jobs import Job, Row, Store
from kernelhood.paper.methods import label
from kernelhood.paper.protocol import METRICS, check_files
from kernelhood.paper.report import as_text, failures, write_report
from kernelhood.paper.run import as_frame, fill, known_rows, plan, read_results
from kernelhood.paper.table import title

STORE = "runs.sqlite"

_LAST = 5


def report_bench(
    datasets: Sequence[str] | Mapping[str, Any],
    out: str | PathLike[str],
    *,
    known: str | PathLike[str] | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    quiet: bool = False,
    command: str | None = None,
    **settings: Any,
) -> Report:
    """Run what is missing in the folder's store, and write the report.

    Parameters
    ----------
    datasets : sequence of str, or mapping of str to Bunch
        Names, or a user's data sets.
    out : path-like
        Folder of the store and the report.
    known : path-like, optional
        A results.csv of an earlier comparison, whose rows need not be computed again.
    jobs : int, optional
        Processes.
    scheduler : str, optional
        Address of a Dask scheduler.
    quiet : bool
        Whether to show no progress.
    command : str, optional
        What was typed.
    **settings : object
        Further arguments of `run`.
    """
    planned = plan(datasets, **settings)
    if not isinstance(datasets, Mapping):
        check_files(datasets, settings.get("data_home"))
    for module in ("pandas", "matplotlib", "rich"):
        import_extra(module, "bench")
    there = [] if known is None else known_rows(known)
    store = Path(out) / STORE
    with Store(store) as rows, make_display(planned, quiet=quiet) as display:
        for row in there:
            rows.write(row)
        for row, old in fill(rows, planned, n_jobs=jobs, scheduler=scheduler):
            display.show(row, old)
        results = as_frame(rows.rows(planned))
    return _report(results, out, command, [store])


def report_results(
    path: str | PathLike[str],
    out: str | PathLike[str] | None,
    *,
    methods: Sequence[str] | None = None,
    command: str | None = None,
) -> Report:
    """Draw the report of a results.csv again.

    Parameters
    ----------
    path : path-like
        The rows.
    out : path-like or None
        Folder of the report; None takes that of the rows.
    methods : sequence of str, optional
        Those to show; ranks and tests are then among them.
    command : str, optional
        What was typed.
    """
    results = read_results(path)
    if methods is not None:
        missing = [name for name in methods if name not in set(results["method"])]
        if missing:
            there = ", ".join(dict.fromkeys(results["method"]))
            raise ValueError(f"{path} has no rows of {missing[0]!r}; give methods among {there}.")
        results = results[results["method"].isin(methods)]
    return _report(results, Path(path).parent if out is None else out, command, [])


def _report(
    results: Any, out: str | PathLike[str], command: str | None, files: Sequence[Path]
) -> Report:
    text = as_text(results)
    written = write_report(results, out, command=command)
    names = [f"wrote {path}" for path in [*written, *files]]
    return Report("\n".join(["", text, "", *names]), good=not len(failures(results)))


class Display(ABC):
    """Something that is told every row."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the screen as it is."""
        return

    @abstractmethod
    def show(self, row: Row, old: bool) -> None:
        """Tell of a row, and whether it was there before."""


class Silent(Display):
    """Show nothing."""

    def show(self, row: Row, old: bool) -> None:
        """Show nothing."""


class Lines(Display):
    """One line a row.

    Parameters
    ----------
    jobs : list of Job
        All that will be told of.
    """

    def __init__(self, jobs: list[Job]) -> None:
        self._total = len(jobs)
        self._count = 0

    def show(self, row: Row, old: bool) -> None:
        """Print a line."""
        self._count += 1
        print(f"[{self._count}/{self._total}] {describe(row, old)}", flush=True)


class Bars(Display):
    """A bar for every data set with the time left, and the last results.

    Parameters
    ----------
    jobs : list of Job
        All that will be told of.
    console : rich console, optional
        Where to draw.
    """

    def __init__(self, jobs: list[Job], console: Any = None) -> None:
        progress, live = import_extra("rich.progress", "bench"), import_extra("rich.live", "bench")
        self._progress = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
        )
        counts = Counter(job.dataset for job in jobs)
        self._bars = {
            name: self._progress.add_task(title(name), total=count)
            for name, count in counts.items()
        }
        self._last: list[str] = []
        self._live = live.Live(self._progress, console=console, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last state on the screen."""
        self._live.stop()

    def show(self, row: Row, old: bool) -> None:
        """Advance the bar of the row's data set."""
        console, text = import_extra("rich.console", "bench"), import_extra("rich.text", "bench")
        self._progress.advance(self._bars[row["dataset"]])
        self._last = [*self._last, describe(row, old)][-_LAST:]
        lines = [
            text.Text(line, style="dim", overflow="ellipsis", no_wrap=True) for line in self._last
        ]
        self._live.update(console.Group(self._progress, *lines))


def make_display(jobs: list[Job], *, quiet: bool) -> Display:
    """Return what suits the place where the output goes.

    Parameters
    ----------
    jobs : list of Job
        All that will be told of.
    quiet : bool
        Whether to show nothing.
    """
    if quiet:
        return Silent()
    return Bars(jobs) if sys.stdout.isatty() else Lines(jobs)


def describe(row: Row, old: bool) -> str:
    """Return a row in a few words."""
    name = f"{title(row['dataset'])} {label(row['method'])} run {row['run']}"
    if row["error"] is not None:
        return f"{name}: failed, {row['error']}"
    metric = METRICS[row["metric"]]
    score = f"{100.0 * row['score']:.2f} %" if metric.percent else f"{row['score']:.4g}"
    when = "already there" if old else f"{row['seconds']:.1f} s"
    return f"{name}: {metric.name} {score} ({when})"
