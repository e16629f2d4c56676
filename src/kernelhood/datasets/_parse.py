"""Read text, CSV and MATLAB files strictly: what does not fit is an error with its place."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from scipy.io import loadmat

from kernelhood._typing import Array

_CHUNK = 1 << 20


class DataFileError(ValueError):
    """A data file is damaged or is not in its original format.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What is wrong with it.
    line : int or None, default=None
        The line, counted from 1; None for a file without lines.

    Examples
    --------
    >>> print(DataFileError("letter.data", "134 columns expected, 7 found", line=3))
    letter.data, line 3: 134 columns expected, 7 found
    """

    def __init__(self, path: str | PathLike[str], problem: str, line: int | None = None) -> None:
        place = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {problem}")


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a plain or gzipped UTF-8 file."""
    data = _gunzip(path) if str(path).endswith(".gz") else _read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFileError(path, "not UTF-8 text", line) from error


def _read_bytes(path: str | PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _gunzip(path: str | PathLike[str]) -> bytes:
    """Return the unpacked bytes; a damaged file is reported with the last line that is good."""
    good = bytearray()
    try:
        with gzip.open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                good += chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        line = good.count(b"\n") + 1
        raise DataFileError(path, f"the gzip data is damaged or cut off ({error})", line) from error
    return bytes(good)


def read_csv(
    path: str | PathLike[str], n_columns: int, header: Sequence[str] | None = None
) -> list[list[str]]:
    """Return the cells of a comma separated file, after checking its shape.

    Parameters
    ----------
    path : path-like
        A plain or gzipped file.
    n_columns : int
        Columns that every line must have.
    header : sequence of str or None, default=None
        The cells of the first line, which is then left out of the result; None: there is none.

    Returns
    -------
    rows : list of list of str
        One list of `n_columns` cells for each line of data.
    """
    rows = []
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        for row in reader:
            if len(row) != n_columns:
                problem = f"{n_columns} columns expected, {len(row)} found"
                raise DataFileError(path, problem, reader.line_num)
            rows.append(row)
    except csv.Error as error:
        raise DataFileError(path, f"not valid CSV ({error})", reader.line_num) from error
    if header is not None:
        if not rows or rows[0] != list(header):
            raise DataFileError(path, f"the header {','.join(header)} was expected", 1)
        rows = rows[1:]
    if not rows:
        raise DataFileError(path, "the file holds no data")
    return rows


def to_numbers(path: str | PathLike[str], rows: Sequence[Sequence[str]], first_line: int) -> Array:
    """Return cells as finite float64 numbers.

    Parameters
    ----------
    path : path-like
        The file they are from.
    rows : sequence of sequence of str
        Cells, the same number in every row.
    first_line : int
        Line of the file that holds the first row.

    Returns
    -------
    numbers : ndarray of shape (n_rows, n_columns)
        The numbers.
    """
    # One conversion of everything is fast; only a file with a fault is searched cell by cell.
    try:
        numbers = np.array(rows, dtype=np.float64)
        good = bool(np.isfinite(numbers).all())
    except ValueError:
        good = False
    if not good:
        cells = ((line, cell) for line, row in enumerate(rows, start=first_line) for cell in row)
        line, cell = next((line, cell) for line, cell in cells if not _is_finite(cell))
        raise DataFileError(path, f"{cell!r} is not a finite number", line)
    return numbers


def _is_finite(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def read_mat(path: str | PathLike[str], variables: Sequence[str]) -> list[Any]:
    """Return variables of a MATLAB file of version 4 to 7, in the order asked for."""
    with open(path, "rb"):
        pass  # a missing or unreadable file keeps its own OSError
    try:
        content = loadmat(path, variable_names=list(variables))
    except Exception as error:  # scipy meets a damaged file with errors of many kinds
        raise DataFileError(path, f"not a readable MATLAB file ({error})") from error
    for name in variables:
        if name not in content:
            raise DataFileError(path, f"the variable {name!r} is missing")
    return [content[name] for name in variables]
