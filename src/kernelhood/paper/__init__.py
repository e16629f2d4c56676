"""The paper's comparison, repeated: protocol, run store, table, statistics, figures, report.

>>> from kernelhood import paper
>>> test = paper.friedman(paper.published_results())
>>> f"{test.statistic:.3f}"
'11.507'
"""

from kernelhood.paper.figures import (
    plot_convergence,
    plot_critical_difference,
    plot_figure_1,
    plot_learned_weights,
    plot_scores,
    plot_task_scores,
)
from kernelhood.paper.jobs import COLUMNS, COMPARED, Store, StoreError
from kernelhood.paper.literal import LiteralIteration, literal_iteration
from kernelhood.paper.methods import offered_methods
from kernelhood.paper.protocol import published_results, split_rows
from kernelhood.paper.report import findings, headline, write_report
from kernelhood.paper.run import read_results, run
from kernelhood.paper.statistics import (
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
from kernelhood.paper.table import table, to_latex, to_markdown, to_text

__all__ = [
    "COLUMNS",
    "COMPARED",
    "LiteralIteration",
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
    "literal_iteration",
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
