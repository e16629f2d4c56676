"""Losses: what a wrong prediction costs, one file for each."""

from kernelhood.losses.base import (
    BoxLoss,
    Loss,
    RidgeLoss,
    SampleLoss,
    box_loss,
    joined,
    ridge_loss,
)
from kernelhood.losses.standard import (
    REGRESSION_LOSSES,
    EpsilonInsensitive,
    Hinge,
    Quantile,
    Squared,
    as_loss,
)

__all__ = [
    "REGRESSION_LOSSES",
    "BoxLoss",
    "EpsilonInsensitive",
    "Hinge",
    "Loss",
    "Quantile",
    "RidgeLoss",
    "SampleLoss",
    "Squared",
    "as_loss",
    "box_loss",
    "joined",
    "ridge_loss",
]
