"""The command line: which command, and what its end means for the shell."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version

from kernelhood.cli import bench, data, fit, inspect, predict
from kernelhood.cli.command import Command
from kernelhood.datasets._report import Report

_COMMANDS = {"fit": fit, "predict": predict, "inspect": inspect, "bench": bench, "data": data}

FAILED, INTERRUPTED, BROKEN_PIPE = 1, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of ``kernelhood`` and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    code : int
        0 if all is well, 1 if something is missing or failed, 130 after an interrupt, 141 where
        nobody reads the output any more. Wrong usage ends the process with 2.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    arguments = build_parser().parse_args(words)
    arguments.typed = shlex.join(["kernelhood", *words])
    command: Command = arguments.command
    try:
        with _said_plainly():
            report = command(arguments)
        if report.text:
            print(report.text, flush=True)
    except BrokenPipeError:
        # Python would complain once more when it closes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (ImportError, OSError, ValueError, MemoryError) as error:
        return _failed(error)
    except KeyboardInterrupt:
        print("kernelhood: interrupted", file=sys.stderr)
        return INTERRUPTED
    return _exit_code(report)


def _exit_code(report: Report) -> int:
    return 0 if report.good else FAILED


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


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; every group of commands adds itself."""
    parser = argparse.ArgumentParser(
        prog="kernelhood",
        description="Learned kernels, many tasks.",
        epilog="Example: kernelhood fit loads.csv --task zone --target load --out model.skops",
    )
    parser.add_argument(
        "--version", action="version", version=f"kernelhood {version('kernelhood')}"
    )
    groups = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, group in _COMMANDS.items():
        one = groups.add_parser(
            name,
            help=group.HELP,
            description=f"{group.HELP[0].upper()}{group.HELP[1:]}.",
            epilog=group.EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        group.add_arguments(one)
    return parser
