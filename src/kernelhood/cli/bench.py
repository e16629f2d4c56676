"""``kernelhood bench``: the paper's comparison, or the same on a table of one's own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from kernelhood._support import import_extra
from kernelhood.cli import Report
from kernelhood.cli.models import add_roles, roles_of
from kernelhood.paper.jobs import Row, Store
from kernelhood.paper.methods import GRIDS, label, offered_methods
from kernelhood.paper.protocol import LOADERS, METRICS, check_files
from kernelhood.paper.report import as_text, failures, write_report
from kernelhood.paper.run import as_frame, fill, known_rows, plan, read_results
from kernelhood.paper.table import title
from kernelhood.parallel import shown
from kernelhood.tables import read_table
from kernelhood.tables.files import ENDINGS, STDIN
from kernelhood.tables.roles import as_bunch

STORE = "runs.sqlite"


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``bench``."""
    parser.epilog = """Examples:
  kernelhood bench
  kernelhood bench letter spam --runs 20 --grid paper --out report
  kernelhood bench my.csv --task store --target sales
  kernelhood bench --results report/results.csv"""
    add = parser.add_argument
    names = f"{', '.join(LOADERS)} (default: digits), or a table"
    methods = "default: those of the paper and the variants of MT-ONMKL"
    add("datasets", nargs="*", metavar="DATASET", help=names)
    add("--methods", nargs="+", metavar="NAME", choices=offered_methods(), help=methods)
    add("--runs", type=int, default=3, metavar="N", help="random splits of each set (default: 3)")
    add("--metric", nargs="+", choices=METRICS, help="default: accuracy and mse")
    add("--train-fraction", type=float, default=0.2, metavar="F", help="default: 0.2")
    add("--no-stratify", action="store_true", help="do not stratify rows by class")
    add("--grid", choices=GRIDS, default="quick", help="hyper-parameters (default: quick)")
    add("--seed", type=int, default=0, metavar="N", help="random seed")
    add("--data-home", metavar="DIR", help="folder of the data (default: KERNELHOOD_DATA)")
    add("--out", metavar="DIR", help="folder of the report and of runs.sqlite (default: report)")
    add("--jobs", type=int, default=-1, metavar="N", help="processes (default: all cores)")
    add("--scheduler", metavar="ADDRESS", help="Dask scheduler that does the work, tcp://HOST:PORT")
    add("-q", "--quiet", action="store_true", help="show no progress")
    add("--results", metavar="CSV", help="only draw the report of these rows again")
    add("--known", metavar="CSV", help="rows of an earlier comparison, not to be computed again")
    add_roles(parser.add_argument_group("for a table of your own"), required=False)  # type: ignore[arg-type]
    parser.set_defaults(command=_bench)


def _bench(args: argparse.Namespace) -> Report:
    if args.jobs == 0 or args.jobs < -1:
        raise ValueError(f"--jobs {args.jobs} must be a number of processes, or -1 for all cores.")
    if args.results is not None:
        return report_results(args.results, args.out, methods=args.methods, command=args.typed)
    names = "known methods runs metric train_fraction grid seed data_home jobs scheduler quiet"
    settings = {name: getattr(args, name) for name in names.split()}
    stratify = not args.no_stratify
    return report_bench(
        _datasets(args), args.out or "report", stratify=stratify, command=args.typed, **settings
    )


def _datasets(args: argparse.Namespace) -> Any:
    """Return names of data sets, or the tables that are named, by their names."""
    names = args.datasets or ["digits"]
    tables = [name for name in names if _is_table(name)]
    if not tables:
        if args.task or args.target:
            raise ValueError(f"--task and --target are for a table, and {names[0]!r} is not one.")
        return names
    if len(tables) < len(names):
        other = next(name for name in names if name not in tables)
        raise ValueError(f"{other!r} is not a table: compare tables and data sets apart.")
    if not args.task or not args.target:
        raise ValueError(f"{tables[0]} is a table: name its columns by --task and --target.")
    roles = roles_of(args)
    return {_stem(name): as_bunch(read_table(name), **roles) for name in tables}


def _is_table(name: str) -> bool:
    return name == STDIN or name.lower().removesuffix(".gz").endswith(ENDINGS)


def _stem(name: str) -> str:
    return "table" if name == STDIN else Path(name).name.split(".")[0]


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
    write_line = import_extra("tqdm", "bench").tqdm.write
    for module in ("pandas", "matplotlib"):
        import_extra(module, "bench")
    there = [] if known is None else known_rows(known)
    store = Path(out) / STORE
    with Store(store) as rows:
        for row in there:
            rows.write(row)
        done = fill(rows, planned, n_jobs=jobs, scheduler=scheduler)
        bar = not quiet and sys.stderr.isatty()  # every row has a line of its own
        for number, (row, old) in enumerate(shown(done, len(planned), bar), start=1):
            if not quiet:
                write_line(f"[{number}/{len(planned)}] {describe(row, old)}")
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


def describe(row: Row, old: bool) -> str:
    """Return a row in a few words."""
    name = f"{title(row['dataset'])} {label(row['method'])} run {row['run']}"
    if row["error"] is not None:
        return f"{name}: failed, {row['error']}"
    metric = METRICS[row["metric"]]
    score = f"{100.0 * row['score']:.2f} %" if metric.percent else f"{row['score']:.4g}"
    when = "already there" if old else f"{row['seconds']:.1f} s"
    return f"{name}: {metric.name} {score} ({when})"
