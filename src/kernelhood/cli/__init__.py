"""The command ``kernelhood``: which command, and what its end means for the shell."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import NamedTuple

#: The file of each command, which is imported if it is asked for, and what it does.
_COMMANDS = {
    "fit": ("models", "fit a model of a table with a task column"),
    "predict": ("models", "predict the rows of a table with a model that fit has written"),
    "inspect": ("models", "explain what a model has learned, as text and as an HTML page"),
    "bench": ("bench", "compare the methods as the paper does, or on a table of your own"),
    "data": ("data", "list, fetch and check the data sets"),
}

FAILED, INTERRUPTED, BROKEN_PIPE = 1, 130, 141


class Report(NamedTuple):
    """What a command prints, and whether nothing is missing or has failed."""

    text: str
    good: bool = True


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of ``kernelhood`` and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    code : int
        0 if all is well, 1 if something is missing or failed, 130 after an interrupt, 141 if
        the reader of its output is gone. Wrong usage ends the process with 2.
    """
    _show_any_text()
    words = sys.argv[1:] if argv is None else list(argv)
    arguments = build_parser(words).parse_args(words)
    arguments.typed = shlex.join(["kernelhood", *words])
    try:
        with _said_plainly():
            report: Report = arguments.command(arguments)
        if report.text:
            print(report.text)
        sys.stdout.flush()  # a full disk or a closed pipe fails here, and not when Python ends
    except BrokenPipeError:
        # Python would complain once more when it closes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (ImportError, OSError, ValueError, MemoryError) as error:
        return _failed(error)
    except KeyboardInterrupt:
        print("kernelhood: interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0 if report.good else FAILED


def _show_any_text() -> None:
    """Let what is printed hold any letter: Windows writes to files and pipes in an old code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _failed(error: BaseException) -> int:
    """Say in one line what went wrong."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        text = f"there is not enough memory{f': {text}' if text else ''}"
    print(f"kernelhood: {text or type(error).__name__}", file=sys.stderr)
    return FAILED


@contextmanager
def _said_plainly() -> Iterator[None]:
    """Give every warning once, as one line for people who do not read the source."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            print(f"kernelhood: note: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.showwarning = show
        yield


def build_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser, with the arguments of the command that is asked for.

    Parameters
    ----------
    words : sequence of str
        What was typed after ``kernelhood``.
    """
    parser = argparse.ArgumentParser(
        prog="kernelhood",
        description="Learn from many small tables together.",
        epilog="Example: kernelhood fit loads.csv --task zone --target load --out model.skops",
    )
    parser.add_argument(
        "--version", action="version", version=f"kernelhood {version('kernelhood')}"
    )
    groups = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (file, text) in _COMMANDS.items():
        one = groups.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in words[:1]:
            getattr(import_module(f"kernelhood.cli.{file}"), f"add_{name}")(one)
    return parser
