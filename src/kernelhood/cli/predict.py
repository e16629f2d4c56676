"""``kernelhood predict``: rows of a table through a model file, a block at a time."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelhood._support import import_extra, whole_file
from kernelhood.cli.command import check_place, progress_bar, using_model
from kernelhood.datasets._report import Report
from kernelhood.estimators.reading import as_objects
from kernelhood.tables import TableModel, read_blocks
from kernelhood.tables.files import STDIN, ending
from kernelhood.tables.model import OWN, SHARED, UNSEEN, FramedModel, warn_of_unseen
from kernelhood.tables.model_files import load

EXAMPLE = """Examples:
  kernelhood predict model.skops new.csv --out predictions.csv
  cat new.csv | kernelhood predict model.skops - --unseen error > predictions.csv"""

Writer = Callable[[Any], None]

_FORMS = (".csv", ".tsv", ".parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``predict``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="file that fit or kernelhood.save has written")
    add("table", metavar="TABLE", help="rows to predict; - for CSV on standard input")
    add("--task", metavar="COLUMN", help="column of tasks, for a model that fit has not written")
    add("--out", metavar="FILE", default=STDIN, help="CSV, TSV or Parquet (default: CSV on stdout)")
    add(
        "--unseen",
        choices=UNSEEN,
        default=UNSEEN[0],
        help="tasks not in the fit: predict them by what all share, named or not (default: warn)",
    )
    add("--keep", nargs="+", metavar="COLUMN", default=[], help="columns to copy to the output")
    add("-q", "--quiet", action="store_true", help="show no progress bar")
    parser.set_defaults(command=_predict)


def _predict(args: argparse.Namespace) -> Report:
    ending(args.table)
    if args.out != STDIN:
        check_place(args.out)
        if Path(args.out).suffix.lower() not in _FORMS:
            raise ValueError(f"--out {args.out} must end in {', '.join(_FORMS)}.")
    model = load(args.model)
    if not isinstance(model, TableModel):
        with using_model(args.model):
            model = FramedModel(model, args.task)
    elif args.task is not None and args.task != model.task:
        raise ValueError(f"--task {args.task!r}: {args.model} names its tasks by {model.task!r}.")
    rows, strange, shared = _stream(model, args)
    if args.unseen == "warn":
        warn_of_unseen(as_objects(shared))
    if args.out == STDIN:
        return Report("", good=True)
    what = f"predicted {rows:,} rows"
    if strange:
        what += f", {strange:,} of them of tasks that were not in the fit"
    return Report(f"{what}\nwrote {args.out}", good=True)


def _stream(
    model: TableModel | FramedModel, args: argparse.Namespace
) -> tuple[int, int, list[Hashable]]:
    """Predict block by block.

    Return how many rows there are, how many of unseen tasks, and those that only the function of
    all tasks can predict.
    """
    rows = strange = 0
    shared: dict[Hashable, None] = {}
    # Tasks of all blocks are named at once, at the end.
    unseen = "error" if args.unseen == "error" else "shared"
    with _written(args.out) as write, progress_bar(None, args.quiet or args.out == STDIN) as bar:
        for block in read_blocks(args.table):
            with using_model(args.model):
                found = model.predict_frame(block, unseen=unseen)
            found.insert(0, "row", range(rows + 1, rows + 1 + len(found)))
            write(_kept(found, block, args.keep))
            rows += len(found)
            strange += int((found["by"] != OWN).sum())
            shared.update(dict.fromkeys(found["task"][found["by"] == SHARED].tolist()))
            bar.update(len(found))
        if rows == 0:
            raise ValueError(f"{args.table} has no rows.")
    return rows, strange, list(shared)


def _kept(found: Any, block: Any, names: list[str]) -> Any:
    for name in names:
        if name not in block.columns:
            raise ValueError(f"--keep {name!r} is no column of the table.")
        if name not in found.columns:
            found[name] = block[name]
    return found


@contextmanager
def _written(out: str) -> Iterator[Writer]:
    """Give a function that writes a block; the file appears when all blocks are in it."""
    if out == STDIN:
        # A table is UTF-8 wherever it goes: `predict -` and `fit -` read nothing else.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        yield _text_writer(sys.stdout, ",")
    elif out.lower().endswith(".parquet"):
        with whole_file(out) as file, _parquet_writer(file) as write:
            yield write
    else:
        with whole_file(out) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
            yield _text_writer(text, "\t" if out.lower().endswith(".tsv") else ",")
            text.detach()


def _text_writer(file: Any, separator: str) -> Writer:
    head = [True]

    def write(block: Any) -> None:
        block.to_csv(file, sep=separator, index=False, header=head[0], lineterminator="\n")
        head[0] = False

    return write


@contextmanager
def _parquet_writer(file: Any) -> Iterator[Writer]:
    arrow, parquet = import_extra("pyarrow", "table"), import_extra("pyarrow.parquet", "table")
    opened: list[Any] = []

    def write(block: Any) -> None:
        table = arrow.Table.from_pandas(block, preserve_index=False)
        if not opened:
            opened.append(parquet.ParquetWriter(file, table.schema))
        opened[0].write_table(table.cast(opened[0].schema))

    try:
        yield write
    finally:
        for one in opened:
            one.close()
