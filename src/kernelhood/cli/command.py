"""What commands have in common: their outcome, where they write, what they show meanwhile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kernelhood._support import import_extra

if TYPE_CHECKING:
    from kernelhood.datasets._report import Report

Command: TypeAlias = "Callable[[argparse.Namespace], Report]"


def check_place(path: str) -> None:
    """Raise where a file cannot be written, before any work is done for it.

    Parameters
    ----------
    path : str
        The file.
    """
    place = Path(path)
    if place.is_dir():
        raise ValueError(f"--out {path} is a folder; name a file.")
    if place.exists() and not place.is_file():
        raise ValueError(f"--out {path} is not a regular file; name another.")
    if not place.parent.is_dir():
        raise ValueError(f"--out {path}: there is no folder {place.parent}.")


@contextmanager
def using_model(path: str) -> Iterator[None]:
    """Name the model file in errors that only a file whose parts do not fit together can cause.

    Parameters
    ----------
    path : str
        The file.
    """
    try:
        yield
    except (ImportError, OSError, ValueError, MemoryError):
        raise
    except Exception as error:  # a changed file can fail anywhere
        raise ValueError(
            f"{path} is damaged: its parts do not fit together ({type(error).__name__}: {error})."
        ) from error


def shows_progress(quiet: bool) -> bool:
    """Return whether someone looks at the terminal and wants to see a bar."""
    return not quiet and sys.stderr.isatty()


def progress_bar(total: int | None, quiet: bool) -> Any:
    """Return a bar of rows, or one that draws nothing.

    Parameters
    ----------
    total : int or None
        Rows in all, where this is known.
    quiet : bool
        Whether to show nothing.
    """
    tqdm = import_extra("tqdm", "table").tqdm
    return tqdm(total=total, unit=" rows", disable=not shows_progress(quiet), file=sys.stderr)
