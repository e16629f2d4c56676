"""Comparing many methods over many data sets."""

from kernelhood.experiments.statistics.ranks import (
    Test,
    average_ranks,
    choose_blocks,
    critical_difference,
    friedman,
    holm,
    holm_adjust,
    iman_davenport,
    ranks,
)

__all__ = [
    "Test",
    "average_ranks",
    "choose_blocks",
    "critical_difference",
    "friedman",
    "holm",
    "holm_adjust",
    "iman_davenport",
    "ranks",
]
