"""What a fitted model has learned: figures, tables, bounds, alignment and the page."""

from kernelhood.inspection.figures import (
    plot_alignment,
    plot_path,
    plot_sharing,
    plot_task_map,
    plot_weights,
)
from kernelhood.inspection.model import (
    alignment,
    center,
    monte_carlo_complexity,
    rademacher_bound,
)
from kernelhood.solvers.neighborhood import BoundTerms

__all__ = [
    "BoundTerms",
    "alignment",
    "center",
    "monte_carlo_complexity",
    "plot_alignment",
    "plot_path",
    "plot_sharing",
    "plot_task_map",
    "plot_weights",
    "rademacher_bound",
]
