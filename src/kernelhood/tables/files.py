"""CSV and its kin, as text: what a column holds is decided later, from all of it."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kernelhood._support import import_extra

#: The longest line, in bytes. Longer ones are not tables, and would fill the memory.
LONGEST_LINE = 2**22

_BLOCK, _LINES_OF_A_BLOCK = 2**20, 64
_SEPARATORS = ",;\t"
_SHOWN = 200


def delimited_blocks(file: BinaryIO, name: str) -> Iterator[Any]:
    """Yield the rows of a delimited file as data frames of text.

    Parameters
    ----------
    file : binary file
        UTF-8 text with a header. Fields are separated by the one of comma, semicolon and tab that
        the header has most of; double quotes enclose a field that holds one.
    name : str
        What errors call the file.
    """
    header, separator = _read_header(file, name)
    # The parser reads dozens of blocks ahead: small ones keep memory flat.
    block = min(max(_BLOCK, _LINES_OF_A_BLOCK * len(separator.join(header))), LONGEST_LINE)
    arrow, arrow_csv = import_extra("pyarrow", "table"), import_extra("pyarrow.csv", "table")
    try:
        reader = arrow_csv.open_csv(
            arrow.PythonFile(file, mode="r"),
            read_options=arrow_csv.ReadOptions(
                column_names=header, block_size=block, use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(header, arrow.string()), strings_can_be_null=False
            ),
        )
        for batch in reader:
            yield batch.to_pandas()
    except arrow.ArrowException as error:
        if "Empty CSV file" in str(error):
            return
        raise ValueError(f"{name} cannot be read as CSV: {_explained(error, block)}") from error


def _read_header(file: BinaryIO, name: str) -> tuple[list[str], str]:
    """Return the names of the columns and what separates fields."""
    line = file.readline(LONGEST_LINE + 1)
    while line.count(b'"') % 2 and len(line) <= LONGEST_LINE:
        more = file.readline(LONGEST_LINE + 1)
        if not more:
            break
        line += more
    if len(line) > LONGEST_LINE:
        raise ValueError(f"{name}: line 1 is longer than {LONGEST_LINE} bytes: not a table.")
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError(f"{name} is text in UTF-16: save it as CSV in UTF-8.")
    if b"\0" in line:
        raise ValueError(f"{name} is not text: it holds a zero byte in line 1.")
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not text in UTF-8: byte {error.start + 1} is {line[error.start]:#04x}; "
            "save it as CSV in UTF-8."
        ) from error
    if not text.strip():
        raise ValueError(f"{name} has no header: the first line must name the columns.")
    separator = max(_SEPARATORS, key=text.count)
    header = _fields(text, separator, name)
    twice = [one for one, count in Counter(header).items() if count > 1]
    if twice:
        raise ValueError(f"{name}: column {twice[0]!r} occurs twice in the header.")
    return header, separator


def _fields(text: str, separator: str, name: str) -> list[str]:
    limit = csv.field_size_limit(LONGEST_LINE)
    try:
        rows = list(csv.reader([text], delimiter=separator))
    except csv.Error as error:
        if "\r" in text:
            raise ValueError(
                f"{name}: lines end in a carriage return alone; save it with line ends LF or CRLF."
            ) from error
        raise ValueError(f"{name}: line 1 cannot be read as a header: {error}.") from error
    finally:
        csv.field_size_limit(limit)
    return [field.strip() for field in rows[0]]


def _explained(error: BaseException, block: int) -> str:
    """Return the first line of an error of the parser, in words that help."""
    text = str(error).strip().splitlines()[0]
    if "straddling" in text:
        return f"a line is longer than {block} bytes."
    if "UTF8" in text:
        return "it is not text in UTF-8; save it as CSV in UTF-8."
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_LINES = 2**14
_LONGEST_LINE = 2**22
#: Numbers that a table of zeros and others may hold at a time, a gigabyte of them.
_MOST = 2**27


def svmlight_blocks(file: BinaryIO, name: str) -> Iterator[Any]:
    """Yield the rows of an SVMlight file as data frames.

    Parameters
    ----------
    file : binary file
        Lines such as ``1 qid:3 1:0.5 4:2``, features numbered from 1.
    name : str
        What errors call the file.
    """
    pd = import_extra("pandas", "table")
    width, has_qid = 0, None
    while lines := list(islice(_lines(file, name), _LINES)):
        X, y, qid = _parsed(lines, name)
        found = len(qid) > 0
        if len(qid) not in (0, len(y)) or has_qid not in (None, found):
            raise ValueError(f"{name} has a qid in some lines and none in others.")
        has_qid = found
        width = max(width, X.shape[1])
        if width * len(y) > _MOST:
            raise ValueError(
                f"{name} has {width} features: too many to hold {len(y)} rows of them as a table; "
                "use an estimator with a sparse X in Python."
            )
        values = np.zeros((len(y), width))
        values[:, : X.shape[1]] = X.toarray()
        frame = pd.DataFrame(values, columns=[str(number + 1) for number in range(width)])
        frame.insert(0, "target", y)
        if has_qid:
            frame.insert(1, "qid", qid.astype(np.int64))
        yield frame


def _lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise ValueError(f"{name} has a line of more than {_LONGEST_LINE} bytes.")
        if line.split(b"#", 1)[0].strip():
            yield line


def _parsed(lines: list[bytes], name: str) -> tuple[Any, Any, Any]:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y, qid = load_svmlight_file(io.BytesIO(b"".join(lines)), query_id=True, zero_based=False)
    except (ValueError, OverflowError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{name} cannot be read as SVMlight: {reason}") from error
    return X, y, qid


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
    """Return what the name of a table ends in, or raise if no table is known to.

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
            f"{path} is not the name of a table: it must end in {', '.join(ENDINGS)} or, for text, "
            ".gz after that; - reads CSV from standard input."
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
        "qid" if there is one, and "1", "2", ... for the features.

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
    if not str(path).lower().endswith(".gz"):
        with open(path, "rb") as file:
            yield from read(file, str(path))
        return
    try:
        with gzip.open(path, "rb") as file:
            yield from read(file, str(path))  # type: ignore[arg-type]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged or cut off: {error}.") from error


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
