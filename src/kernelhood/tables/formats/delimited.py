"""CSV and its kin, as text: what a column holds is decided later, from all of it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

from kernelhood._extras import import_extra

#: The longest line, in bytes. Longer ones are no table, and would fill the memory.
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
        raise ValueError(f"{name}: line 1 is longer than {LONGEST_LINE} bytes; this is no table.")
    if b"\0" in line:
        raise ValueError(f"{name} is no text: it holds a zero byte in line 1.")
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not text in UTF-8: byte {error.start + 1} is {line[error.start]:#04x}."
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
        return "it is not text in UTF-8."
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
