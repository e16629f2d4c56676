"""The command line: argument parsing only."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kernelhood.datasets._registry import REGISTRY
from kernelhood.datasets._report import Report, report_check, report_fetch, report_list

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
        0 if all is well, 1 if something is missing or failed.
    """
    arguments = _build_parser().parse_args(argv)
    command: Command = arguments.command
    try:
        report = command(arguments)
    except (ImportError, OSError, ValueError) as error:
        print(f"kernelhood: {error}", file=sys.stderr)
        return 1
    print(report.text)
    return 0 if report.good else 1


def _build_parser() -> argparse.ArgumentParser:
    """Return the parser; each group of commands adds itself in a function of its own."""
    parser = argparse.ArgumentParser(prog="kernelhood", description="Learned kernels, many tasks.")
    groups = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_data(groups.add_parser("data", help="list, fetch and check the data sets"))
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
