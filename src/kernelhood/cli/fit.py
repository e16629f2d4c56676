"""``kernelhood fit``: from a table to a model file."""

from __future__ import annotations

import argparse
from typing import Any

from kernelhood.cli.command import check_place
from kernelhood.cli.roles import add_roles, roles_of
from kernelhood.datasets._report import Report
from kernelhood.inspection.contents import grid, inspect_model, score_cells, summary_lines
from kernelhood.tables import fit_table, read_table
from kernelhood.tables.files import ending
from kernelhood.tables.model_files import save

EXAMPLE = """Examples:
  kernelhood fit loads.csv --task zone --target load --out model.skops
  kernelhood fit sales.parquet --task shop --target sold --groups region --holdout 0.2 --out m.skops
  kernelhood fit loads.csv --task zone --target load --holdout-after 2008-01-01 --out model.skops"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``fit``."""
    add = parser.add_argument
    add("table", metavar="TABLE", help="CSV, Parquet or SVMlight by its ending; - for CSV on stdin")
    add("--out", metavar="FILE", required=True, help="model file to write, such as model.skops")
    add_roles(parser, required=True)
    add("--holdout", type=float, metavar="SHARE", help="part of each task that only judges")
    add("--holdout-after", metavar="WHEN", help="later rows only judge: a date, or COLUMN=VALUE")
    add("--holdout-tasks", type=float, metavar="SHARE", help="part of the tasks that only judges")
    add("--quantiles", type=float, nargs="+", metavar="LEVEL", default=[], help="such as 0.1 0.9")
    add("-v", "--verbose", action="store_true", help="print a line about every fit")
    parser.set_defaults(command=_fit)


def _fit(args: argparse.Namespace) -> Report:
    ending(args.table)
    check_place(args.out)
    table = read_table(args.table)
    model = fit_table(
        table,
        **roles_of(args),
        holdout=args.holdout,
        holdout_after=args.holdout_after,
        holdout_tasks=args.holdout_tasks,
        quantiles=args.quantiles,
        verbose=int(args.verbose),
    )
    save(model, args.out, command=args.typed)
    return Report("\n".join([*_summary(model), "", f"wrote {args.out}"]), good=True)


def _summary(model: Any) -> list[str]:
    """Return what was done, how good it is, and what is worth a look."""
    found = inspect_model(model)
    record = model.record
    lines = [f"{record['rows']} rows, {len(record['tasks'])} tasks, {model.kind} of {model.target}"]
    lines += [
        f"  {line}" for line in grid([[n, t] for n, t in list(record["columns"].items())[:30]])
    ]
    lines += ["", *summary_lines(found), "", *([found.report.summary()] if found.report else [])]
    head, rows = score_cells(found)
    if rows:
        lines += ["", f"{record['metric']} on {record['judged']}", *grid([head, *rows])]
    if found.notes:
        lines += ["", *(f"note: {note}" for note in found.notes)]
    return lines
