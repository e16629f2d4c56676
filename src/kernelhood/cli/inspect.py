"""``kernelhood inspect``: what a model file has learned, and how far to trust it."""

from __future__ import annotations

import argparse

from kernelhood._support import whole_file
from kernelhood.cli.command import check_place, using_model
from kernelhood.datasets._report import Report
from kernelhood.inspection.contents import inspect_model, to_text
from kernelhood.inspection.page import to_html
from kernelhood.tables.model_files import load, read_header

EXAMPLE = "Example: kernelhood inspect model.skops --out inspection.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``inspect``."""
    parser.add_argument(
        "model", metavar="MODEL", help="file that fit or kernelhood.save has written"
    )
    parser.add_argument("--out", metavar="FILE", help="HTML page to write as well")
    parser.set_defaults(command=_inspect)


def _inspect(args: argparse.Namespace) -> Report:
    if args.out is not None:
        check_place(args.out)
    model, header = load(args.model), read_header(args.model)
    with using_model(args.model):
        found = inspect_model(model, header)
        text = to_text(found)
        page = None if args.out is None else to_html(found).encode("utf-8")
    if page is None:
        return Report(text, good=True)
    with whole_file(args.out) as file:
        file.write(page)
    return Report(f"{text}\n\nwrote {args.out}", good=True)
