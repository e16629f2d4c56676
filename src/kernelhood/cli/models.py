"""``kernelhood fit``, ``predict`` and ``inspect``: from a table to a model and back."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelhood._support import import_extra, whole_file
from kernelhood.cli import Report
from kernelhood.estimators.reading import as_objects
from kernelhood.inspection.contents import (
    grid,
    inspect_model,
    score_cells,
    summary_lines,
    to_text,
)
from kernelhood.inspection.page import to_html
from kernelhood.parallel import shown
from kernelhood.tables import (
    TableModel,
    fit_table,
    load,
    read_blocks,
    read_header,
    read_table,
    save,
)
from kernelhood.tables.files import BLOCK_ROWS, STDIN, ending
from kernelhood.tables.model import OWN, SHARED, UNSEEN, FramedModel, warn_of_unseen
from kernelhood.tables.roles import CLASSIFICATION, REGRESSION

Writer = Callable[[Any], None]

_FORMS = (".csv", ".tsv", ".parquet")


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``fit``."""
    parser.epilog = """Examples:
  kernelhood fit loads.csv --task zone --target load --out model.skops
  kernelhood fit sales.parquet --task shop --target sold --groups region --holdout 0.2 --out m.skops
  kernelhood fit loads.csv --task zone --target load --holdout-after 2008-01-01 --out model.skops"""
    add = parser.add_argument
    add("table", metavar="TABLE", help="CSV, Parquet or SVMlight by its ending; - for CSV on stdin")
    add("--out", metavar="FILE", required=True, help="model file to write, such as model.skops")
    add_roles(parser, required=True)
    add("--holdout", type=float, metavar="SHARE", help="share of each task's rows to hold out")
    add("--holdout-after", metavar="WHEN", help="hold out later rows: a date, or COLUMN=VALUE")
    add("--holdout-tasks", type=float, metavar="SHARE", help="share of the tasks to hold out")
    quantiles = "quantiles to predict, too, such as 0.05 0.95 for a 90 %% interval"
    add("--quantiles", type=float, nargs="+", metavar="LEVEL", default=[], help=quantiles)
    add("-v", "--verbose", action="store_true", help="print a line about every fit")
    parser.set_defaults(command=_fit)


def _fit(args: argparse.Namespace) -> Report:
    ending(args.table)
    _check_place(args.out)
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
    return Report("\n".join([*_summary(model), "", f"wrote {args.out}"]))


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


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``predict``."""
    parser.epilog = """Examples:
  kernelhood predict model.skops new.csv --out predictions.csv
  cat new.csv | kernelhood predict model.skops - --unseen error > predictions.csv"""
    add = parser.add_argument
    add("model", metavar="MODEL", help="file that fit or kernelhood.save has written")
    add("table", metavar="TABLE", help="rows to predict; - for CSV on standard input")
    add("--task", metavar="COLUMN", help="column of tasks, for a model that fit has not written")
    add("--out", metavar="FILE", default=STDIN, help="CSV, TSV or Parquet (default: CSV on stdout)")
    add(
        "--unseen",
        choices=UNSEEN,
        default=UNSEEN[0],
        help="tasks not in the fit: predict them by what all share, or refuse (default: warn)",
    )
    add("--keep", nargs="+", metavar="COLUMN", default=[], help="columns to copy to the output")
    add("-q", "--quiet", action="store_true", help="show no progress bar")
    parser.set_defaults(command=_predict)


def _predict(args: argparse.Namespace) -> Report:
    ending(args.table)
    if args.out != STDIN:
        _check_place(args.out)
        if Path(args.out).suffix.lower() not in _FORMS:
            raise ValueError(f"--out {args.out} must end in {', '.join(_FORMS)}.")
    model = load(args.model)
    if not isinstance(model, TableModel):
        with _using_model(args.model):
            model = FramedModel(model, args.task)
    elif args.task is not None and args.task != model.task:
        raise ValueError(f"--task {args.task!r}: {args.model} names its tasks by {model.task!r}.")
    rows, strange, shared = _stream(model, args)
    if args.unseen == "warn":
        warn_of_unseen(as_objects(shared))
    if args.out == STDIN:
        return Report("")
    what = f"predicted {rows:,} rows"
    if strange:
        what += f", {strange:,} of them of tasks that were not in the fit"
    return Report(f"{what}\nwrote {args.out}")


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
    blocks, verbose = read_blocks(args.table), not args.quiet and args.out != STDIN
    with _written(args.out) as write:
        for block in shown(blocks, None, verbose, unit=" rows", scale=BLOCK_ROWS):
            with _using_model(args.model):
                found = model.predict_frame(block, unseen=unseen)
            found.insert(0, "row", range(rows + 1, rows + 1 + len(found)))
            write(_kept(found, block, args.keep))
            rows += len(found)
            strange += int((found["by"] != OWN).sum())
            shared.update(dict.fromkeys(found["task"][found["by"] == SHARED].tolist()))
        if rows == 0:
            raise ValueError(f"{args.table} has no rows.")
    return rows, strange, list(shared)


def _kept(found: Any, block: Any, names: list[str]) -> Any:
    for name in names:
        if name not in block.columns:
            raise ValueError(f"--keep {name!r} is not a column of the table.")
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


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``inspect``."""
    parser.epilog = "Example: kernelhood inspect model.skops --out inspection.html"
    parser.add_argument(
        "model", metavar="MODEL", help="file that fit or kernelhood.save has written"
    )
    parser.add_argument("--out", metavar="FILE", help="HTML page to write as well")
    parser.set_defaults(command=_inspect)


def _inspect(args: argparse.Namespace) -> Report:
    if args.out is not None:
        _check_place(args.out)
    model, header = load(args.model), read_header(args.model)
    with _using_model(args.model):
        found = inspect_model(model, header)
        text = to_text(found)
        page = None if args.out is None else to_html(found).encode("utf-8")
    if page is None:
        return Report(text)
    with whole_file(args.out) as file:
        file.write(page)
    return Report(f"{text}\n\nwrote {args.out}")


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
    add("--max-classes", type=int, metavar="N", help="most values that are taken for classes")
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


def _check_place(path: str) -> None:
    """Raise if a file cannot be written, before any work is done for it."""
    place = Path(path)
    if place.is_dir():
        raise ValueError(f"--out {path} is a folder; name a file.")
    if place.exists() and not place.is_file():
        raise ValueError(f"--out {path} is not a regular file; name another.")
    if not place.parent.is_dir():
        raise ValueError(f"--out {path}: there is no folder {place.parent}.")


@contextmanager
def _using_model(path: str) -> Iterator[None]:
    """Name the model file in errors that only a file whose parts do not fit together can cause."""
    try:
        yield
    except (ImportError, OSError, ValueError, MemoryError):
        raise
    except Exception as error:  # a changed file can fail anywhere
        raise ValueError(
            f"{path} is damaged: its parts do not fit together ({type(error).__name__}: {error})."
        ) from error
