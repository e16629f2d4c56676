"""Optional dependencies, and files that are written whole or not at all."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator
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


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes its place only when all of it is on the disk.

    It is written beside its place under another name. An error, and even a kill, leaves what was
    at the place before.

    Parameters
    ----------
    path : path-like
        The place; its folder has to be there.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "note.txt"
    ...     with whole_file(place) as file:
    ...         _ = file.write(b"all of it")
    ...     place.read_bytes()
    b'all of it'
    """
    place = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp lets only the owner read; the file is for anyone that the folder lets in.
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a power cut, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
