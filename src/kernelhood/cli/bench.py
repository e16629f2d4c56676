"""``kernelhood bench``: the paper's comparison, or the same on a table of one's own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kernelhood.cli.roles import add_roles, roles_of
from kernelhood.datasets._report import Report
from kernelhood.paper.bench import report_bench, report_results
from kernelhood.paper.methods import GRIDS, offered_methods
from kernelhood.paper.protocol import LOADERS, METRICS
from kernelhood.tables import read_table
from kernelhood.tables.files import ENDINGS, STDIN
from kernelhood.tables.roles import as_bunch

_METHODS = "default: those of the paper and the variants of MT-ONMKL"

EXAMPLE = """Examples:
  kernelhood bench
  kernelhood bench letter spam --runs 20 --grid paper --out report
  kernelhood bench my.csv --task store --target sales
  kernelhood bench --results report/results.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``bench``."""
    add = parser.add_argument
    names = f"{', '.join(LOADERS)} (default: digits), or a table"
    add("datasets", nargs="*", metavar="DATASET", help=names)
    add("--methods", nargs="+", metavar="NAME", choices=offered_methods(), help=_METHODS)
    add("--runs", type=int, default=3, metavar="N", help="random splits of each set (default: 3)")
    add("--metric", nargs="+", choices=METRICS, help="default: accuracy and mse")
    add("--train-fraction", type=float, default=0.2, metavar="F", help="default: 0.2")
    add("--no-stratify", action="store_true", help="draw rows without a look at their classes")
    add("--grid", choices=GRIDS, default="quick", help="hyper-parameters (default: quick)")
    add("--seed", type=int, default=0, metavar="N", help="all but the time follows from it")
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
    return report_bench(
        _datasets(args),
        args.out or "report",
        known=args.known,
        methods=args.methods,
        runs=args.runs,
        metric=args.metric,
        train_fraction=args.train_fraction,
        stratify=not args.no_stratify,
        grid=args.grid,
        seed=args.seed,
        data_home=args.data_home,
        jobs=args.jobs,
        scheduler=args.scheduler,
        quiet=args.quiet,
        command=args.typed,
    )


def _datasets(args: argparse.Namespace) -> Any:
    """Return names of data sets, or the tables that are named, by their names."""
    names = args.datasets or ["digits"]
    tables = [name for name in names if _is_table(name)]
    if not tables:
        if args.task or args.target:
            raise ValueError(f"--task and --target are for a table, and {names[0]!r} is none.")
        return names
    if len(tables) < len(names):
        other = next(name for name in names if name not in tables)
        raise ValueError(f"{other!r} is no table: compare tables and data sets apart.")
    if not args.task or not args.target:
        raise ValueError(f"{tables[0]} is a table: name its columns by --task and --target.")
    roles = roles_of(args)
    return {_stem(name): as_bunch(read_table(name), **roles) for name in tables}


def _is_table(name: str) -> bool:
    return name == STDIN or name.lower().removesuffix(".gz").endswith(ENDINGS)


def _stem(name: str) -> str:
    return "table" if name == STDIN else Path(name).name.split(".")[0]
