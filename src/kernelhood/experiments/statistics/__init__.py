"""Comparing many methods over many data sets."""

from kernelhood.experiments.statistics.paired import (
    against_cells,
    differences_cells,
    paired_differences,
)
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
from kernelhood.experiments.statistics.signed_rank import (
    ROPE,
    Posterior,
    bayesian_comparison,
    signed_rank,
)

__all__ = [
    "ROPE",
    "Posterior",
    "Test",
    "against_cells",
    "average_ranks",
    "bayesian_comparison",
    "choose_blocks",
    "critical_difference",
    "differences_cells",
    "friedman",
    "holm",
    "holm_adjust",
    "iman_davenport",
    "paired_differences",
    "ranks",
    "signed_rank",
]
