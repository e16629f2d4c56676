"""Optional dependencies, tables of text, and files that are written whole or not at all."""

from __future__ import annotations

import errno
import importlib
import os
import secrets
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO


def import_extra(module: str, extra: str) -> Any:
    """Import an optional dependency, or say which extra brings it.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        Extra of kernelhood that installs it.

    Returns
    -------
    module : module
        The imported module.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module} is needed here and is not installed: pip install 'kernelhood[{extra}]'"
        ) from error


def aligned(rows: Sequence[Sequence[str]], *, ragged: bool = False) -> list[str]:
    """Return rows of cells as lines of aligned columns: names to the left, numbers to the right.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells; a head is the first row.
    ragged : bool
        Whether the last column holds text of any length, and is left as it is.

    Examples
    --------
    >>> aligned([["task", "rows"], ["a", "12"]])
    ['task  rows', 'a       12']
    """
    widths = [max(map(_width_of, column)) for column in zip(*rows, strict=True)]
    if ragged:
        widths[-1] = 0
    lines = []
    for row in rows:
        blanks = [" " * (width - _width_of(cell)) for cell, width in zip(row, widths, strict=True)]
        others = [blank + cell for blank, cell in zip(blanks[1:], row[1:], strict=True)]
        lines.append("  ".join([row[0] + blanks[0], *others]).rstrip())
    return lines


def _width_of(text: str) -> int:
    """Return how many places of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes its place only when all of it is on the disk.

    It is written beside its place under another name. An error leaves what was at the place before
    and nothing else; so does a killed process, but for a hidden file that ends in ``.part``.

    Parameters
    ----------
    path : path-like
        The place; its folder has to be there. What a link points to is replaced, not the link.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "note.txt"
    ...     with whole_file(place) as file:
    ...         _ = file.write(b"all of it")
    ...     place.read_bytes()
    b'all of it'
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        raise OSError(errno.EINVAL, "not a regular file, and cannot be replaced by one", str(path))
    # Not the whole name: names have a largest length.
    part = place.with_name(f".{place.name[:24]}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _replace(part, place)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL:
            error.filename = str(path)
        raise
    _sync_folder(place.parent)


#: What a full disk says; it does not name the file.
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))

#: Seconds to wait for whoever has a file open that is to be replaced. Only Windows minds, and there
#: a virus scanner looks at every new file.
_PAUSES = (0.05, 0.2, 1.0)


def _replace(part: Path, place: Path) -> None:
    for pause in _PAUSES:
        try:
            os.replace(part, place)
            return
        except PermissionError:
            if sys.platform != "win32":
                raise
            time.sleep(pause)
    os.replace(part, place)


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a power cut, if the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
