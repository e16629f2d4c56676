"""Pictures of learned kernels. Every function draws into `ax` and returns it."""

from kernelhood.plotting.bars import plot_sharing, plot_weights
from kernelhood.plotting.maps import plot_alignment, plot_task_map
from kernelhood.plotting.paths import plot_path

# The name that `plot_path` had before.
plot_search_path = plot_path

__all__ = [
    "plot_alignment",
    "plot_path",
    "plot_search_path",
    "plot_sharing",
    "plot_task_map",
    "plot_weights",
]
