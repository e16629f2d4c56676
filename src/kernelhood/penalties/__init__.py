"""Penalties: what kernel weights cost and where they may be, one file a penalty."""

from kernelhood.penalties.base import DualPoint, Penalty, Proposal
from kernelhood.penalties.concave import Concave
from kernelhood.penalties.distance import Distance
from kernelhood.penalties.fixed import Fixed
from kernelhood.penalties.linear import Linear
from kernelhood.penalties.log_determinant import LogDeterminant
from kernelhood.penalties.lp_ball import LpBall
from kernelhood.penalties.quadratic import Quadratic
from kernelhood.penalties.shared_simplices import SharedSimplices
from kernelhood.penalties.simplex import Simplex

__all__ = [
    "Concave",
    "Distance",
    "DualPoint",
    "Fixed",
    "Linear",
    "LogDeterminant",
    "LpBall",
    "Penalty",
    "Proposal",
    "Quadratic",
    "SharedSimplices",
    "Simplex",
]
