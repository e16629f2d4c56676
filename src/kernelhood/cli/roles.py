"""The options that say which column of a table is what."""

from __future__ import annotations

import argparse
from typing import Any

from kernelhood.tables.roles import CLASSIFICATION, REGRESSION


def add_roles(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the options that name columns.

    Parameters
    ----------
    parser : ArgumentParser
        Of a command that reads a table.
    required : bool
        Whether task and target have to be named.
    """
    add = parser.add_argument
    add("--task", metavar="COLUMN", required=required, help="column that names the task")
    add("--target", metavar="COLUMN", required=required, help="column to predict")
    add("--kind", choices=(CLASSIFICATION, REGRESSION), help="default: from the target's values")
    add("--max-classes", type=int, metavar="N", help="take so many values for classes")
    add("--groups", metavar="COLUMN", help="column that groups tasks, such as their region")
    add("--occasion", metavar="COLUMN", help="column whose values share a shock, such as the week")
    add("--features", nargs="+", metavar="COLUMN", help="columns to learn from (default: others)")
    add("--drop", nargs="+", metavar="COLUMN", default=[], help="columns not to learn from")
    add("--categories", nargs="+", metavar="COLUMN", default=[], help="numbers that are labels")
    add("--dates", nargs="+", metavar="COLUMN", default=[], help="columns that are dates")


def roles_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that name columns, as `fit_table` takes them."""
    names = "task target kind max_classes groups occasion features drop categories dates"
    return {name: getattr(args, name) for name in names.split()}
