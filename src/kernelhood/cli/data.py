"""``kernelhood data``: list, fetch and check the data sets."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from kernelhood.cli import Report
from kernelhood.datasets._files import (
    BASE_URL,
    REGISTRY,
    DataSet,
    FetchError,
    FileStatus,
    check,
    fetch,
    get_data_home,
)


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``data`` and their arguments."""
    parser.epilog = "Example: kernelhood data fetch letter"
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


def report_list(
    data_home: str | os.PathLike[str] | None = None,
    *,
    registry: Mapping[str, DataSet] = REGISTRY,
) -> Report:
    """Report the known data sets and how many of their files are there."""
    lines = [f"data home: {get_data_home(data_home)}"]
    for name, dataset in registry.items():
        folder = get_data_home(data_home) / dataset.folder
        there = sum(any((folder / n).is_file() for n in file.names) for file in dataset.files)
        files = f"{there} of {len(dataset.files)} files"
        lines.append(f"{name:<10}{files:<17}{dataset.summary}")
    return Report("\n".join(lines))


def report_check(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    registry: Mapping[str, DataSet] = REGISTRY,
) -> Report:
    """Report which files of a data set are there with the right checksum."""
    statuses = check(name, data_home, registry=registry)
    good = all(status.good for status in statuses)
    lines = _table(statuses)
    for status in statuses:
        if status.state == "differs":
            lines.append(f"{status.path}: sha256 of the content should be {status.file.sha256}")
    if not good:
        lines.append(f"`kernelhood data fetch {name}` gets what is missing or differs.")
    return Report("\n".join(lines), good)


def report_fetch(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    base_url: str = BASE_URL,
    registry: Mapping[str, DataSet] = REGISTRY,
    progressbar: bool = True,
) -> Report:
    """Fetch a data set, and report what was fetched and what is left to do by hand."""
    problems = []
    try:
        statuses = fetch(
            name, data_home, base_url=base_url, registry=registry, progressbar=progressbar
        )
    except FetchError as error:
        problems = ["", str(error)]
        statuses = check(name, data_home, registry=registry)
    lines = [*_table(statuses), *problems]
    for status in statuses:
        if not status.good:
            lines += _instructions(status, registry[name])
    return Report("\n".join(lines), all(status.good for status in statuses))


def _table(statuses: list[FileStatus]) -> list[str]:
    return [f"{status.state:<9}{status.path}" for status in statuses]


def _instructions(status: FileStatus, dataset: DataSet) -> list[str]:
    why = " (no address of it can be relied on)" if status.file.address is None else ""
    or_gzip = " or, gzipped, as " + status.file.names[1] if status.file.gzip_too else ""
    return [
        "",
        f"To get {status.file.name} yourself{why}:",
        f"  from    {dataset.source}",
        f"  sha256  {status.file.sha256}",
        f"  put it  {status.path.parent / status.file.name}{or_gzip}",
    ]
