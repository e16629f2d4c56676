"""The paper's comparison, repeated: protocol, run store, table, statistics, figures, report.

>>> from kernelhood import experiments
>>> test = experiments.friedman(experiments.published_results())
>>> f"{test.statistic:.3f}"
'11.507'
"""

from kernelhood.experiments.figures import (
    plot_convergence,
    plot_critical_difference,
    plot_figure_1,
    plot_learned_weights,
)
from kernelhood.experiments.findings import findings, headline
from kernelhood.experiments.formats import to_latex, to_markdown, to_text
from kernelhood.experiments.job import COLUMNS, COMPARED
from kernelhood.experiments.methods import offered_methods
from kernelhood.experiments.protocol import published_results, split_rows
from kernelhood.experiments.report import write_report
from kernelhood.experiments.run import read_results, run
from kernelhood.experiments.score_figures import plot_scores, plot_task_scores
from kernelhood.experiments.statistics import (
    average_ranks,
    bayesian_comparison,
    critical_difference,
    friedman,
    holm,
    holm_adjust,
    iman_davenport,
    paired_differences,
    signed_rank,
)
from kernelhood.experiments.store import Store, StoreError
from kernelhood.experiments.table import table

__all__ = [
    "COLUMNS",
    "COMPARED",
    "Store",
    "StoreError",
    "average_ranks",
    "bayesian_comparison",
    "critical_difference",
    "findings",
    "friedman",
    "headline",
    "holm",
    "holm_adjust",
    "iman_davenport",
    "offered_methods",
    "paired_differences",
    "plot_convergence",
    "plot_critical_difference",
    "plot_figure_1",
    "plot_learned_weights",
    "plot_scores",
    "plot_task_scores",
    "published_results",
    "read_results",
    "run",
    "signed_rank",
    "split_rows",
    "table",
    "to_latex",
    "to_markdown",
    "to_text",
    "write_report",
]
