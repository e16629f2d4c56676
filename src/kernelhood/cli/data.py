"""``kernelhood data``: list, fetch and check the data sets."""

from __future__ import annotations

import argparse

from kernelhood.datasets._files import REGISTRY
from kernelhood.datasets._report import report_check, report_fetch, report_list

EXAMPLE = "Example: kernelhood data fetch letter"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
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
