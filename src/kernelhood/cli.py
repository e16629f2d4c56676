"""The command line: argument parsing only."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kernelhood.datasets._files import REGISTRY
from kernelhood.datasets._report import Report, report_check, report_fetch, report_list
from kernelhood.experiments.bench import report_bench, report_results
from kernelhood.experiments.data import LOADERS
from kernelhood.experiments.methods import GRIDS, offered_methods
from kernelhood.experiments.protocol import METRICS

Command: TypeAlias = Callable[[argparse.Namespace], Report]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of ``kernelhood`` and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    code : int
        0 if all is well, 1 if something is missing or failed, 130 after an interrupt.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    arguments = _build_parser().parse_args(words)
    arguments.typed = shlex.join(["kernelhood", *words])
    command: Command = arguments.command
    try:
        report = command(arguments)
    except (ImportError, OSError, ValueError) as error:
        print(f"kernelhood: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("kernelhood: interrupted", file=sys.stderr)
        return 130
    print(report.text)
    return 0 if report.good else 1


def _build_parser() -> argparse.ArgumentParser:
    """Return the parser; each group of commands adds itself in a function of its own."""
    parser = argparse.ArgumentParser(prog="kernelhood", description="Learned kernels, many tasks.")
    groups = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_data(groups.add_parser("data", help="list, fetch and check the data sets"))
    _add_bench(groups.add_parser("bench", help="compare the methods as the paper does"))
    return parser


def _add_data(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="ACTION")
    listing = commands.add_parser("list", help="show the data sets and what is there")
    listing.set_defaults(command=lambda args: report_list(args.data_home))
    fetching = commands.add_parser("fetch", help="download the files of a data set")
    fetching.add_argument("-q", "--quiet", action="store_true", help="show no progress bar")
    fetching.set_defaults(
        command=lambda args: report_fetch(args.name, args.data_home, progressbar=not args.quiet)
    )
    checking = commands.add_parser("check", help="compare the files with their checksums")
    checking.set_defaults(command=lambda args: report_check(args.name, args.data_home))
    for command in (fetching, checking):
        command.add_argument("name", metavar="NAME", choices=REGISTRY, help=", ".join(REGISTRY))
    for command in (listing, fetching, checking):
        command.add_argument(
            "--data-home", metavar="DIR", help="folder of the data (default: KERNELHOOD_DATA)"
        )


def _add_bench(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("datasets", nargs="*", metavar="DATASET", help=f"{', '.join(LOADERS)} (default: digits)")
    add("--methods", nargs="+", metavar="NAME", choices=offered_methods(), help="default: all")
    add("--runs", type=int, default=3, metavar="N", help="random splits of each set (default: 3)")
    add("--metric", nargs="+", choices=METRICS, help="default: accuracy and mse")
    add("--train-fraction", type=float, default=0.2, metavar="F", help="default: 0.2")
    add("--grid", choices=GRIDS, default="quick", help="hyper-parameters (default: quick)")
    add("--seed", type=int, default=0, metavar="N", help="all but the time follows from it")
    add("--data-home", metavar="DIR", help="folder of the data (default: KERNELHOOD_DATA)")
    add("--out", metavar="DIR", help="folder of the report and of runs.sqlite (default: report)")
    add("--jobs", type=int, default=-1, metavar="N", help="processes (default: all cores)")
    add("--scheduler", metavar="ADDRESS", help="Dask scheduler that does the work, tcp://HOST:PORT")
    add("-q", "--quiet", action="store_true", help="show no progress")
    add("--results", metavar="CSV", help="only draw the report of these rows again")
    parser.set_defaults(command=_bench)


def _bench(args: argparse.Namespace) -> Report:
    if args.results is not None:
        return report_results(args.results, args.out, command=args.typed)
    return report_bench(
        args.datasets or ["digits"],
        args.out or "report",
        methods=args.methods,
        runs=args.runs,
        metric=args.metric,
        train_fraction=args.train_fraction,
        grid=args.grid,
        seed=args.seed,
        data_home=args.data_home,
        jobs=args.jobs,
        scheduler=args.scheduler,
        quiet=args.quiet,
        command=args.typed,
    )
