"""What ``kernelhood bench`` does: run or read, then write the report and say so."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from kernelhood.datasets._extras import import_extra
from kernelhood.datasets._report import Report
from kernelhood.experiments.display import make_display
from kernelhood.experiments.findings import failures
from kernelhood.experiments.report import as_text, write_report
from kernelhood.experiments.run import as_frame, fill, plan, read_results
from kernelhood.experiments.store import Store

STORE = "runs.sqlite"


def report_bench(
    datasets: Sequence[str],
    out: str | PathLike[str],
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    quiet: bool = False,
    command: str | None = None,
    **settings: Any,
) -> Report:
    """Run what is missing in the folder's store, and write the report.

    Parameters
    ----------
    datasets : sequence of str
        Names.
    out : path-like
        Folder of the store and the report.
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
    for module in ("pandas", "matplotlib", "rich"):
        import_extra(module, "bench")
    planned = plan(datasets, **settings)
    store = Path(out) / STORE
    with Store(store) as rows, make_display(planned, quiet=quiet) as display:
        for row, old in fill(rows, planned, n_jobs=jobs, scheduler=scheduler):
            display.show(row, old)
        results = as_frame(rows.rows(planned))
    return _report(results, out, command, [store])


def report_results(
    path: str | PathLike[str], out: str | PathLike[str] | None, *, command: str | None = None
) -> Report:
    """Draw the report of a results.csv again.

    Parameters
    ----------
    path : path-like
        The rows.
    out : path-like or None
        Folder of the report; None takes that of the rows.
    command : str, optional
        What was typed.
    """
    results = read_results(path)
    return _report(results, Path(path).parent if out is None else out, command, [])


def _report(
    results: Any, out: str | PathLike[str], command: str | None, files: Sequence[Path]
) -> Report:
    text = as_text(results)
    written = write_report(results, out, command=command)
    names = [f"wrote {path}" for path in [*written, *files]]
    return Report("\n".join(["", text, "", *names]), good=not len(failures(results)))
