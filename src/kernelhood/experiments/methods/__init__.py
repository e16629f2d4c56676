"""The methods that can be compared, their hyper-parameters, and the search for the best ones."""

from kernelhood.experiments.methods.candidates import Candidates, candidates, make_estimator
from kernelhood.experiments.methods.choice import Found, Memory, fit_found, search
from kernelhood.experiments.methods.grids import GRIDS, check_grid, make_grid
from kernelhood.experiments.methods.names import (
    ALIGNED,
    GROUPED,
    PROBABILISTIC,
    SHARING,
    check_methods,
    label,
    offered_methods,
)

__all__ = [
    "ALIGNED",
    "GRIDS",
    "GROUPED",
    "PROBABILISTIC",
    "SHARING",
    "Candidates",
    "Found",
    "Memory",
    "candidates",
    "check_grid",
    "check_methods",
    "fit_found",
    "label",
    "make_estimator",
    "make_grid",
    "offered_methods",
    "search",
]
