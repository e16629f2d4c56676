"""A progress bar on a terminal, and silence anywhere else."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """Counts the models that have been solved.

    Parameters
    ----------
    verbose : int or bool
        Whether to show anything. Nothing is shown where standard error is no terminal.
    total : int
        About how many models there will be.
    """

    def __init__(self, verbose: Any, total: int) -> None:
        self.shown = bool(verbose) and sys.stderr.isatty()
        self.total, self.done, self.what = total, 0, ""
        self._bar = _tqdm(total) if self.shown else None

    def say(self, what: str) -> None:
        """Show what is being done."""
        self.what = what
        self._show()

    def add(self, count: int) -> None:
        """Count some models more."""
        self.done += count
        if self._bar is not None:
            self._bar.total = max(self.total, self.done)
            self._bar.update(count)
        self._show()

    def close(self) -> None:
        """Leave the line."""
        if self._bar is not None:
            self._bar.close()
        elif self.shown:
            sys.stderr.write("\n")

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.set_description(self.what)
        elif self.shown:
            sys.stderr.write(f"\r{self.what}: {self.done} models\x1b[K")
            sys.stderr.flush()


def _tqdm(total: int) -> Any:
    """Return tqdm's bar, None where it is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit="model", leave=True)
