"""Tables in files: CSV, Parquet and SVMlight, block by block, as data frames."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from kernelhood._extras import import_extra
from kernelhood.tables.formats.delimited import delimited_blocks
from kernelhood.tables.formats.svmlight import svmlight_blocks

STDIN = "-"

#: Rows that are held at a time.
BLOCK_ROWS = 4096

_TEXT: dict[str, Callable[[BinaryIO, str], Iterator[Any]]] = {
    ".csv": delimited_blocks,
    ".tsv": delimited_blocks,
    ".txt": delimited_blocks,
    ".svm": svmlight_blocks,
    ".svmlight": svmlight_blocks,
    ".libsvm": svmlight_blocks,
}
_PARQUET = (".parquet", ".pq")

#: What names of tables end in.
ENDINGS = (*_TEXT, *_PARQUET)


def ending(path: str | PathLike[str]) -> str:
    """Return what the name of a table ends in, or raise where no table is known to.

    Parameters
    ----------
    path : path-like
        The name; ``-`` is standard input, which is read as CSV, and ``.gz`` may follow text.

    Examples
    --------
    >>> ending("loads.csv.gz"), ending("loads.parquet"), ending("-")
    ('.csv', '.parquet', '.csv')
    """
    if str(path) == STDIN:
        return ".csv"
    name = Path(path).name.lower()
    plain = name.removesuffix(".gz")
    found = Path(plain).suffix
    if found not in ENDINGS or (plain != name and found in _PARQUET):
        raise ValueError(
            f"{path} is no table by its name: it must end in {', '.join(ENDINGS)} or, for text, "
            "in .gz after that; - reads CSV from standard input."
        )
    return found


def read_blocks(path: str | PathLike[str], *, rows: int = BLOCK_ROWS) -> Iterator[Any]:
    r"""Yield the rows of a table as data frames of at most `rows` rows.

    Parameters
    ----------
    path : path-like
        CSV, Parquet or SVMlight by its ending; ``-`` is CSV from standard input.
    rows : int
        Rows to hold at a time, beside what a block of the file needs.

    Yields
    ------
    DataFrame
        CSV gives text, as it stands in the file. SVMlight gives numbers in the columns "target",
        "qid" where there is one, and "1", "2", ... for the features.

    Examples
    --------
    >>> import tempfile
    >>> from kernelhood.tables import read_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "shops.csv"
    ...     _ = path.write_text("shop,sold\n" + "Bonn,3\n" * 5)
    ...     [len(block) for block in read_blocks(path, rows=2)]
    [2, 2, 1]
    """
    kind = ending(path)
    import_extra("pyarrow", "table")
    import_extra("pandas", "table")
    blocks = _parquet_blocks(path) if kind in _PARQUET else _text_blocks(path, _TEXT[kind])
    for block in blocks:
        for start in range(0, len(block), rows):
            yield block.iloc[start : start + rows].reset_index(drop=True)


def read_table(path: str | PathLike[str]) -> Any:
    r"""Return a whole table as a data frame.

    Parameters
    ----------
    path : path-like
        As `read_blocks` takes it.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import tempfile
    >>> from kernelhood.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "shops.csv"
    ...     _ = path.write_text("shop,sold\nBonn,3\n")
    ...     read_table(path)["shop"].tolist()
    ['Bonn']
    """
    pd = import_extra("pandas", "table")
    blocks = list(read_blocks(path, rows=2**20))
    if not blocks:
        raise ValueError(f"{_said(path)} has no rows.")
    if len({len(block.columns) for block in blocks}) == 1:
        return pd.concat(blocks, ignore_index=True)
    # An entry that an SVMlight file leaves out is 0, and so is a feature that a block lacks.
    widest = max((block.columns for block in blocks), key=len)
    same = [block.reindex(columns=widest, fill_value=0.0) for block in blocks]
    return pd.concat(same, ignore_index=True)


def _said(path: str | PathLike[str]) -> str:
    return "standard input" if str(path) == STDIN else str(path)


def _text_blocks(
    path: str | PathLike[str], read: Callable[[BinaryIO, str], Iterator[Any]]
) -> Iterator[Any]:
    if str(path) == STDIN:
        yield from read(sys.stdin.buffer, _said(path))
        return
    opened = gzip.open if str(path).lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        yield from read(file, str(path))  # type: ignore[arg-type]


def _parquet_blocks(path: str | PathLike[str]) -> Iterator[Any]:
    parquet = import_extra("pyarrow.parquet", "table")
    arrow = import_extra("pyarrow", "table")
    with open(path, "rb") as file:
        try:
            table = parquet.ParquetFile(file)
            names = table.schema_arrow.names
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{path}: column {twice[0]!r} occurs twice.")
            for batch in table.iter_batches(batch_size=2**16):
                yield batch.to_pandas()
        except arrow.ArrowException as error:
            raise ValueError(f"{path} cannot be read as Parquet: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
