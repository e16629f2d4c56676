"""The command ``kernelhood``: argument parsing, one file a group of commands."""

from kernelhood.cli.main import main

__all__ = ["main"]
