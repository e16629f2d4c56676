"""Timing and tables that all benchmarks share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def median_times(
    *functions: Callable[[], Any],
    repeats: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the median seconds of each function, measured in turns after a warm-up call."""
    for function in functions:
        function()
    seconds = np.empty((repeats, len(functions)))
    for repeat in range(repeats):
        for number, function in enumerate(functions):
            start = clock()
            function()
            seconds[repeat, number] = clock() - start
    return [float(value) for value in np.median(seconds, axis=0)]


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def growth_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return p of the power law seconds ~ size^p, fitted on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        cells = [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row]
        print("| " + " | ".join(cells) + " |")
