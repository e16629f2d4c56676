"""Penalties: what kernel weights cost and where they may be, one file for each."""

from kernelhood.penalties.base import DualPoint, Fixed, Penalty, Proposal
from kernelhood.penalties.priced import Distance, Linear, Quadratic
from kernelhood.penalties.shared_simplices import SharedSimplices
from kernelhood.penalties.simplex import Concave, LpBall, Simplex

__all__ = [
    "Concave",
    "Distance",
    "DualPoint",
    "Fixed",
    "Linear",
    "LpBall",
    "Penalty",
    "Proposal",
    "Quadratic",
    "SharedSimplices",
    "Simplex",
]
